"""Labels, annotations, names and constants that KAI and its users agree on (KAI v0.17.0, pkg/common/constants)."""

from __future__ import annotations

SCHEDULER_NAME = "kai-scheduler"
NAMESPACE = "kai-scheduler"
LEASE = "kai-scheduler"

QUEUE_LABEL = "kai.scheduler/queue"
NODE_POOL_LABEL = "kai.scheduler/node-pool"
PREEMPTIBILITY_LABEL = "kai.scheduler/preemptibility"
PRIORITY_CLASS_LABEL = "priorityClassName"
PROJECT_LABEL = "project"
USER_LABEL = "user"
TASK_ORDER_LABEL = "kai.scheduler/task-priority"
SUBGROUP_LABEL = "kai.scheduler/subgroup-name"

POD_GROUP_ANNOTATION = "pod-group-name"
SKIP_PODGROUPER_ANNOTATION = "kai.scheduler/skip-podgrouper"
BATCH_MIN_MEMBER_ANNOTATION = "kai.scheduler/batch-min-member"
PREEMPTION_DELAY_ANNOTATION = "kai.scheduler/preemption-delay"
STALENESS_GRACE_PERIOD_ANNOTATION = "kai.scheduler/staleness-grace-period"
TOP_OWNER_ANNOTATION = "kai.scheduler/top-owner-metadata"
TOPOLOGY_ANNOTATION = "kai.scheduler/topology"
TOPOLOGY_REQUIRED_ANNOTATION = "kai.scheduler/topology-required-placement"
TOPOLOGY_PREFERRED_ANNOTATION = "kai.scheduler/topology-preferred-placement"

GPU_FRACTION_ANNOTATION = "gpu-fraction"
GPU_MEMORY_ANNOTATION = "gpu-memory"
GPU_DEVICES_ANNOTATION = "gpu-fraction-num-devices"
GPU_GROUP_LABEL = "runai-gpu-group"
#: Value of the label ``app`` of pods that hold a shared GPU (global.resourceReservation.appLabel).
RESERVATION_APP = "kai-resource-reservation"

STALE_ANNOTATION = "kai.scheduler/stale-podgroup-timestamp"
LAST_START_ANNOTATION = "kai.scheduler/last-start-timestamp"
LAST_EVICTION_ANNOTATION = "kai.scheduler/last-eviction-timestamp"

DEFAULT_QUEUE = "default-queue"
#: How KAI names the pool of nodes without the node-pool label, in conditions and events.
DEFAULT_NODE_POOL = "default"
DEFAULT_QUEUE_PRIORITY = 100
#: Priority of a PodGroup whose class does not exist, where the cluster has no global default class.
DEFAULT_POD_GROUP_PRIORITY = 50
#: From this priority on a PodGroup is non-preemptible unless it says otherwise (pkg/common/podgroup).
NON_PREEMPTIBLE_FROM = 100

TRAIN_CLASS = "train"
BUILD_CLASS = "build"
INFERENCE_CLASS = "inference"

GPU_RESOURCE = "nvidia.com/gpu"

#: Type of the only PodGroup scheduling condition.
UNSCHEDULABLE_ON_NODE_POOL = "UnschedulableOnNodePool"
