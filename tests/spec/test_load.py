"""A cluster spec is read whole, or all that is wrong with it is told at once, with line, column and field."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import InvalidInput, NotFound, Problem, SpecError
from spec.load import load, loads
from spec.model import AddonRequest, ClusterSpec, NodePool

CLUSTERS = Path(__file__).resolve().parents[2] / "clusters"
MINIMAL = "cluster: c\ntarget: {kind: embedded}\n"


def read(text: str) -> ClusterSpec:
    return loads(text.encode(), Path("spec.yaml"))


def wrong(text: str) -> list[str]:
    """``line:column field: message`` of every problem."""
    with pytest.raises(SpecError) as caught:
        read(text)
    return [str(problem).removeprefix("spec.yaml:") for problem in caught.value.problems]


@pytest.mark.parametrize("path", sorted(CLUSTERS.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_spec_is_valid(path: Path) -> None:
    assert load(path).source == path


def test_the_quickstart_has_what_it_promises() -> None:
    spec = load(CLUSTERS / "quickstart.yaml")
    assert (spec.target.kind, spec.target.kubernetes, spec.channel, spec.scheduler) == ("embedded", "1.36", "edge", "auto")
    assert spec.node_pools == (NodePool("default", 8, 8, "NVIDIA-H100-80GB-HBM3"),)
    assert [request.name for request in spec.addons] == ["cert-manager", "slurm-operator"]
    assert [(d.name, [p.name for p in d.projects]) for d in spec.tenancy.departments] == [
        ("research", ["vision", "language"]),
        ("product", ["inference", "evaluation"]),
    ]


def test_a_first_cluster_takes_five_lines() -> None:
    assert len((CLUSTERS / "minimal.yaml").read_text().splitlines()) == 5


def test_what_is_left_out_has_a_default() -> None:
    spec = read(MINIMAL)
    assert (spec.channel, spec.scheduler, spec.addons) == ("stable", "auto", ())
    assert spec.node_pools == (NodePool("default", 8, 8, "NVIDIA-H100-80GB-HBM3"),)


def test_addons_keep_their_line_version_text_and_values() -> None:
    spec = read(MINIMAL + "addons:\n  a:\n  b: {version: 1.30, values: {x: [1, {y: no}]}}\n")
    assert spec.addons == (AddonRequest("a", "", {}, 4), AddonRequest("b", "1.30", {"x": [1, {"y": "no"}]}, 5))


def test_a_kubernetes_minor_may_stand_without_quotes() -> None:
    assert read("cluster: c\ntarget: {kind: embedded, kubernetes: 1.30}").target.kubernetes == "1.30"


def test_a_kubeconfig_is_found_from_the_spec() -> None:
    text = b"cluster: c\ntarget: {kind: cluster, kubeconfig: k/config, context: prod}"
    target = loads(text, Path("/specs/c.yaml")).target
    assert (target.kubeconfig, target.context) == (Path("/specs/k/config"), "prod")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("target: {kind: embedded}", "1:1: cluster: is missing"),
        ("cluster: c", "1:1: target: is missing"),
        ("cluster: Big_One\ntarget: {kind: embedded}", "1:1: cluster: 'Big_One' is no DNS label"),
        (MINIMAL + "chanel: edge", "3:1: chanel: unknown field (did you mean channel?)"),
        ("cluster: c\ntarget: {kind: embeded}", "2:10: target.kind: 'embeded' is not one of embedded, kind, cluster"),
        ("cluster: c\ntarget: embedded", "2:1: target: expected a mapping such as {kind: embedded}, found the text 'embedded'"),
        ("cluster: c\ntarget: {kind: embedded, kubernetes: 1.36.3}", "2:26: target.kubernetes: '1.36.3' is no Kubernetes minor"),
        ("cluster: c\ntarget: {kind: cluster}", "2:9: target.kubeconfig: is missing"),
        ("cluster: c\ntarget: {kind: kind, context: x}", "2:22: target.context: has no meaning for kind kind"),
        ("cluster: c\ntarget: {kind: cluster, kubeconfig: '~nosuchuser/x'}", "target.kubeconfig: '~nosuchuser/x' is no path"),
        (MINIMAL + "addons: [cert-manager]", "3:1: addons: expected a mapping of add-on names, such as"),
        (MINIMAL + "addons: {a: 1.2}", "3:10: addons.a: expected version, config and values, or nothing, found the number 1.2"),
        (MINIMAL + "addons: {a: {versoin: 1}}", "3:14: addons.a.versoin: unknown field (did you mean version?)"),
        (MINIMAL + "addons: {a: {values: [1]}}", "3:14: addons.a.values: expected a mapping, found a list"),
        (MINIMAL + "addons: {a: {}, a: {}}", "3:17: addons.a: appears twice"),
        (MINIMAL + "nodePools: {name: x}", "3:1: nodePools: expected a list, found a mapping (begin each element with a dash)"),
        (MINIMAL + "nodePools: [{name: x}]", "3:13: nodePools[0].count: is missing"),
        (MINIMAL + "nodePools: [{name: x, count: 8.5}]", "nodePools[0].count: expected a whole number, found the number 8.5"),
        (MINIMAL + "nodePools: [{name: x, count: '8'}]", "found the text '8' (write it without quotes)"),
        (MINIMAL + "nodePools: [{name: x, count: true}]", "expected a whole number, found the truth value true"),
        (MINIMAL + "nodePools: [{name: x, count: -1}]", "nodePools[0].count: -1 is not between 0 and 100000"),
        (MINIMAL + "nodePools: [{name: x, count: 1}, {name: x, count: 1}]", "nodePools[1].name: node pool 'x' is already there"),
        (MINIMAL + "nodePools: [{name: x, count: 1, gpuProduct: 'H100 80GB'}]", "'H100 80GB' is no label value"),
        (MINIMAL + "nodePools: [x]", "3:13: nodePools[0]: expected a mapping, found the text 'x'"),
        ("- cluster: c", "1:1: expected a mapping, found a list"),
        ("just words", "1:1: expected a mapping, found the text 'just words'"),
        ("", "1:1: the file says nothing"),
        ("cluster: c\n\ttarget: x", "2:1: a tab in the indentation (indent with spaces)"),
        ("cluster: c\ncluster: d\ntarget: {kind: embedded}", "2:1: cluster: appears twice (first in line 1)"),
        ("a: &a [x]\nb: *a", "2:4: alias *a is not supported"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(text: str, problem: str) -> None:
    assert any(problem in found for found in wrong(text)), wrong(text)


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    found = wrong("cluster: A\nchanel: x\ntarget: {kind: nope}\nnodePools:\n  - {name: B, count: x}\n")
    assert [problem.split(":")[0] for problem in found] == ["1", "2", "3", "5", "5"]


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such cluster spec"):
        load(tmp_path / "nope.yaml")


def test_a_directory_is_no_spec(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load(tmp_path)


def test_a_file_that_is_no_text_is_told_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"cluster: \xe4\n")
    with pytest.raises(SpecError, match=r"spec\.yaml:1:10: is not UTF-8"):
        load(path)


def outcome(data: bytes) -> None:
    """A spec, or a SpecError with at least one problem; anything else is raised through."""
    problems: tuple[Problem, ...] = ()
    spec = None
    try:
        spec = loads(data, Path("spec.yaml"))
    except SpecError as error:
        problems = error.problems
    assert bool(problems) != isinstance(spec, ClusterSpec)


@given(st.binary(max_size=300))
def test_no_bytes_give_a_traceback(data: bytes) -> None:
    outcome(data)


KNOWN = """cluster channel target kind embedded kubeconfig context kubernetes scheduler addons version values nodePools name
count gpusPerNode gpuProduct tenancy departments projects priority quotas default gpu cpuCores memoryMB deserved limit
overQuotaWeight"""
WORDS = st.sampled_from(KNOWN.split())
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.integers(-2, 3), WORDS, st.just(10**400)
)
TREES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=6)))


@given(st.dictionaries(WORDS, TREES, max_size=7))
@settings(max_examples=200)
def test_no_tree_of_known_words_gives_a_traceback(value: object) -> None:
    outcome(yaml.safe_dump(value, allow_unicode=True).encode("utf-8", errors="surrogatepass"))


@given(st.data())
@settings(max_examples=200)
def test_no_damage_to_a_good_spec_gives_a_traceback(data: st.DataObject) -> None:
    lines = (CLUSTERS / "quickstart.yaml").read_bytes().split(b"\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        cut = data.draw(st.integers(0, len(lines[at])))
        lines[at] = lines[at][:cut] + data.draw(st.binary(max_size=4)) + lines[at][cut + data.draw(st.integers(0, 3)) :]
    outcome(b"\n".join(lines))
