"""Maps: the coverage as shipped on the two features that tell most about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uccurve._arrays import Indices
from uccurve._vocabulary import Array
from uccurve.pockets.features import Feature
from uccurve.pockets.misses import ShippedRows
from uccurve.pockets.results import FeatureMap, MapAxis

CELLS = 12  # along each axis
OTHERS = "others"


def feature_map(
    model: ShippedRows, features: Sequence[Feature], strength: Array
) -> FeatureMap | None:
    """Return the map of the two strongest features; None where fewer than two tell anything."""
    strongest = np.argsort(-strength, kind="stable")[:2]
    if len(strongest) < 2 or strength[strongest[0]] <= 0:
        return None
    x, across = _axis(features[strongest[0]])
    y, along = _axis(features[strongest[1]])
    shape = (_size(y), _size(x))
    cell = along * shape[1] + across
    rows = np.bincount(cell, minlength=shape[0] * shape[1])
    weights = np.bincount(cell, model.weights, len(rows))
    covered = np.bincount(cell, model.weights * model.covered, len(rows))
    shares = np.divide(covered, weights, out=np.full(len(rows), np.nan), where=weights > 0)
    return FeatureMap(
        x=x,
        y=y,
        coverage=tuple(map(tuple, shares.reshape(shape).tolist())),
        rows=tuple(map(tuple, rows.reshape(shape).tolist())),
    )


def _size(axis: MapAxis) -> int:
    """Number of places along an axis; missing values have the last one."""
    return len(axis.labels) if axis.labels else len(axis.edges)


def _axis(feature: Feature) -> tuple[MapAxis, Indices]:
    """Return an axis, and the place of each row along it."""
    if feature.kind in ("category", "flag"):
        return _label_axis(feature)
    known = feature.known
    known = known[np.isfinite(known)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, CELLS + 1)))
    place = np.searchsorted(edges[1:-1], feature.values, side="left")
    place[np.isnan(feature.values)] = len(edges) - 1
    return MapAxis(feature.name, feature.kind, edges=tuple(edges.tolist())), place


def _label_axis(feature: Feature) -> tuple[MapAxis, Indices]:
    names = feature.labels if feature.kind == "category" else ("no", "yes")
    code = np.where(np.isnan(feature.values), len(names), feature.values).astype(np.intp)
    counts = np.bincount(code, minlength=len(names) + 1)[:-1]
    shown = np.sort(np.argsort(-counts, kind="stable")[: CELLS - 1])
    place = np.full(len(names) + 1, len(shown))
    place[shown] = np.arange(len(shown))
    labels = (*(names[number] for number in shown), OTHERS)
    return MapAxis(feature.name, feature.kind, labels=labels), place[code]
