"""Errors, deadlines, events, files, processes and the one Kubernetes client. Imports no other room."""
