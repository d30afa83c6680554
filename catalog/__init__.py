"""What can be installed, and the decision which version of it a cluster gets."""
