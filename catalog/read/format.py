"""The files of the catalogue as shapes: every field, what it may hold, and the sentence that an editor shows for it.

This is the only description there is. The reader (:mod:`catalog.read.files`) and the exported JSON Schemas
(``chandlery catalog schema``) are both made from it.
"""

from __future__ import annotations

from catalog.model import FACTS, ORDERED, TargetName
from catalog.read.shape import Field, Flag, Group, Label, Many, Shape, TextMap, Variant, Word, Words, WordsMap

__all__ = ["ADDON", "CHANNEL", "EDGES", "NOOPS", "PACKAGE", "PATHS", "ROLES", "TARGETS", "VERSION"]

ROLES = (
    "certificates", "crds", "devices", "discovery", "fractions", "network", "quota", "repair", "scheduler", "slurm",
)  # fmt: skip
TARGETS: tuple[TargetName, ...] = ("embedded", "kind", "cluster")
#: What of a cluster is put into every pod template, and so needs its places in the chart's values.
PATHS = ("affinity", "imagePullSecrets", "nodeSelector", "priorityClassName", "registry", "tolerations")
UNPINNED = "unpinned"

_DIGEST = f"sha256:[0-9a-f]{{64}}|{UNPINNED}"
_NO_DIGEST = f"is neither sha256:<64 hexadecimal digits> nor {UNPINNED}"
_RANGE = "Versions, all bounds of which hold: `>=0.17.0 <0.19.0`."


def _scheme(doc: str) -> Word:
    return Word(doc, choices=("semver", "calendar"), default="semver")


def _digest(doc: str, *, required: bool = True) -> Word:
    return Word(f"{doc} `{UNPINNED}` where nobody could read it yet.", required, pattern=_DIGEST, wrong=_NO_DIGEST)


_REQUIREMENT = Shape(
    {
        "addon": Label("The other add-on.", required=True),
        "reason": Word("What for, in half a sentence.", required=True),
        "sameVersion": Flag("Upstream releases both in lock-step: the versions are the same."),
        "range": Word(_RANGE),
        "scheme": _scheme("How the other add-on's versions are numbered."),
    }
)
_HOOK = Shape(
    {
        "kind": Word("The hook's kind.", required=True),
        "name": Word("Its name; left out for all of that kind."),
        "reason": Word("Why nothing is lost without it.", required=True),
        "doneBy": Word(
            "What of the package does its work: `crds`, `guard:PATH`, `delete`, `check:ID`; `object` applies the hook itself as "
            "an ordinary object, `manifest` what a ConfigMap holds for a hook Job to apply."
        ),
    }
)
_GENERATED = Shape(
    {
        "kind": Word("The object's kind.", required=True),
        "name": Word("Its name.", required=True),
        "reason": Word("What is made up, and who reads it.", required=True),
    }
)
_PROGRAM = Shape(
    {
        "workload": Word(
            "`namespace/deployment`; `{pool}` at its end stands for each node pool.",
            required=True,
            pattern=r"[a-z0-9-]+/[a-z0-9-]+(\{pool\})?",
            wrong="is no namespace/deployment",
        ),
        "tool": Word("A name of the toolchain, `kai:NAME`, or `python:MODULE`.", required=True),
        "args": Words(
            "Arguments instead of the container's; may use {pod_ip}, {namespace}, {port}, {volume:NAME}, {args}, {root}."
        ),
        "env": TextMap("Environment beyond the container's own."),
    }
)
_WEBHOOK = Shape(
    {
        "configuration": Word(
            "`Kind/name` of the webhook configuration.",
            required=True,
            pattern=r"(Mutating|Validating)WebhookConfiguration/\S+",
            wrong="is no Kind/name of a webhook configuration",
        ),
        "workload": Word("The program that serves it, as `namespace/deployment`."),
        "madeBy": Word("`chart`, or the workload that makes it at run time.", default="chart"),
        "reason": Word("Why nothing serves it there."),
    },
    either=("workload", "reason"),
    lacking="nothing serves it, and no reason says why",
)
_EMBEDDED = Shape(
    {
        "programs": Many("The program behind each workload.", _PROGRAM),
        "simulated": Words("`namespace/deployment` patterns whose pods are shown as running without a program."),
        "webhooks": Many("The add-on's webhook configurations.", _WEBHOOK),
    }
)

