"""Charts and images from where they lie, verified by digest before they are read."""
