"""Slurm on Kubernetes: the Slinky operator."""
