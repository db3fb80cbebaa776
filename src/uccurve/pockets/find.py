"""Find: the regions of the features where the shipped intervals of each model fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve.assess.decided import t_of
from uccurve.assess.missing import kept_rows
from uccurve.assess.models import curves_by_name
from uccurve.curve import UCC
from uccurve.estimate import UNKNOWN, Estimate, Move, MoveKind
from uccurve.evidence.intervals import checked_level
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.pockets.misses import Asked, ShippedRows, conformal_move, moved
from uccurve.pockets.results import Pockets
from uccurve.pockets.search import Sources, pockets_in

if TYPE_CHECKING:
    from uccurve.assess.memory import RowsSource
    from uccurve.results import AssessmentSettings, Verdict


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
    given = curves_by_name(models, rows)
    first = next(iter(given.curves.values())).intervals
    blocks = Blocks.of(first, block, repeated=given.repeated)
    asked = Asked(alpha, checked_level(confidence_level), seed)
    shipped = [shipped_rows(name, curve, asked) for name, curve in given.curves.items()]
    kept = kept_rows(next(iter(given.curves.values())))
    return pockets_in(
        shipped, features, blocks.of_row, asked, sources=Sources(blocks.row, len(first), kept)
    )


def shipped_rows(name: str, curve: UCC, asked: Asked) -> ShippedRows:
    """Return a model with the conformal factor (or shift) for the coverage that was asked for."""
    path = curve.delivered_curve(1 - asked.alpha).path()
    kind: MoveKind = "shift" if path.vary == "shift" else "scale"
    none_covered = np.zeros(len(path), np.bool_)
    model = ShippedRows(name, none_covered, path.critical, Move(kind, UNKNOWN), path.weight)
    return moved(model, conformal_move(model, asked.alpha))


def pockets_of_sources(
    sources: Sequence[RowsSource], verdict: Verdict, features: Any, settings: AssessmentSettings
) -> Pockets:
    """Find the pockets of assessed models: of the one that ships with the verdict's factor, of others with their own.

    Models that have rows of their own are left out, but for the one that ships.
    """
    chosen = next(source for source in sources if source.name == verdict.model)
    same_rows = [source for source in sources if source.units is chosen.units]
    shipped = [_as_assessed(source, verdict) for source in same_rows]
    asked = Asked(chosen.alpha, settings.confidence_level, settings.seed or 0)
    units = chosen.units
    rows = Sources(units.row, units.given, kept_rows(chosen.curve))
    return pockets_in(shipped, features, units.of_row, asked, sources=rows)


def _as_assessed(source: RowsSource, verdict: Verdict) -> ShippedRows:
    """Return an assessed model as it ships."""
    path = source.path
    t = t_of(verdict) if source.name == verdict.model else source.t
    move = Move(source.kind, Estimate(t))
    return ShippedRows(source.name, source.covered_at(t), path.critical, move, path.weight)
