"""``up`` of the quickstart's add-ons beside ``helm install`` of the same objects, each on a fresh embedded cluster."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import toolchain
from base.places import REPOSITORY
from cli.context import App
from cli.options import Wishes
from cli.session import Session, declaration, engine, open_session, set_programs, target_down
from components.program import Declaration
from tests.bench.measure import Figure, clock

SPEC = REPOSITORY / "clusters" / "quickstart.yaml"
_WISHES = Wishes("kai-reference")


def figures(app: App) -> Iterator[Figure]:
    """Time of up, of an up without change, and the first against Helm's."""
    helm = toolchain.obtain("helm", app.reporter)
    app = replace(app, state=app.state / "up")
    session, declared = _fresh(app)
    try:
        with clock() as ours:
            outcome = engine(session).up(declared)
        if not outcome.changes.create:
            raise RuntimeError("up created nothing")
        with clock() as again:
            outcome = engine(session).up(declaration(session))
        if outcome.changes.any:
            raise RuntimeError(f"the second up changed something: {outcome.changes}")
    finally:
        target_down(app, session.spec.name, delete=True)
    theirs = _helm(replace(app, state=app.state.parent / "helm"), helm)
    note = f"up {ours.wall:.1f} s, helm install {theirs:.1f} s, one after the other on fresh clusters"
    yield Figure("up of the quickstart add-ons, times helm install", ours.wall / theirs, 1.2, "x", note)
    yield Figure("up again, nothing to change", again.wall, 10.0, "s")


def _fresh(app: App) -> tuple[Session, Declaration]:
    session = open_session(app, SPEC, _WISHES, create=True)
    set_programs(session)
    return session, declaration(session)


def _helm(app: App, helm: Path) -> float:
    """Seconds that Helm takes for the same objects, one release per add-on, waiting until each is ready."""
    session, declared = _fresh(app)
    try:
        charts = [(item.addon, item.namespace, _chart(app.state, item.addon, declared)) for item in declared.plan.items]
        with clock() as taken:
            for name, namespace, chart in charts:
                command = [str(helm), "install", name, str(chart), "--namespace", namespace, "--create-namespace", "--wait"]
                subprocess.run(
                    [*command, "--kubeconfig", str(session.facts.kubeconfig), "--timeout", "300s"],
                    check=True,
                    capture_output=True,
                    text=True,
                )
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"helm install failed: {error.stderr[-2000:]}") from error
    finally:
        target_down(app, session.spec.name, delete=True)
    return taken.wall


def _chart(folder: Path, addon: str, declared: Declaration) -> Path:
    """A chart that holds just the objects which up applies: CRDs as such, all else as finished templates."""
    admitted = declared.admitted[addon]
    objects = [*admitted.objects, *admitted.secrets]
    if addon == declared.plan.scheduler:
        objects += [dict(obj) for obj in declared.tenancy]
    objects = [obj for obj in objects if obj["kind"] != "Namespace"]  # --create-namespace makes it
    files = {
        "Chart.yaml": json.dumps({"apiVersion": "v2", "name": addon, "version": "1.0.0"}),
        **_numbered("crds", declared.crds[addon]),
        **_numbered("templates", objects),
    }
    path = folder / f"{addon}.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{addon}/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def _numbered(folder: str, objects: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    texts = [json.dumps(obj) for obj in objects]
    if folder == "templates":
        texts = [text.replace("{{", '{{ "{{" }}') for text in texts]
    return {f"{folder}/{number:03}.yaml": text for number, text in enumerate(texts)}
