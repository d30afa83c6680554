"""Live objects against new CRDs: judged from values, and then shown to be right by a real API server."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from base.deadlines import Deadline, poll
from base.errors import Exit, NotFound
from base.kube import Cluster, Refusal
from base.kube.kinds import CRD, NAMESPACE, Kind
from catalog.crds.changes import Change
from catalog.crds.cluster import read_live
from catalog.crds.diff import compare
from catalog.crds.live import LiveCrd, LiveReport, judge_live
from cli.__main__ import main
from tests.catalog.crds.made import NAME, crd, version
from tests.components.apiserver import api_server

STRING = {"type": "string"}
THING = Kind("demo.invalid/v1", "Thing", "things")

FIELDS: dict[str, Any] = {
    "mode": {**STRING, "enum": ["fast", "slow", "odd"]},
    "old": {"type": "object", "properties": {"deep": STRING}},
    "size": {"type": "integer"},
    "labels": {"type": "object", "additionalProperties": STRING},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
OLD = crd(version(spec={"properties": FIELDS}))
NEW = crd(
    version(
        spec={
            "required": ["size"],
            "properties": {
                "mode": {**STRING, "enum": ["fast", "slow"], "default": "fast"},
                "size": {"type": "integer", "maximum": 9},
                "labels": {"type": "object", "additionalProperties": {**STRING, "maxLength": 3}},
                "free": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"n": {"type": "integer"}},
                },
            },
        }
    )
)


def thing(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "demo.invalid/v1", "kind": "Thing", "metadata": {"name": name, "namespace": "work"}, "spec": spec}


THINGS = (
    thing("good", mode="fast", size=1, labels={"a": "x"}, free={"n": 1, "m": {}}),
    thing("odd", mode="odd", size=1),
    thing("big", mode="slow", size=10),
    thing("bare", mode="slow"),
    thing("deep", mode="slow", size=1, old={"deep": "x"}),
    thing("long", mode="slow", size=1, labels={"a.b": "long one"}),
    thing("loose", mode="slow", size=1, free={"n": "many"}),
    thing("quiet", size=1),
)
#: Rule, path and objects that the new CRD breaks.
BROKEN = {
    ("stored-object-invalid", ".spec.mode", ("work/odd",)),
    ("stored-object-invalid", ".spec.size", ("work/big",)),
    ("stored-object-invalid", ".spec", ("work/bare",)),
    ("stored-object-invalid", ".spec.labels.*", ("work/long",)),
    ("stored-object-invalid", ".spec.free.n", ("work/loose",)),
    ("stored-object-pruned", ".spec.old", ("work/deep",)),
    ("stored-object-defaulted", ".spec.mode", ("work/quiet",)),
}


def judged(*things: dict[str, Any], old: Any = OLD, new: Any = NEW, stored: tuple[str, ...] = ("v1",)) -> LiveReport:
    body = {**copy.deepcopy(old), "status": {"storedVersions": list(stored)}}
    return judge_live([LiveCrd(body, "v1", things)], [old], [new])


def told(report: LiveReport) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(change.rule, change.path, change.objects) for change in report.changes}


def test_each_object_that_would_break_is_listed_by_what_breaks_it() -> None:
    report = judged(*THINGS)
    assert told(report) == BROKEN
    assert report.counts == {NAME: len(THINGS)}
    assert report.notes == ()


def test_every_object_that_breaks_is_foretold_by_the_difference_of_the_schemas() -> None:
    paths = {change.path for change in compare([OLD], [NEW]) if change.level != "safe"}
    assert {path for _, path, _ in told(judged(*THINGS))} - paths == {".spec"}, "a missing field is told at its parent"


def test_nothing_breaks_under_the_same_crd() -> None:
    assert judged(*THINGS, new=OLD).changes == ()


def test_what_is_refused_already_is_a_note_and_no_finding() -> None:
    report = judged(thing("sick", mode="never", size=1), thing("odd", mode="odd", size=1), new=NEW)
    assert told(report) == {("stored-object-invalid", ".spec.mode", ("work/sick", "work/odd"))}
    both = judged(thing("sick", mode="never", size="many"), new=NEW)
    assert told(both) == {("stored-object-invalid", ".spec.mode", ("work/sick",))}, "the size was wrong before"
    assert "1 of 1 objects do not fit their present schema" in both.notes[0]


def test_a_version_that_is_stored_must_stay() -> None:
    new = crd(version("v2", spec={"properties": FIELDS}))
    (missing,) = judged(old=OLD, new=new, stored=("v1", "v2")).changes
    assert (missing.rule, missing.level, missing.version) == ("stored-version-missing", "blocking", "v1")


def test_objects_meet_the_new_storage_version_when_nothing_converts() -> None:
    new = crd(version(storage=False, spec={"properties": FIELDS}), version("v2", spec={"properties": {"mode": STRING}}))
    report = judged(thing("big", mode="slow", size=10), new=new)
    assert [(c.rule, c.version, c.path) for c in report.changes] == [("stored-object-pruned", "v1 -> v2", ".spec.size")]
    new["spec"]["conversion"] = {"strategy": "Webhook"}
    report = judged(thing("big", mode="slow", size=10), new=new)
    assert report.changes == ()
    assert "a webhook converts v1 to v2" in report.notes[0]


def test_objects_of_a_kind_that_goes_are_all_listed() -> None:
    report = judge_live([LiveCrd(OLD, "v1", THINGS)], [OLD], [])
    assert [(c.rule, len(c.objects)) for c in report.changes] == [("stored-object-pruned", len(THINGS))]


def test_a_crd_that_is_not_what_the_catalogue_believes_is_noted() -> None:
    report = judge_live([LiveCrd(NEW, "v1", ())], [OLD], [NEW])
    assert "is not that of the version before" in report.notes[0]


def test_rules_that_nobody_evaluates_are_noted() -> None:
    new = copy.deepcopy(NEW)
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "true"}]
    (note,) = judged(*THINGS, new=new).notes
    assert "CEL rules that are new are not evaluated here: at ." in note
    assert judged(thing("good", mode="fast", size=1), old=new, new=new).notes == (), "what holds already needs no word"


# -- the same, with a real API server ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with api_server(tmp_path_factory.mktemp("apiserver")) as server, Cluster(server.kubeconfig) as cluster:
        yield cluster


def serve(cluster: Cluster, body: dict[str, Any], *, knows: str) -> None:
    """Apply a CRD and wait until the API server validates by it: it refuses (or takes) a probe as the new schema says."""
    cluster.apply(CRD, body, manager="test")

    def published() -> bool:
        try:
            paths = cluster.request("GET", "/openapi/v3/apis/demo.invalid/v1")["components"]["schemas"]
        except Exception:
            return False
        return knows in str(paths["invalid.demo.v1.Thing"]["properties"]["spec"])

    poll(published, Deadline.after(20), f"schema with {knows}", every=0.1)
    time.sleep(1.0)  # the handler of the kind is made anew a moment after its document


@pytest.mark.integration
def test_a_real_api_server_does_what_was_foretold(cluster: Cluster) -> None:
    cluster.create(NAMESPACE, {"metadata": {"name": "work"}})
    serve(cluster, OLD, knows="odd")
    for obj in THINGS:
        cluster.create(THING, obj)
    for number in range(520):  # more than a page
        cluster.create(THING, thing(f"many-{number}", mode="fast", size=1))
    (live,) = read_live(cluster, [NAME, "absent.demo.invalid"])
    assert (live.stored_versions, live.read_as, len(live.objects)) == (("v1",), "v1", len(THINGS) + 520)

    report = judge_live([live], [OLD], [NEW])
    assert told(report) == BROKEN
    assert report.notes == ()

    serve(cluster, NEW, knows="'maximum': 9")
    for obj in THINGS:
        name = obj["metadata"]["name"]
        findings = [change for change in report.changes if f"work/{name}" in change.objects]
        assert remade(cluster, obj) == ("refused" if any(c.rule == "stored-object-invalid" for c in findings) else "taken"), name
        now = cluster.get(THING, name, "work")["spec"]
        assert lost(obj["spec"], now) == _paths(findings, "stored-object-pruned"), name
        assert lost(now, obj["spec"]) == _paths(findings, "stored-object-defaulted"), name


@pytest.mark.integration
def test_a_real_api_server_refuses_a_crd_without_a_stored_version(cluster: Cluster) -> None:
    name = "parts.demo.invalid"
    cluster.apply(CRD, crd(name=name, names={"kind": "Part"}), manager="test")
    kind = Kind("demo.invalid/v1", "Part", "parts")
    poll(
        lambda: made(cluster, kind, {"metadata": {"name": "p", "namespace": "default"}}), Deadline.after(20), "a kind", every=0.2
    )
    new = crd(version("v2"), name=name, names={"kind": "Part"})
    findings = judge_live(read_live(cluster, [name]), [], [new]).changes
    assert [finding.rule for finding in findings] == ["stored-version-missing"]
    with pytest.raises(Refusal, match="storedVersions"):
        cluster.apply(CRD, new, manager="test")


@pytest.mark.integration
def test_the_verb_lists_what_would_break_on_the_cluster_of_a_spec(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "wares.demo.invalid"
    old, new = (crd({"properties": fields}, name=name, names={"kind": "Ware"}) for fields in ({"f": STRING}, {}))
    cluster.apply(CRD, old, manager="test")
    kind = Kind("demo.invalid/v1", "Ware", "wares")
    body = {"metadata": {"name": "w", "namespace": "default"}, "spec": {"f": "x"}}
    poll(lambda: made(cluster, kind, body), Deadline.after(20), "a served kind", every=0.2)
    spec = tmp_path / "spec.yaml"
    target = f"{{kind: cluster, kubeconfig: {cluster.kubeconfig}}}"
    spec.write_text(f"cluster: live\nchannel: edge\ntarget: {target}\nscheduler: kai-scheduler\n")
    for crds, file in ((old, "old.yaml"), (new, "new.yaml")):
        (tmp_path / file).write_text(json.dumps(crds))
    start = ["--state", str(tmp_path / "state"), "catalog", "crd-diff", "kai-scheduler"]
    code = main([*start, str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml"), "-c", str(spec)])
    said = capsys.readouterr().out
    assert code == Exit.REFUSED
    assert f"stored-object-pruned at .spec.f of {name}: default/w" in said
    assert f"objects judged: {name} 1" in said


def made(cluster: Cluster, kind: Kind, body: dict[str, Any]) -> bool:
    try:
        cluster.create(kind, body)
    except (NotFound, Refusal):
        return False
    return True


def remade(cluster: Cluster, obj: dict[str, Any]) -> str:
    """Whether the API server would take the object if it were made anew (a dry run under another name)."""
    body = {**obj, "metadata": {**obj["metadata"], "name": "probe"}}
    try:
        cluster.request("POST", THING.path("work"), body=body, params={"dryRun": "All"})
    except Refusal:
        return "refused"
    return "taken"


def lost(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {f".spec.{key}" for key in before if key not in after}


def _paths(findings: list[Change], rule: str) -> set[str]:
    return {change.path for change in findings if change.rule == rule}
