"""Kubelet and service proxy of the node ``host``, whose pods are real processes of this machine. One per cluster."""
