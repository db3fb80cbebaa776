"""Figures: an assessment as one picture or panel by panel, curves of several models, and intervals with calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import evenly
from uccurve._vocabulary import HEADLINE, Axes, Unit
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import Curve
from uccurve.words.formats import share

from . import _panels as panels
from ._drawing import GREY, PALETTE, SHARED, mark, new_axes, new_figure, tidy
from .display import UCCDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure

    from uccurve.results import Assessment

Panel = Literal["half_width", "calibration", "curves", "decomposition", "segments", "pit"]
DRAWN: Mapping[Panel, Callable[[Assessment, PlotAxes], None]] = {
    "half_width": panels.half_widths,
    "calibration": panels.levels,
    "decomposition": panels.decomposition,
    "segments": panels.segments,
}
WIDE, HIGH = 12.0, 8.0  # inches of the largest picture


def assessment(
    found: Assessment,
    panel: Panel | None = None,
    *,
    axes: Axes | None = None,
    ax: PlotAxes | None = None,
) -> Figure:
    """Draw an assessment in one figure of at most 12 x 8 inches, or one of its panels alone.

    Parameters
    ----------
    panel : {"half_width", "calibration", "curves", "decomposition", "segments", "pit"}, optional
        "pit" needs models of several levels. Without a panel: half-widths at the target, calibration, curves and
        decomposition of the best models.
    axes : tuple of str, optional
        Of the curves; by default those of the assessment.
    ax : matplotlib Axes, optional
        Where to draw a panel other than the curves; of PIT histograms that of the best model.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> figure = assessment(assess({"A": iv, "B": iv.constant()}, coverage=0.5), "calibration")
    >>> figure.axes[0].get_xlabel()
    'coverage as delivered, %'
    """
    chosen = checks.axes(found.settings.axes if axes is None else axes)
    if ax is not None and panel in (None, "curves"):
        raise ValueError(
            '`ax` takes one panel of an assessment, such as "calibration"; this picture needs several.'
        )
    if panel is None:
        return _overview(found, chosen)
    checks.choice("panel", panel, get_args(Panel))
    figure: Figure = new_figure(_size(found, panel)) if ax is None else ax.get_figure(root=True)  # type: ignore[assignment]
    if panel == "curves":
        panels.curves(found, figure, chosen)
    elif panel == "pit":
        panels.pit(found, figure, ax)
    else:
        DRAWN[panel](found, ax or figure.add_subplot())
    return figure


def _size(found: Assessment, panel: Panel) -> tuple[float, float]:
    """Inches of a panel alone."""
    listed = min(len(found), panels.LISTED)
    if panel in ("curves", "pit"):
        count = min(len(found), panels.MULTIPLES)
        return 1.2 + 3.4 * min(count, 3), 3.4 * ceil(count / 3)
    if panel == "segments":
        return min(WIDE, 3.6 + 0.7 * listed), min(
            HIGH, 2.0 + 0.28 * len({one.title for one in found.segments})
        )
    if panel == "calibration" and any(row.levels for row in found.rows):
        return 6.4, 4.8
    return 7.0, min(HIGH, 1.3 + (1.0 if panel == "decomposition" else 0.42) * listed)


def _overview(found: Assessment, axes: Axes) -> Figure:
    """Half-widths and calibration above, curves and decomposition below."""
    above, below = 0.95 + 0.26 * min(len(found), panels.LISTED), 4.0 if len(found) > 3 else 3.4
    figure = new_figure((WIDE, min(HIGH, above + below)))
    figure.suptitle(found.verdict.headline, x=0.01, ha="left", fontsize="large", fontweight="bold")
    rows: Any = figure.subfigures(2, 1, height_ratios=[above, below])
    left, right = rows[0].subplots(1, 2)
    panels.half_widths(found, left)
    panels.calibration(found, right)
    beside, under = rows[1].subfigures(1, 2)
    panels.curves(found, beside, axes)
    panels.decomposition(found, under.subplots(), most=4)
    return figure


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
        look: Any = {
            "marker": "D",
            "markersize": 5,
            "markeredgecolor": "black",
            "markerfacecolor": "none",
        }
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
    where = before.y_pred if x is None else np.asarray(x)
    if where.shape != before.y_true.shape:
        raise ValueError(
            f"`x` must have the shape of the intervals, {before.y_true.shape}; got {where.shape}."
        )
    order = np.argsort(where.ravel(), kind="stable")
    rows = order[evenly(len(order), most)]
    place = np.arange(len(rows)) if x is None else where.ravel()[rows]
    ax = new_axes(ax, size=(8.0, 4.2))
    room = 0.72 * ax.get_window_extent().width * 72 / ax.figure.dpi / len(rows)
    bars = [("as delivered", before, PALETTE[5], max(room, 1.5))]
    bars += [("calibrated", after, PALETTE[0], max(0.4 * room, 0.8))] if after is not None else []
    for label, iv, color, width in bars:
        text = f"{label}: covers {share(1 - UCC(iv).at(1.0).miss_rate)}"
        look: Any = {"color": color, "linewidth": width, "alpha": 0.55, "zorder": 2, "label": text}
        ax.vlines(place, iv.lower.ravel()[rows], iv.upper.ravel()[rows], **look)
    shown = after or before
    y, middle, low, high = (
        a.ravel()[rows] for a in (before.y_true, before.y_pred, shown.lower, shown.upper)
    )
    inside = (low <= y) & (y <= high)
    dots: Any = {"linestyle": "none", "zorder": 2.8}
    ax.plot(place, middle, marker="_", color="black", markersize=4, label="prediction", **dots)
    ax.plot(
        place[inside],
        y[inside],
        marker="o",
        color=GREY,
        markersize=3,
        label="observed, inside",
        **dots,
    )
    ax.plot(
        place[~inside],
        y[~inside],
        marker="X",
        color=PALETTE[1],
        markersize=6,
        label="observed, outside",
        **dots,
    )
    count = (
        f"{len(rows):,}"
        if len(rows) == before.y_true.size
        else f"{len(rows):,} of {before.y_true.size:,}"
    )
    ax.set(xlabel=f"{count} rows, {'by prediction' if x is None else 'along x'}", ylabel="y")
    tidy(ax)
    ax.legend(loc="best", framealpha=0.85, edgecolor="none", fontsize="small")
    return ax
