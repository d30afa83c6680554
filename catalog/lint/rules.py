"""The table of rules. An id never changes its meaning; one that is given up is not used again.

1xx where charts and images come from, 2xx values and configuration, 3xx known issues, 4xx compatibility, 5xx add-ons and channels
together, 6xx edges, 7xx the package, 8xx what charts really render (``--render``).
"""

from __future__ import annotations

from collections.abc import Mapping

from catalog.lint.world import Rule, Severity

__all__ = ["RULES"]


def _rules(*rows: tuple[str, Severity, str, str]) -> dict[str, Rule]:
    return {row[0]: Rule(*row) for row in rows}


RULES: Mapping[str, Rule] = _rules(
    ("CAT001", "error", "A file of the catalogue cannot be read", "nothing that depends on it can be planned"),
    # Where charts and images come from.
    ("CAT101", "note", "The chart is unpinned", "its bytes are trusted when first seen; `catalog pin` reads them"),
    ("CAT102", "note", "Images are unpinned", "a registry may serve other bytes under the same tag"),
    ("CAT103", "error", "A channel that takes only pinned versions has another", "whoever trusts the channel runs unknown bytes"),
    ("CAT104", "error", "A digest is malformed", "nothing can ever match it"),
    ("CAT105", "error", "An image has a tag that moves", "tomorrow it is another image"),
    ("CAT106", "error", "An image names no registry", "each container runtime takes another one"),
    ("CAT107", "warning", "An image has the tag of another version", "it was forgotten when the file was copied"),
    ("CAT108", "error", "An image is listed twice", "two digests for one name cannot both be right"),
    ("CAT109", "error", "A source is not reached over TLS", "whoever is on the way can change it before it was ever pinned"),
    ("CAT110", "warning", "The project's own address is missing", "nobody finds release notes and issues from here"),
    ("CAT111", "error", "A date is malformed or in the future", "support windows and freshness are counted from it"),
    ("CAT112", "note", "The release date is missing", "nobody sees how old the version is"),
    ("CAT113", "warning", "The support window is missing", "nobody sees how long upstream mends it"),
    ("CAT114", "error", "A word under `unverified` is unknown", "what was not tried is not told where it is looked for"),
    ("CAT115", "warning", "Two strangers share a namespace", "one's removal takes the other's objects with it"),
    ("CAT116", "error", "A stray tag is offered as a version", "it is no release, however high its number"),
    ("CAT117", "error", "An add-on goes into a namespace of Kubernetes itself", "it cannot be removed, and admission skips it"),
    # Values and configuration.
    ("CAT201", "error", "A guard is explained and forces nothing", "a known issue is taken for guarded and is not"),
    ("CAT202", "error", "A value is forced and nobody says why", "a user is refused without a reason"),
    ("CAT203", "error", "The values template is broken", "no cluster with the add-on can be planned"),
    ("CAT204", "error", "The configuration's schema is no JSON Schema 2020-12", "nothing can be judged by it"),
    ("CAT205", "error", "An option has no description or no default", "nobody knows what it does, or what leaving it out means"),
    ("CAT206", "error", "The configuration takes keys that it does not know", "a misspelt option is ignored in silence"),
    ("CAT207", "error", "A default does not satisfy its own schema", "leaving the option out is a mistake nobody is told about"),
    ("CAT208", "error", "An option reaches no value of the chart", "setting it does nothing"),
    ("CAT209", "error", "The template reads an option that the schema lacks", "rendering fails, or a user cannot set it"),
    ("CAT210", "error", "The package sets a value that does nothing", "the work that it promises is not done"),
    ("CAT211", "warning", "A value is both a default and a guard", "the default never counts"),
    # Known issues.
    ("CAT301", "error", "A known issue relies on a guard that there is not", "the issue is taken for guarded and is not"),
    ("CAT302", "error", "A guard against a known issue does not say what it costs", "somebody pays without having been told"),
    ("CAT303", "error", "A version lists an issue that it has no more", "its guard costs something for nothing"),
    ("CAT304", "error", "The version that fixes an issue is no version", "nobody can wait for it"),
    ("CAT305", "error", "The id of a check has an unknown form", "no run finds it"),
    ("CAT306", "error", "A known issue is listed twice", "one of the two is wrong"),
    # Compatibility.
    ("CAT401", "error", "The Kubernetes range is empty", "no cluster can have the version"),
    ("CAT402", "error", "The Kubernetes range has no source", "declared by nobody is a guess"),
    ("CAT403", "error", "A constraint has no source or no reason", "whoever is refused by it cannot check it"),
    ("CAT404", "error", "A constraint hangs on an option that there is not", "it never holds, or always"),
    ("CAT405", "error", "A constraint admits nothing that can be", "no cluster can satisfy it"),
    ("CAT406", "error", "A test has no record", "tested without a record is said and not shown"),
    ("CAT407", "error", "A test contradicts what is declared", "one of the two is wrong"),
    ("CAT408", "warning", "A range admits no version of the catalogue", "the two add-ons can never stand together"),
    # Add-ons and channels together.
    ("CAT501", "error", "A channel has a withdrawn version", "new clusters get what should not be installed any more"),
    ("CAT502", "error", "Versions of a channel do not go together", "whoever follows the channel gets no plan"),
    ("CAT503", "error", "Add-ons require each other", "none can be installed first"),
    ("CAT504", "error", "A channel has a lock-step pair in two versions", "upstream never ran them together"),
    ("CAT505", "error", "An add-on requires what it excludes", "it can never be installed"),
    ("CAT506", "warning", "A channel is ahead of the one that feeds it", "a version came in without having been tried"),
    ("CAT507", "error", "A range counts in another scheme than the add-on's", "it admits and refuses at random"),
    ("CAT508", "error", "A reference engine may go to a real cluster", "what it shows is no evidence"),
    # Edges.
    ("CAT601", "error", "An edge leads to a version that there is not", "it can never be taken"),
    ("CAT602", "error", "An edge leads from no version that there is", "it can never be taken"),
    ("CAT603", "error", "A safe edge names no checks", "safe is then a claim that nothing shows"),
    ("CAT604", "error", "An edge that needs people does not say what for", "they stop, and do not know what to do"),
    ("CAT605", "error", "A way back contradicts its edge", "one says that it may be taken, the other that it may not"),
    ("CAT606", "error", "An edge leads nowhere else", "a version is not a move"),
    ("CAT607", "error", "Two edges speak of the same move", "the verdict is whichever is read first"),
    ("CAT608", "note", "An edge has no reference", "nobody can check where its verdict comes from"),
    # The package.
    ("CAT701", "error", "A path is of an unknown kind", "nothing is ever put there"),
    ("CAT702", "error", "A CRD has two owners that may stand together", "each takes it from the other"),
    ("CAT703", "error", "The name of a CRD is malformed", "it is plural.group, and nothing else is ever found"),
    ("CAT704", "error", "A webhook has neither program nor reason", "every matching write is refused, and nobody knows why"),
    ("CAT705", "error", "A program is of an unknown form", "it cannot be found, and its workload never becomes ready"),
    ("CAT706", "error", "A hook that does work is dropped and nothing does it", "the installation lacks it in silence"),
    ("CAT707", "error", "What does a hook's work is not there", "it is said to be done and is not"),
    ("CAT708", "error", "A scheduler has no checks", "nothing shows that it schedules"),
    ("CAT709", "warning", "An add-on does not say how it stands on the embedded target", "its workloads never become ready"),
    ("CAT710", "error", "A workload of the embedded block is not the add-on's", "the program stands for nothing"),
    ("CAT711", "note", "The chart has no place for tolerations", "where all nodes are tainted it cannot be installed"),
    # What charts render.
    ("CAT801", "error", "The chart does not render as the catalogue says", "the version cannot be installed"),
    ("CAT802", "warning", "The package sets a value that the chart does not know", "the chart ignores it in silence"),
    ("CAT803", "warning", "A listed image is not rendered", "it is mirrored for nothing, or is an operand and not marked"),
    ("CAT804", "warning", "A dropped hook is not rendered", "its entry says nothing any more"),
    ("CAT805", "error", "A path reaches nothing", "what a cluster asks of pods is lost there"),
    ("CAT806", "warning", "A template reads the clock", "two renderings of the same inputs differ, later than a test sees"),
    ("CAT807", "error", "Two add-ons make the same object", "each takes it from the other"),
    ("CAT810", "error", "The cluster's node selector reaches a DaemonSet", "it then serves the selected nodes only"),
    ("CAT808", "note", "The chart could not be had here", "what it renders was not looked at"),
    ("CAT809", "note", "A template decides by the Kubernetes version", "charts are rendered for one minor, not the cluster's"),
)  # fmt: skip
