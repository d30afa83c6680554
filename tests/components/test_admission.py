"""Webhooks that cannot be served are withheld; for those that can, the target's certificate takes cert-manager's place."""

from __future__ import annotations

import base64

from catalog.plan import Webhook
from components.admission import certify, withhold
from tests.components import synthetic

SERVED = Webhook("ValidatingWebhookConfiguration/hook", "sched/operator")


def test_a_served_webhook_and_its_secret_hold_the_same_authority() -> None:
    objects = synthetic.scheduler(webhook=True).objects
    taken = certify(withhold(synthetic.item("a", webhooks=[SERVED]), objects, "embedded"), synthetic.issue)
    (secret,) = taken.secrets
    assert secret["metadata"] == {"name": "hook-tls", "namespace": "sched"}
    assert {key: base64.b64decode(value) for key, value in secret["data"].items()} == {
        "ca.crt": b"ca of operator.sched",
        "tls.crt": b"certificate of operator.sched",
        "tls.key": b"key of operator.sched",
    }
    (hook,) = [obj for obj in taken.objects if obj["kind"] == "ValidatingWebhookConfiguration"]
    assert hook["webhooks"][0]["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]
    assert "caBundle" not in objects[-1]["webhooks"][0]["clientConfig"], "the rendered object is left as it was"


def test_a_certificate_that_no_remaining_webhook_needs_is_not_asked_for() -> None:
    asked: list[tuple[str, str]] = []

    def never(service: str, namespace: str) -> tuple[bytes, bytes, bytes]:
        asked.append((service, namespace))
        return b"", b"", b""

    unserved = synthetic.item("a", webhooks=[Webhook("ValidatingWebhookConfiguration/hook")])
    taken = certify(withhold(unserved, synthetic.scheduler(webhook=True).objects, "embedded"), never)
    assert (taken.secrets, asked) == ((), [])
    assert taken.withheld == ("ValidatingWebhookConfiguration/hook",)


def test_a_webhook_that_the_catalogue_does_not_know_is_not_registered_on_the_embedded_target() -> None:
    objects = synthetic.scheduler(webhook=True).objects
    assert withhold(synthetic.item("a"), objects, "embedded").withheld == ("ValidatingWebhookConfiguration/hook",)
    assert withhold(synthetic.item("a"), objects, "cluster").withheld == ()


def test_a_webhook_that_an_operator_makes_at_run_time_is_named_when_nothing_serves_it() -> None:
    item = synthetic.item("a", webhooks=[Webhook("MutatingWebhookConfiguration/late", made_by="sched/operator")])
    assert withhold(item, (), "embedded").withheld == ("MutatingWebhookConfiguration/late",)
