"""Charts: the curves of several models, and intervals before and after calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from uccurve._checks import HEADLINE, Axes, Unit
from uccurve.compare._formats import share
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import Curve

from ._drawing import GREY, PALETTE, SHARED, mark, new_axes, tidy
from ._thinning import Indices, evenly
from .display import UCCDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes


def curves(
    models: Mapping[str, Intervals | Curve],
    *,
    ax: PlotAxes | None = None,
    axes: Axes = HEADLINE,
    unit: Unit = "raw",
    crossings: Iterable[tuple[float, float]] = (),
    **options: Any,
) -> PlotAxes:
    """Draw the curves of several models.

    Parameters
    ----------
    models : mapping from name to Intervals or curve
    crossings : pairs of x and y
        Points where curves cross, marked by diamonds.
    options
        As in `UCCDisplay.plot`, for every model.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> ax = curves({"A": iv, "B": iv.calibrated(scale=2)}, crossings=[(2, 0.5)])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['A (gain -14.3%)', 'B (gain -14.3%)', 'constant band', 'crossing', 'as delivered']
    """
    ax = new_axes(ax)
    points = np.array(list(crossings), dtype=float).reshape(-1, 2)
    if len(points):
        look: Any = {"marker": "D", "markersize": 5, "markeredgecolor": "black", "markerfacecolor": "none"}
        mark(ax, *points.T, label="crossing", zorder=3.2, gid=SHARED, **look)
    for name, model in models.items():
        curve = UCC(model) if isinstance(model, Intervals) else model
        UCCDisplay.from_ucc(curve, name=name, ax=ax, axes=axes, unit=unit, **options)
    return ax


def intervals(
    before: Intervals,
    *,
    after: Intervals | None = None,
    x: npt.ArrayLike | None = None,
    most: int = 100,
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw intervals with their observations, and how calibration changes them.

    Parameters
    ----------
    after : Intervals, optional
        The same rows after calibration.
    x : array_like, optional
        Where each row stands, such as a time or a feature. Without it rows stand side by side, by prediction.
    most : int
        The maximum number of rows that are drawn, evenly chosen along x.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> ax = intervals(iv, after=iv.calibrated(scale=2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['as delivered: covers 66.7%', 'calibrated: covers 100%', 'prediction', 'observed, inside', 'observed, outside']
    """
    ax = new_axes(ax, size=(8.0, 4.2))
    place, rows = _places(before, x, most)
    room = 0.72 * ax.get_window_extent().width * 72 / ax.figure.dpi / len(rows)
    _bars(ax, before, (place, rows), label="as delivered", color=PALETTE[5], linewidth=max(room, 1.5))
    if after is not None:
        _bars(ax, after, (place, rows), label="calibrated", color=PALETTE[0], linewidth=max(0.4 * room, 0.8))
    shown = after or before
    y, middle, low, high = (a.ravel()[rows] for a in (before.y_true, before.y_pred, shown.lower, shown.upper))
    inside = (low <= y) & (y <= high)
    dots: Any = {"linestyle": "none", "zorder": 2.8}
    ax.plot(place, middle, marker="_", color="black", markersize=4, label="prediction", **dots)
    ax.plot(place[inside], y[inside], marker="o", color=GREY, markersize=3, label="observed, inside", **dots)
    ax.plot(place[~inside], y[~inside], marker="X", color=PALETTE[1], markersize=6, label="observed, outside", **dots)
    count = f"{len(rows):,}" if len(rows) == before.y_true.size else f"{len(rows):,} of {before.y_true.size:,}"
    ax.set(xlabel=f"{count} rows, {'by prediction' if x is None else 'along x'}", ylabel="y")
    tidy(ax)
    ax.legend(loc="best", framealpha=0.85, edgecolor="none", fontsize="small")
    return ax


def _places(iv: Intervals, x: npt.ArrayLike | None, most: int) -> tuple[Any, Indices]:
    """Where the drawn rows stand, and which they are."""
    where = iv.y_pred if x is None else np.asarray(x)
    if where.shape != iv.y_true.shape:
        raise ValueError(f"`x` must have the shape of the intervals, {iv.y_true.shape}; got {where.shape}.")
    ranks = np.argsort(where.ravel(), kind="stable")
    rows = ranks[evenly(len(ranks), most)]
    return (np.arange(len(rows)) if x is None else where.ravel()[rows]), rows


def _bars(ax: PlotAxes, iv: Intervals, at: tuple[Any, Indices], *, label: str, **look: Any) -> None:
    place, rows = at
    text = f"{label}: covers {share(1 - UCC(iv).at(1.0).miss_rate)}"
    ax.vlines(place, iv.lower.ravel()[rows], iv.upper.ravel()[rows], alpha=0.55, label=text, zorder=2, **look)
