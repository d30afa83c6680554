"""From a version and its values to the objects that reach a cluster."""
