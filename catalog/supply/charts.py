"""A chart's own default values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalog.model import AddonVersion, PackageSource
from catalog.package.packager import Packager
from catalog.plan import PlanItem
from catalog.supply.changes import Side

__all__ = ["chart_defaults", "side_of"]


def chart_defaults(packager: Packager, version: AddonVersion) -> Mapping[str, Any]:
    """``values.yaml`` of a chart; empty for a package of ours, which has none. Errors as :meth:`Packager.chart` raises them."""
    if isinstance(version.source, PackageSource):
        return {}
    import helm_python

    with helm_python.Chart.load_archive(packager.chart(version.addon, version.version).archive) as chart:
        return dict(chart.values)


def side_of(packager: Packager, item: PlanItem, version: AddonVersion) -> Side:
    """One side of a comparison: the version, what it renders, and with which values."""
    return Side(version, packager.render(item), chart_defaults(packager, version), item.values)
