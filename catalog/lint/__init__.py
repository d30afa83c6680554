"""What is wrong with the catalogue, or worth knowing about it: rules with ids that never change. Pure but for :mod:`places`."""
