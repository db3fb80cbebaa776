"""Find: the regions of the features where the shipped intervals of each model fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._paths import Path, ScalePath, ShiftPath
from uccurve.assess.models import curves_by_name
from uccurve.curve import UCC
from uccurve.estimate import UNKNOWN, Move, MoveKind
from uccurve.evidence.tests import checked_level
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.pockets.misses import Asked, Shipped, conformal_move, moved
from uccurve.pockets.results import Pockets
from uccurve.pockets.search import pockets_in


def find_pockets(
    models: Intervals | UCC | Mapping[Any, Any],
    features: Any,
    *,
    coverage: float = 0.9,
    rows: Sequence[Any] | None = None,
    block: int | npt.ArrayLike | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> Pockets:
    """Find the regions of the features where shipped intervals fail, without being told where to look.

    Parameters
    ----------
    models : Intervals, UCC, or mapping from names to models
        As for `assess`. What ships is each model's intervals with the conformal factor (or shift) for `coverage`.
    features : data frame or mapping from name to array
        One value per row: numbers, dates, booleans or labels; missing values are allowed.
    coverage : float
        The coverage that is promised.
    rows, block
        As for `assess`. Blocks stay whole: none is on both sides of a split.
    confidence_level : float
    seed : int
        Of the random order in which blocks are learnt from and tested.

    Returns
    -------
    Pockets
        `len()` of it is the number of pockets found.

    Notes
    -----
    First one test for each model: can a miss be predicted from the features? Boosted trees learn on 40%, 60% and 80% of
    the rows and predict the next fifth each time; p-values are adjusted over models. Where misses can be predicted, a
    tree of at most 8 regions, of at least 5% of the rows each, is grown on one half of the blocks and tested on the
    other, then the halves are swapped. Regions are tested on both sides, by the binomial tail with the effective number
    of rows, and adjusted by Holm's method. Both tests hold at most 5% false alarms; scikit-learn is needed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> temp, weekend = rng.uniform(10, 40, 4000), rng.uniform(size=4000) < 0.3
    >>> y = rng.normal(size=4000) * np.where((temp > 30) & weekend, 2.5, 1.0)
    >>> iv = Intervals.from_std(y, np.zeros(4000), np.ones(4000))
    >>> found = find_pockets(iv, {"temp": temp, "weekend": weekend}, coverage=0.9)
    >>> [pocket.title for pocket in found]
    ['weekend and temp > 30.2']
    """
    alpha = checks.miss_rate_of(coverage)
    curves, repeated = curves_by_name(models, rows)
    first = next(iter(curves.values()))
    blocks = Blocks.of(first.intervals, block, row_ids=repeated)
    asked = Asked(alpha, checked_level(confidence_level), seed)
    shipped = [shipped_model(name, curve, asked) for name, curve in curves.items()]
    return pockets_in(shipped, features, blocks.of_row, asked, row=blocks.row, total=len(first.intervals))


def shipped_model(name: str, curve: UCC, asked: Asked) -> Shipped:
    """Return a model with the conformal factor (or shift) for the coverage that was asked for."""
    path = path_of(curve, float(1 - asked.alpha))
    critical = path.critical * path.t_unit
    flags = np.zeros(len(path), np.bool_)
    kind: MoveKind = "shift" if path.vary == "shift" else "scale"
    delivered = Shipped(name, flags, critical, Move(kind, UNKNOWN), path.weight)
    return moved(delivered, conformal_move(delivered, asked.alpha))


def path_of(curve: UCC, coverage: float) -> Path:
    """Return the rows of the intervals that are delivered for a coverage."""
    if curve.levels:
        return ScalePath.of(curve.intervals_at(level=min(coverage, curve.levels[-1])))
    path: Path = ShiftPath.of(curve.intervals) if curve.vary == "shift" else ScalePath.of(curve.intervals)
    return path
