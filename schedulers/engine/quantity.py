"""Kubernetes quantities as numbers and back."""

from __future__ import annotations

import re

from base.errors import InvalidInput

_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}
_DECIMAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


def parse(value: str | int | float) -> float:
    """``"500m"`` is 0.5, ``"2Gi"`` is 2147483648.0. InvalidInput for anything that is no quantity."""
    if isinstance(value, (int, float)):
        return float(value)
    text = value.strip()
    for suffixes in (_BINARY, _DECIMAL):
        for suffix, factor in suffixes.items():
            if text.endswith(suffix):
                return _number(text[: -len(suffix)], value) * factor
    return _number(text, value)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(f"{whole!r} is no Kubernetes quantity") from error


def count(amount: float) -> str:
    """A number of things: ``2``, or ``500m`` for half a thing."""
    return str(int(amount)) if amount == int(amount) else f"{round(amount * 1000)}m"


def cores(millicores: float) -> str:
    """CPU in the shortest exact form: ``2`` or ``1500m``."""
    return count(millicores / 1000)


def size(amount: float) -> str:
    """Bytes in the largest binary unit that divides them: ``512Mi``."""
    whole = int(amount)
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        unit = int(_BINARY[suffix])
        if whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)


_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_STEP = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")


def duration(text: str | None) -> float | None:
    """Seconds of a duration as Go writes it (``1h30m``, ``-1s``, ``0``); None for none. InvalidInput for anything else."""
    if text is None or text == "":
        return None
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text[1:] if text[0] in "+-" else text
    steps = _STEP.findall(rest)
    if rest != "0" and (not steps or "".join(amount + unit for amount, unit in steps) != rest):
        raise InvalidInput(f"{text!r} is no duration")
    return sign * sum(float(amount) * _SECONDS[unit] for amount, unit in steps)
