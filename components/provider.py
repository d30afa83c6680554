"""The explicit Kubernetes provider of a stack: one cluster, named by identity, reached by a path."""

from __future__ import annotations

import pulumi

from catalog.plan import Facts

#: Release of pulumi-kubernetes that the pinned provider program matches; the SDK in requirements/ has the same version.
PROVIDER_VERSION = "4.25.0"


class ClusterProvider(pulumi.ProviderResource):
    """Registered by token, as all objects here are: the typed SDK would be imported for this one class.

    ``cluster_identifier`` (UID of kube-system) makes a new endpoint or credential an update of the provider, and another
    cluster a replacement of everything; :mod:`components.identity` refuses the latter before it is planned. The kubeconfig
    is given as a path, so that no credential enters the state. Secrets and ConfigMaps change in place.
    """

    def __init__(self, facts: Facts, opts: pulumi.ResourceOptions | None = None) -> None:
        settings = {
            "kubeconfig": str(facts.kubeconfig.absolute()),
            "clusterIdentifier": facts.cluster_uid,
            **({"context": facts.context} if facts.context else {}),
            # Provider settings other than strings travel as JSON text.
            "enableServerSideApply": "true",
            "enableSecretMutable": "true",
            "enableConfigMapMutable": "true",
            "suppressHelmHookWarnings": "true",
        }
        opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(version=PROVIDER_VERSION))
        super().__init__("kubernetes", "cluster", settings, opts)