#: What addon.yaml says for all versions, and a version's file again where it differs.
PACKAGE: dict[str, Field] = {
    "requires": Many("Add-ons that have to be there.", _REQUIREMENT),
    "crds": Words("Full names of the CRDs that it owns."),
    "paths": WordsMap("Dotted places in the chart's values for what a cluster dictates.", PATHS),
    "hooks": Many("Helm hooks that are left out, knowingly.", _HOOK),
    "embedded": Group("How it stands on the embedded target.", _EMBEDDED),
    "checks": Words("Ids of the checks that prove it."),
    "generated": Many("Objects in which the chart makes up something at each rendering; it is made once and kept.", _GENERATED),
}
ADDON = Shape(
    {
        "name": Label("Its name, which is that of the directory.", required=True),
        "title": Word("Its name for people.", required=True),
        "role": Word("What it does for a cluster; two schedulers never stand on one.", required=True, choices=ROLES),
        "reference": Flag("An engine of Chandlery's own that stands in for another; never evidence about that one."),
        "namespace": Label("Where it is installed.", required=True),
        "targets": Words("Where it may be installed.", required=True, choices=TARGETS),
        "scheme": _scheme("How its versions are numbered."),
        "upstream": Word("The project's own address."),
        "excludes": TextMap("Add-ons that must not stand beside it, with the reason."),
        "strays": TextMap("Tags that exist upstream and are no release, with the reason. They are never picked."),
        **PACKAGE,
    },
    "What holds for every version of an add-on.",
)

_PIN = {
    "chartVersion": Word("Written into the chart before it is rendered.", required=True),
    "appVersion": Word("Likewise; left out where it is the chart's version."),
}
_CHART = Variant(
    "Where the chart comes from.",
    "source",
    {
        ("go-module",): Shape(
            {
                **_PIN,
                "module": Word("The module's path.", required=True),
                "version": Word("Its version.", required=True),
                "sum": Word(
                    "The `h1:` checksum of its zip.",
                    required=True,
                    pattern="h1:[A-Za-z0-9+/]{43}=",
                    wrong="is no h1: checksum",
                    todo="as in go.sum, of the module's zip and not of its go.mod",
                ),
                "path": Word("The chart's directory in it.", required=True),
                "checksumDatabase": Flag("False where the public checksum database has no record.", default=True),
            }
        ),
        ("oci",): Shape(
            {
                **_PIN,
                "repository": Word(
                    "host/path, without oci://.",
                    required=True,
                    pattern=r"(?:(?!://).)*",
                    wrong="has a scheme",
                    todo="write host/path without oci://",
                ),
                "tag": Word("The chart's tag.", required=True),
                "digest": _digest("Digest of the manifest."),
                "archiveDigest": _digest("Digest of the chart's .tgz."),
            }
        ),
        ("helm-repository",): Shape(
            {
                **_PIN,
                "repository": Word(
                    "Address of the directory with index.yaml.",
                    required=True,
                    pattern="https://.*",
                    wrong="is no https:// address",
                ),
                "chart": Word("The chart's name.", required=True),
                "version": Word("Its version there.", required=True),
                "archiveDigest": _digest("Digest of the .tgz."),
            }
        ),
        ("file",): Shape(
            {
                **_PIN,
                "path": Word("The .tgz, relative to the add-on's directory.", required=True),
                "digest": _digest("Its digest."),
            }
        ),
        ("package",): Shape({**_PIN, "directory": Word("Templates of our own.", default="package")}),
    },
    required=True,
)
_IMAGE = Shape(
    {
        "reference": Word("registry/name:tag.", required=True, pattern=r".+/.+:[^/:]+", wrong="is no registry/name:tag"),
        "digest": _digest("Digest of its manifest.", required=False),
        "operand": Flag("No template of the chart names it: an operator starts it."),
    }
)
_EXPLAINED: dict[str, Field] = {
    "reason": Word("What breaks otherwise, in half a sentence.", required=True),
    "source": Word("Who declared it, and where.", required=True),
}
_WHEN = Word("Dotted path in the typed configuration that must be truthy for it to hold; left out: always.")
_CONSTRAINT = Variant(
    "A need of the cluster.",
    "fact",
    {
        tuple(fact for fact in FACTS if fact in ORDERED): Shape(
            {"range": Word("Numbers, such as `>=580 <620`.", required=True), "when": _WHEN, **_EXPLAINED}
        ),
        tuple(fact for fact in FACTS if fact not in ORDERED): Shape(
            {"words": Words("What is admitted.", required=True), "when": _WHEN, **_EXPLAINED}
        ),
    },
)
_PEER = Shape(
    {
        "addon": Label("The other add-on.", required=True),
        "range": Word(_RANGE),
        "scheme": _scheme("How the other add-on's versions are numbered."),
        **_EXPLAINED,
    }
)
_TESTED = Shape(
    {
        "on": Word("When, as an ISO date.", required=True),
        "record": Word("Where it is recorded, below docs/.", required=True),
        "facts": TextMap("On what: facts of that cluster."),
    }
)
_KUBERNETES = Shape(
    {
        "from": Word("The oldest Kubernetes minor.", required=True),
        "to": Word("The newest one; left out where nobody said."),
        "source": Word("Who declared it, and where.", required=True),
    }
)
_COMPATIBILITY = Shape(
    {
        "kubernetes": Group("What upstream declares.", _KUBERNETES, required=True),
        "constraints": Many("What it needs of the cluster below it.", _CONSTRAINT),
        "peers": Many("Versions that other add-ons must have where they are on the cluster.", _PEER),
        "tested": Many("What we ran ourselves.", _TESTED),
    }
)
_GUARD = Shape(
    {
        "path": Word("Dotted place in the chart's values.", required=True),
        "why": Word("Why the package holds it.", required=True),
        "cost": Word("What that costs."),
    }
)
_ISSUE = Shape(
    {
        "id": Label("A short name.", required=True),
        "title": Word("What goes wrong.", required=True),
        "reference": Word("Where it is reported.", required=True),
        "guard": Word("The guarded value that keeps it away."),
        "cost": Word("What that costs."),
        "check": Word("The check that would show it."),
        "fixedIn": Word("The version that has it no more."),
    }
)
VERSION = Shape(
    {
        "version": Word("The version, which is the file's name.", required=True),
        "released": Word("When, as an ISO date."),
        "support": Word("How long upstream supports it."),
        "withdrawn": Word("Why it may not be installed any more."),
        "unverified": Words("What of this entry nobody could try: `hardware`, `chart`."),
        "chart": _CHART,
        "images": Many("Every image that it runs.", _IMAGE),
        "compatibility": Group("Where it may run.", _COMPATIBILITY, required=True),
        "guards": Many("Chart values that the package forces.", _GUARD),
        "issues": Many("Known defects.", _ISSUE),
        **PACKAGE,
    },
    "One version of an add-on. What it says of the package replaces what addon.yaml says.",
)

