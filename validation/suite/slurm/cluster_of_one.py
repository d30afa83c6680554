"""A smallest Slurm cluster for the operator to reconcile: two keys, a Controller, a NodeSet of two.

Its pods ask for a node that does not exist. What is looked at is what the operator makes of the custom resources; no
container is ever started, so that no image has to be had and no GPU is taken.
"""

from __future__ import annotations

from base.kube import Kind, Object
from base.kube.kinds import SECRET
from validation.harness import Lab

CONTROLLER = Kind("slinky.slurm.net/v1beta1", "Controller", "controllers")
NODE_SET = Kind("slinky.slurm.net/v1beta1", "NodeSet", "nodesets")

NAME = "slurm"
WORKERS = "h100"
REPLICAS = 2
_IMAGE = {"image": "chandlery.invalid/slurm:none", "imagePullPolicy": "Never"}
_NOWHERE = {"spec": {"nodeSelector": {"chandlery.dev/nowhere": "true"}}}


def make_controller(lab: Lab) -> Object:
    """The keys and the Controller."""
    lab.create(SECRET, {"metadata": {"name": "keys"}, "stringData": {"slurm.key": "k" * 1024, "jwt.key": "j" * 1024}})
    spec = {
        "slurmKeyRef": {"name": "keys", "key": "slurm.key"},
        "jwtHs256KeyRef": {"name": "keys", "key": "jwt.key"},
        "slurmctld": _IMAGE,
        "reconfigure": _IMAGE,
        "logfile": _IMAGE,
        "persistence": {"enabled": False},
        "template": _NOWHERE,
        "extraConf": "ReturnToService=2",
    }
    return lab.create(CONTROLLER, {"metadata": {"name": NAME}, "spec": spec})


def make_node_set(lab: Lab) -> Object:
    """Two workers with eight GPUs each, and a partition for them."""
    spec = {
        "controllerRef": {"name": NAME, "namespace": lab.namespace},
        "replicas": REPLICAS,
        # Both are optional by the CRD. In v1.0.0 the webhook refuses a NodeSet without the first, and the operator panics at
        # every reconcile of one without the second (nodeset_sync.go, splitUpdatePods).
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "slurmd": {**_IMAGE, "resources": {"limits": {"nvidia.com/gpu": 8}}},
        "logfile": _IMAGE,
        "template": _NOWHERE,
        "extraConf": "Gres=gpu:h100:8",
        "partition": {"enabled": True, "config": "Default=YES"},
    }
    return lab.create(NODE_SET, {"metadata": {"name": WORKERS}, "spec": spec})


def owned_by(item: Object, owner: Object) -> bool:
    """True when ``owner`` stands among the item's owners."""
    return any(ref["uid"] == owner["metadata"]["uid"] for ref in item["metadata"].get("ownerReferences") or ())
