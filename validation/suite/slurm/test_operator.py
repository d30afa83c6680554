"""The Slinky operator makes of its custom resources what a Slurm cluster is made of."""

from __future__ import annotations

from base.kube.kinds import CONFIG_MAP, CONTROLLER_REVISION, POD_DISRUPTION_BUDGET, SERVICE, STATEFUL_SET
from validation.checks import check
from validation.harness import Lab
from validation.harness.cleanup import restore_roles, take_rules
from validation.suite.slurm.cluster_of_one import (
    CONTROLLER,
    NAME,
    NODE_SET,
    REPLICAS,
    WORKERS,
    make_controller,
    make_node_set,
    owned_by,
)

OPERATOR = "slurm-operator"


@check(
    "SLURM-01",
    "A Controller becomes a Service, a configuration and a StatefulSet",
    proves="The operator runs, may do what it must, and writes the slurm.conf that was asked for.",
    tier="api",
    subject=OPERATOR,
    since="1.0.0",
)
def test_controller(lab: Lab) -> None:
    """Service and StatefulSet <name>-controller and ConfigMap <name>-config must appear, owned by the Controller, with the
    port of slurmctld, one replica, and a slurm.conf that names cluster, host and the extra line."""
    services, configs, sets = lab.watch(SERVICE), lab.watch(CONFIG_MAP), lab.watch(STATEFUL_SET)
    owner = make_controller(lab)
    service = lab.until(lambda: services.live.get(f"{NAME}-controller"), f"Service {NAME}-controller")
    config = lab.until(lambda: configs.live.get(f"{NAME}-config"), f"ConfigMap {NAME}-config")
    stateful = lab.until(lambda: sets.live.get(f"{NAME}-controller"), f"StatefulSet {NAME}-controller")
    for child in (service, config, stateful):
        assert owned_by(child, owner), f"{child['kind']} {child['metadata']['name']} is not owned by the Controller"
    assert [port["port"] for port in service["spec"]["ports"]] == [6817]
    assert stateful["spec"]["replicas"] == 1
    assert stateful["spec"]["serviceName"] == f"{NAME}-controller"
    text = config["data"]["slurm.conf"]
    for line in (
        f"ClusterName={lab.namespace}_{NAME}",
        f"SlurmctldHost={NAME}-controller-0({NAME}-controller.{lab.namespace})",
        "AuthType=auth/slurm",
        "ReturnToService=2",
    ):
        assert line in text.splitlines(), f"slurm.conf lacks {line!r}"


@check(
    "SLURM-02",
    "A NodeSet becomes worker pods, a Service, a disruption budget and a partition",
    proves="Workers start with the GPUs they were given, find their controller, and are protected while they are busy.",
    tier="api",
    subject=OPERATOR,
    since="1.0.0",
)
def test_node_set(lab: Lab) -> None:
    """Two pods that point at the controller with their features and GPUs must appear, with the headless Service of all
    workers, the disruption budget, a revision, the partition in slurm.conf, and the count in the NodeSet's status."""
    services, configs, budgets = lab.watch(SERVICE), lab.watch(CONFIG_MAP), lab.watch(POD_DISRUPTION_BUDGET)
    revisions, node_sets = lab.watch(CONTROLLER_REVISION), lab.watch(NODE_SET)
    make_controller(lab)
    owner = make_node_set(lab)
    names = [f"{WORKERS}-{index}" for index in range(REPLICAS)]
    lab.until(lambda: all(name in lab.pods.live for name in names), f"pods {', '.join(names)}")
    for name in names:
        pod = lab.pods.live[name]
        assert owned_by(pod, owner), f"pod {name} is not owned by the NodeSet"
        assert pod["spec"]["hostname"] == name
        slurmd = next(item for item in pod["spec"]["containers"] if item["name"] == "slurmd")
        command = " ".join(slurmd["args"])
        assert f"--conf-server {NAME}-controller.{lab.namespace}:6817" in command, f"slurmd is started with {command}"
        assert f"Features={WORKERS}" in command, f"slurmd is started with {command}"
        assert "Gres=gpu:h100:8" in command, f"slurmd is started with {command}"
        assert slurmd["resources"]["limits"]["nvidia.com/gpu"] == "8"
    service = lab.until(lambda: services.live.get(f"slurm-workers-{NAME}"), f"Service slurm-workers-{NAME}")
    assert service["spec"]["clusterIP"] == "None", "the workers' Service is not headless"
    budget = lab.until(lambda: budgets.live.get(f"slurm-workers-pdb-{NAME}"), f"disruption budget slurm-workers-pdb-{NAME}")
    assert budget["spec"]["maxUnavailable"] == 0
    lab.until(lambda: any(owned_by(item, owner) for item in revisions.live.values()), "a ControllerRevision of the NodeSet")
    lab.until(
        lambda: f"PartitionName={WORKERS} Nodes={WORKERS} Default=YES" in _slurm_conf(configs.live.get(f"{NAME}-config")),
        "the partition in slurm.conf",
    )
    lab.until(
        lambda: node_sets.live[WORKERS].get("status", {}).get("replicas") == REPLICAS,
        f"{REPLICAS} replicas in the NodeSet's status",
    )


@check(
    "SLURM-03",
    "Without its right to make StatefulSets the operator fails, and recovers",
    proves="The operator works under its own account with the chart's rules, and what SLURM-01 looks at can go red.",
    tier="api",
    subject=OPERATOR,
    since="1.0.0",
    disruptive=True,
    seconds=240,
)
def test_loses_a_right(lab: Lab) -> None:
    """The rule for apps is taken out of the operator's ClusterRole. A new Controller gets its Service but must not get its
    StatefulSet in the quiet window. Then the rule is put back and the StatefulSet must appear."""
    role = OPERATOR
    services, sets = lab.watch(SERVICE), lab.watch(STATEFUL_SET)
    lab.note(f"the rule for apps is taken out of ClusterRole {role}")
    take_rules(lab.cluster, role, lab.names.labels(), keep=lambda rule: "apps" not in rule.get("apiGroups", ()))
    try:
        make_controller(lab)
        lab.until(
            lambda: services.live.get(f"{NAME}-controller"), f"Service {NAME}-controller, for which the rule is still there"
        )
        lab.board.hold(
            lambda: "the StatefulSet was made without the right to make it" if sets.live else None,
            seconds=lab.times.settled,
        )
    finally:
        restore_roles(lab.cluster, lab.selector)
        lab.note("the rule is put back")
    # any change of the object makes the operator try again at once, instead of after its growing pause between failures
    lab.cluster.patch(CONTROLLER, NAME, {"metadata": {"annotations": {"chandlery.dev/again": "1"}}}, lab.namespace)
    lab.until(lambda: sets.live.get(f"{NAME}-controller"), f"StatefulSet {NAME}-controller after the rule was put back")


def _slurm_conf(config: dict[str, dict[str, str]] | None) -> list[str]:
    return config["data"].get("slurm.conf", "").splitlines() if config else []