_MOVE = Shape(
    {
        "from": Word("Dotted place before.", required=True),
        "to": Word("Dotted place afterwards; empty: dropped.", blank=True),
        "note": Word("What to know about it."),
    }
)
_EDGE = Shape(
    {
        "from": Word("The versions that it leads from, as a range.", required=True),
        "to": Word("The version that it leads to.", required=True),
        "verdict": Word("Whether it may be taken.", required=True, choices=("safe", "manual", "blocked")),
        "code": Word("A reason code.", required=True, pattern="[a-z0-9]+(-[a-z0-9]+)*", wrong="is no reason code in kebab case"),
        "reason": Word("Its sentence.", required=True),
        "reversible": Flag("Whether the way back may be taken.", required=True),
        "precondition": Word("What has to be there before, such as a backup."),
        "steps": Words("What people have to do, in order."),
        "moves": Many("Configuration values that have another place or meaning afterwards.", _MOVE),
        "checks": Words("Ids of the checks that have to pass afterwards."),
        "affects": Words("Kinds or workloads that notice it."),
        "references": Words("Upstream places that say so."),
    }
)
EDGES = Shape({"edges": Many("Moves between versions.", _EDGE, required=True)}, "What is known about moving between versions.")
_NOOP = Shape(
    {
        "path": Word("Dotted place in the chart's values.", required=True),
        "versions": Word("The versions that ignore it; left out: all."),
        "instead": Word("What does the work, or that nothing does.", required=True),
        "source": Word("Who says so, and where.", required=True),
    }
)
NOOPS = Shape(
    {"noops": Many("Values that people set and that change nothing.", _NOOP, required=True)},
    "Values of the chart that are known to do nothing. A spec that sets one is refused.",
)
CHANNEL = Shape(
    {
        "name": Label("Its name, which is the file's.", required=True),
        "allowsUnpinned": Flag("Whether versions may be in it that are not known by digest."),
        "versions": TextMap("One version for each add-on."),
    },
    "One version for each add-on.",
)
