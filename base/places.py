"""Where things are kept: what belongs to one checkout (state) and what any checkout may share (cache)."""

from __future__ import annotations

import os
from pathlib import Path

#: The checkout that this program runs from.
REPOSITORY = Path(__file__).resolve().parent.parent
#: Where its state is unless the user says otherwise; Pulumi.yaml names the same place.
DEFAULT_STATE = REPOSITORY / ".chandlery"


def state_dir() -> Path:
    """``$CHANDLERY_STATE``, else ``.chandlery`` in the checkout. Not created here."""
    named = os.environ.get("CHANDLERY_STATE")
    return Path(named).expanduser().absolute() if named else DEFAULT_STATE


def config_dir() -> Path:
    """``$CHANDLERY_CONFIG``, else ``chandlery`` in the user's configuration directory (XDG). Not created here."""
    return _of_user("CHANDLERY_CONFIG", "XDG_CONFIG_HOME", ".config")


def cache_dir() -> Path:
    """``$CHANDLERY_CACHE``, else ``chandlery`` in the user's cache directory (XDG). Not created here."""
    return _of_user("CHANDLERY_CACHE", "XDG_CACHE_HOME", ".cache")


def _of_user(own: str, xdg: str, hidden: str) -> Path:
    """The directory that the variable ``own`` names, else ours in the one that ``xdg`` names, else in ``hidden`` at home."""
    named, base = os.environ.get(own), os.environ.get(xdg)
    if named:
        return Path(named).expanduser().absolute()
    return (Path(base) if base else Path.home() / hidden).absolute() / "chandlery"
