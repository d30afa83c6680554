"""Which workload a pod stands for. Pure."""

from __future__ import annotations

import re

from base.kube import Object

_CRON_RUN = re.compile(r"-\d{8,10}$")


def workloads(pod: Object) -> tuple[str, ...]:
    """``namespace/name`` of what owns the pod, most direct first.

    A Deployment owns a pod through a ReplicaSet named ``DEPLOYMENT-HASH``, where HASH is the pod's label
    ``pod-template-hash``; a CronJob through a Job named ``CRONJOB-MINUTES``.
    """
    meta = pod["metadata"]
    names = []
    for owner in meta.get("ownerReferences") or ():
        if not owner.get("controller"):
            continue
        name = str(owner["name"])
        if owner["kind"] == "ReplicaSet":
            suffix = f"-{(meta.get('labels') or {}).get('pod-template-hash', '')}"
            name = name.removesuffix(suffix) if len(suffix) > 1 else name
        names.append(name)
        if owner["kind"] == "Job" and _CRON_RUN.search(name):
            names.append(_CRON_RUN.sub("", name))
    names = names or [meta["name"]]
    return tuple(f"{meta['namespace']}/{name}" for name in names)
