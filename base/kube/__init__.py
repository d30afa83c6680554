"""The one Kubernetes client: plain dictionaries in and out, waits that are watches with a deadline."""

from base.kube.client import Cluster, Object, Refusal
from base.kube.kinds import Kind, kind_of
from base.kube.watch import Change, wait_for, watch

__all__ = ["Change", "Cluster", "Kind", "Object", "Refusal", "kind_of", "wait_for", "watch"]
