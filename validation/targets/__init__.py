"""Places that checks run on. ``embedded`` is a control plane of host processes that needs no container runtime."""
