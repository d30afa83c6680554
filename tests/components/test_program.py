"""The declared program under Pulumi's mocks: which resources, in which order, with which policy."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import InvalidInput, Refused
from components import program
from components.objects import digest_of
from components.provider import PROVIDER_VERSION
from tests.components import synthetic
from tests.components.registering import Registration, register

Registered = tuple[list[Registration], dict[str, Any]]
GOLDEN = Path(__file__).parent / "golden"


def declaration(tmp_path: Path, *, target: Any = "embedded", uid: str = "uid-1") -> program.Declaration:
    plan, rendered, tenancy = synthetic.standard()
    facts = synthetic.facts(tmp_path / "kubeconfig", uid, target=target)
    return program.prepare(plan, rendered, tenancy, facts, synthetic.issue)


@pytest.fixture
def registered(tmp_path: Path) -> Registered:
    made = declaration(tmp_path)
    return register(lambda: program.declare(made))


def by_kind(resources: list[Registration], kind: str) -> list[Registration]:
    return [r for r in resources if r.token.endswith(f":{kind}")]


def test_the_resources_of_a_stack_are_as_in_the_golden_list(registered: Registered) -> None:
    resources, outputs = registered
    secret = {r.name for r in resources if r.secret}
    seen = [
        {
            "urn": r.urn,
            "retain": r.retain,
            # The certificate of the webhook is made once per cluster: its bytes are nobody's constant.
            "digest": "" if not r.custom or r.name in secret or r.token.endswith("WebhookConfiguration") else digest_of(r.inputs),
        }
        for r in resources
        if not r.token.startswith("pulumi:providers:")
    ]
    for addon in outputs["addons"].values():
        addon["digest"] = ""
    file = GOLDEN / "standard.json"
    text = json.dumps({"resources": seen, "outputs": outputs}, indent=2, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_GOLDENS"):
        file.write_text(text)
    assert text == file.read_text(), "run with UPDATE_GOLDENS=1 where the change is meant; names and types of resources are API"


def test_crds_and_queues_outlive_the_stack_and_nothing_is_protected(
    registered: Registered,
) -> None:
    resources, _ = registered
    kept = {r.name for r in resources if r.retain}
    assert kept == {r.name for r in (*by_kind(resources, "CustomResourceDefinition"), *by_kind(resources, "Queue"))}
    assert len(by_kind(resources, "Queue")) == 2
    assert not [r for r in resources if r.protect]


def test_every_object_goes_through_the_one_explicit_provider(registered: Registered, tmp_path: Path) -> None:
    resources, _ = registered
    (provider,) = [r for r in resources if r.token == "pulumi:providers:kubernetes"]
    assert provider.inputs == {
        "kubeconfig": str(tmp_path / "kubeconfig"),
        "clusterIdentifier": "uid-1",
        "enableServerSideApply": "true",
        "enableSecretMutable": "true",
        "enableConfigMapMutable": "true",
        "suppressHelmHookWarnings": "true",
    }
    assert {r.provider for r in resources if r.custom and r is not provider} == {f"{provider.urn}::cluster-id"}


def test_the_provider_has_the_version_of_the_pinned_sdk() -> None:
    from importlib.metadata import version

    assert version("pulumi-kubernetes") == PROVIDER_VERSION


def waits_for(resource: Any) -> set[str]:
    """Names of the resources that the state records as its dependencies, but for the provider, which every one needs."""
    return {urn.rpartition("::")[2] for urn in resource.dependencies} - {"cluster"}


def test_queues_come_after_config_and_shard_and_parents_before_children(
    registered: Registered,
) -> None:
    resources, outputs = registered
    parent, child = by_kind(resources, "Queue")
    assert (parent.name, child.name) == ("kai-reference/research", "kai-reference/vision")
    assert waits_for(parent) == {"kai-reference/kai-config", "kai-reference/default"}
    assert waits_for(child) == {"kai-reference/research"}
    assert outputs["queues"] == ["research", "vision"]


def test_what_needs_a_foreign_kind_waits_for_the_addon_that_brings_it_and_the_rest_does_not(registered: Registered) -> None:
    resources, _ = registered
    (certificate,) = by_kind(resources, "Certificate")
    own = {r.name for r in by_kind(resources, "CustomResourceDefinition") if r.name.startswith("kai-reference/")}
    brings = "cert-manager/certificates.cert-manager.io"
    assert waits_for(certificate) == own | {brings}
    (config,) = by_kind(resources, "ConfigMap")
    assert waits_for(config) == {"kai-reference/sched"}


def test_a_webhook_without_a_program_is_withheld_and_named(registered: Registered) -> None:
    resources, outputs = registered
    assert not by_kind(resources, "MutatingWebhookConfiguration")
    assert outputs["notExercised"] == {"cert-manager": ["MutatingWebhookConfiguration/cert-hook"]}


def test_a_served_webhook_gets_the_certificate_that_its_program_serves_with(
    registered: Registered,
) -> None:
    resources, _ = registered
    (hook,) = by_kind(resources, "ValidatingWebhookConfiguration")
    bundle = hook.inputs["webhooks"][0]["clientConfig"]["caBundle"]
    (secret,) = [r for r in by_kind(resources, "Secret") if r.name.endswith("hook-tls")]
    assert secret.secret == ("data",)
    assert secret.inputs["data"]["value"]["ca.crt"] == bundle


def test_on_a_real_cluster_all_webhooks_are_registered_and_certificates_are_left_to_cert_manager(tmp_path: Path) -> None:
    _, rendered, tenancy = synthetic.standard()
    real = synthetic.plan(
        synthetic.STANDARD_ITEMS[0], synthetic.item("kai-scheduler", requires=["cert-manager"]), scheduler="kai-scheduler"
    )
    rendered = {"cert-manager": rendered["cert-manager"], "kai-scheduler": rendered["kai-reference"]}
    facts = synthetic.facts(tmp_path / "kubeconfig", target="cluster")
    made = program.prepare(real, rendered, tenancy, facts, synthetic.issue)
    resources, outputs = register(lambda: program.declare(made))
    (hook,) = by_kind(resources, "ValidatingWebhookConfiguration")
    assert "caBundle" not in hook.inputs["webhooks"][0]["clientConfig"]
    assert by_kind(resources, "MutatingWebhookConfiguration")
    assert outputs["notExercised"] == {}
    assert [r.name for r in by_kind(resources, "Secret")] == ["kai-scheduler/sched/token"]
    assert "tls.key" not in json.dumps([r.inputs for r in resources], default=str)


def test_kai_config_and_shard_must_be_ready_before_queues_come(tmp_path: Path) -> None:
    _, rendered, tenancy = synthetic.standard()
    real = synthetic.plan(synthetic.item("kai-scheduler"), scheduler="kai-scheduler")
    made = program.prepare(
        real,
        {"kai-scheduler": rendered["kai-reference"]},
        tenancy,
        synthetic.facts(tmp_path / "k", target="cluster"),
        synthetic.issue,
    )
    resources, _ = register(lambda: program.declare(made))
    waiting = {
        r.name
        for r in resources
        if r.inputs.get("metadata", {}).get("annotations", {}).get("pulumi.com/waitFor") == "condition=Ready"
    }
    assert waiting == {"kai-scheduler/kai-config", "kai-scheduler/default"}


def test_the_reference_engine_is_refused_anywhere_but_on_the_embedded_target(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="embedded target only"):
        declaration(tmp_path, target="cluster")
    facts = replace(declaration(tmp_path).facts, target="cluster")
    made = replace(declaration(tmp_path), facts=facts)
    with pytest.raises(Refused, match="embedded target only"):
        register(lambda: program.declare(made))


def test_an_addon_that_nobody_wrote_a_component_for_is_installed_all_the_same(tmp_path: Path) -> None:
    plan = synthetic.plan(synthetic.item("monitoring"), scheduler="")
    addon = synthetic.Addon((), (synthetic.obj("v1", "ConfigMap", "a", "default", data={}),))
    made = program.prepare(plan, {"monitoring": addon}, (), synthetic.facts(tmp_path / "k"), synthetic.issue)
    resources, outputs = register(lambda: program.declare(made))
    assert [r.token for r in resources if not r.token.startswith("pulumi:")] == [
        "chandlery:addons:ManagedAddon",
        "kubernetes:core/v1:ConfigMap",
    ]
    assert outputs["queues"] == []


def test_two_addons_that_hold_one_object_are_refused(tmp_path: Path) -> None:
    plan = synthetic.plan(synthetic.item("a"), synthetic.item("b"), scheduler="")
    same = synthetic.Addon((), (synthetic.obj("v1", "ConfigMap", "shared", "default"),))
    with pytest.raises(InvalidInput, match="a and b both hold ConfigMap default/shared"):
        program.prepare(plan, {"a": same, "b": same}, (), synthetic.facts(tmp_path / "k"), synthetic.issue)


def test_queues_without_a_scheduler_are_refused(tmp_path: Path) -> None:
    plan = synthetic.plan(synthetic.item("a"), scheduler="")
    with pytest.raises(InvalidInput, match="no scheduler"):
        program.prepare(plan, {"a": synthetic.Addon()}, synthetic.TENANCY, synthetic.facts(tmp_path / "k"), synthetic.issue)


def test_a_second_declaration_of_one_cluster_is_equal_to_the_first(tmp_path: Path) -> None:
    first, second = declaration(tmp_path), declaration(tmp_path)
    assert first == second


def test_declaring_leaves_the_declaration_as_it_was(tmp_path: Path) -> None:
    made = declaration(tmp_path)
    before = json.dumps([dict(o) for taken in made.admitted.values() for o in taken.objects], sort_keys=True)
    register(lambda: program.declare(made))
    assert json.dumps([dict(o) for taken in made.admitted.values() for o in taken.objects], sort_keys=True) == before
