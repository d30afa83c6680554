"""Which versions a cluster gets, and why, or why not. Pure."""
