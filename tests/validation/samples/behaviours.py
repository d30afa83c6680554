"""One check per way to end. ``sample`` is an add-on of the tests' own plan."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from base.kube import Cluster
from base.kube.kinds import CONFIG_MAP, NODE, POD
from validation.checks import KnownFault, check
from validation.context import Installed
from validation.harness import Lab

SUBJECT: dict[str, Any] = {"tier": "api", "subject": "sample", "proves": "how the runner takes it"}


@check("S01", "passes", **SUBJECT)
def test_passes(lab: Lab) -> None:
    maps = lab.watch(CONFIG_MAP)
    lab.create(CONFIG_MAP, {"metadata": {"name": "thing"}, "data": {"a": "b"}})
    lab.until(lambda: "thing" in maps.live, "the thing")


@check("S02", "finds something wrong", **SUBJECT)
def test_finds_a_fault(lab: Lab) -> None:
    maps = lab.watch(CONFIG_MAP)
    assert "no-such-map" in maps.live, "the map is missing"


@check("S03", "waits in vain", **SUBJECT)
def test_waits_in_vain(lab: Lab) -> None:
    lab.until(lambda: None, "a miracle", within=1.0)


@check("S04", "never ends", seconds=2.0, **SUBJECT)
def test_never_ends(lab: Lab) -> None:
    lab.note("here it hangs")
    time.sleep(600)


@check("S05", "has a fault of its own", **SUBJECT)
def test_stumbles(lab: Lab) -> None:
    raise KeyError(lab.namespace)


@check("S06", "has an unmet precondition", **SUBJECT)
def test_declines(lab: Lab) -> None:
    pytest.skip(f"nothing for {lab.check.id} here")


@check("S07", "leaves something that cannot be removed", **SUBJECT)
def test_leaves_a_mess(lab: Lab) -> None:
    name = lab.names("stuck")
    labels = {**lab.names.labels(), "type": "none"}
    lab.cluster.create(NODE, {"metadata": {"name": name, "labels": labels, "finalizers": ["example.org/never"]}})


@check("S08", "moves somebody else's pod", **SUBJECT)
def test_moves_a_neighbour(lab: Lab) -> None:
    lab.cluster.delete(POD, "neighbour", "neighbours", grace=0)


@check("S09", "takes its process with it", **SUBJECT)
def test_dies(lab: Lab) -> None:
    lab.create(CONFIG_MAP, {"metadata": {"name": "orphan"}})
    os.kill(os.getpid(), signal.SIGKILL)


@check("S10", "takes its time", **SUBJECT)
def test_takes_its_time(lab: Lab) -> None:
    lab.create(CONFIG_MAP, {"metadata": {"name": "slow"}})
    lab.until(lambda: None, "the end of time", within=100.0)


@check("S00", "waits a little", **SUBJECT)
def test_waits_a_little(lab: Lab) -> None:
    lab.until(lambda: None, "the end of a short time", within=8.0)


@check("S11", "fails as known upstream", known_faults=(KnownFault("example/sample#1", "1.0.0", "1.9.9"),), **SUBJECT)
def test_known_fault(lab: Lab) -> None:
    pytest.fail(f"the old trouble in {lab.check.id}")


@check("S12", "passes although it should not", known_faults=(KnownFault("example/sample#2", "1.0.0", "1.9.9"),), **SUBJECT)
def test_surprise(lab: Lab) -> None:
    assert lab.namespace


@check("S13", "watches a scheduler that is not there", tier="sched", proves="silence is no proof")
def test_quiet(lab: Lab) -> None:
    lab.hold(lambda: None)


@check("S14", "runs once per add-on", tier="api", subject="every add-on", proves="cases")
def test_each(cluster: Cluster, addon: Installed) -> None:
    assert cluster.version()
    assert addon.version == "1.2.0", f"{addon.addon} is {addon.version}"
