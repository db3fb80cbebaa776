"""Plots: many curves, intervals before and after calibration, gains with their intervals, segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Axes, Unit
from uccurve.compare.assess import GAINS
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._drawing import GREY, PALETTE, SHARED, mark, new_axes, new_figure, percent, style, tidy
from .display import UCCDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure

    from uccurve.compare.assessment import Assessment, ModelRow

Span = tuple[float, float, float]
"""An estimate and the two ends of its confidence interval."""
MARKED = 20
"""Crossings that are marked at most: curves that run together cross at every other step."""


def curves(
    models: Mapping[str, Any],
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
    models : mapping from name to Intervals, UCC or what answers like one
    crossings : pairs of x and y
        Points where curves cross, marked by diamonds.
    options
        As in `UCCDisplay.plot`, for every model.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> ax = curves({"A": iv, "B": iv.calibrated(scale=2)}, crossings=[(2, 0.5)])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['A (gain -14.3 %)', 'B (gain -14.3 %)', 'constant band', 'crossing', 'as delivered']
    """
    ax = new_axes(ax)
    points = np.array(list(crossings), dtype=float).reshape(-1, 2)
    if len(points):
        look: Any = {"marker": "D", "markersize": 5, "markeredgecolor": "black", "markerfacecolor": "none"}
        mark(ax, *points.T, label="crossing", zorder=3.2, gid=SHARED, **look)
    for name, model in models.items():
        ucc = UCC(model) if isinstance(model, Intervals) else model
        UCCDisplay.from_ucc(ucc, name=name, ax=ax, axes=axes, unit=unit, **options)
    return ax


def intervals(
    before: Intervals,
    *,
    after: Intervals | None = None,
    x: npt.ArrayLike | None = None,
    order: Literal["y_pred", "row"] = "y_pred",
    most: int = 100,
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw intervals with their observations, and how calibration changes them.

    Parameters
    ----------
    after : Intervals, optional
        The same rows after calibration.
    x : array_like, optional
        Where each row stands, such as a time or a feature. Without it rows stand side by side, in `order`.
    order : {"y_pred", "row"}
        By prediction, or as they come.
    most : int
        At most so many rows are drawn, evenly chosen along x.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> ax = intervals(iv, after=iv.calibrated(scale=2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['delivered: misses 33.3 %', 'calibrated: misses 0.0 %', 'prediction', 'observed, inside', 'observed, outside']
    """
    checks.choice("order", order, ("y_pred", "row"))
    ax = new_axes(ax, size=(8.0, 4.2))
    place, rows = _places(before, x, order, most)
    room = 0.72 * ax.get_window_extent().width * 72 / ax.figure.dpi / len(rows)
    _bars(ax, before, (place, rows), label="delivered", color=PALETTE[5], linewidth=max(room, 1.5))
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
    way = "along x" if x is not None else "by prediction" if order == "y_pred" else "as they come"
    ax.set(xlabel=f"{count} rows, {way}", ylabel="y")
    tidy(ax)
    ax.legend(loc="best", framealpha=0.85, edgecolor="none", fontsize="small")
    return ax


def gains(
    estimates: Mapping[str, Mapping[str, Span]],
    *,
    ax: PlotAxes | None = None,
    title: str = "gain over the constant band",
) -> PlotAxes:
    """Draw gains with their confidence intervals, one row a model, one colour a pair of axes (a forest plot).

    Parameters
    ----------
    estimates : mapping from model to mapping from label to (estimate, low, high)

    Examples
    --------
    >>> ax = gains({"A": {"bandwidth/miss_rate": (0.2, 0.1, 0.3)}, "B": {"bandwidth/miss_rate": (-0.1, -0.3, 0.05)}})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['A', 'B']
    """
    labels = list(dict.fromkeys(label for spans in estimates.values() for label in spans))
    ax = new_axes(ax, size=(7.0, 1.2 + 0.28 * len(estimates) * max(len(labels), 1)))
    height = 0.7 / max(len(labels), 1)
    for index, label in enumerate(labels):
        rows = [(row, spans[label]) for row, spans in enumerate(estimates.values()) if label in spans]
        middle = np.array([span for _, span in rows], dtype=float) * 100
        y = np.array([row for row, _ in rows]) + (index - (len(labels) - 1) / 2) * height
        reach = np.abs(middle[:, 1:] - middle[:, :1]).T
        color = style(index)["color"]
        ax.errorbar(middle[:, 0], y, xerr=reach, fmt="o", color=color, label=label, capsize=3, markersize=5, lw=1.6)
        for at, value in zip(y, middle, strict=True):
            note: Any = {"xytext": (6, 0), "textcoords": "offset points", "fontsize": "x-small", "color": color}
            ax.annotate(percent(value[0] / 100), (value[1:].max(), at), va="center", **note)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.margins(x=0.12)
    ax.set_yticks(range(len(estimates)), list(estimates))
    ax.set_ylim(len(estimates) - 0.5, -0.5)
    ax.set_xlabel(f"{title}, %")
    tidy(ax)
    ax.grid(False, axis="y")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small", ncols=3)
    return ax


def segments(
    values: Mapping[str, Mapping[str, float]],
    *,
    marked: Iterable[tuple[str, str]] = (),
    label: str = "gain",
    title: str = "",
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw a number for each model and segment as a heat map; `marked` cells (model, segment) get a frame.

    Examples
    --------
    >>> ax = segments({"A": {"north": 0.2, "south": -0.4}, "B": {"north": 0.1, "south": 0.3}}, marked=[("A", "south")])
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['north', 'south']
    """
    from matplotlib.patches import Rectangle

    columns = list(dict.fromkeys(name for row in values.values() for name in row))
    table = np.array([[row.get(name, np.nan) for name in columns] for row in values.values()], dtype=float) * 100
    ax = new_axes(ax, size=(2.5 + 0.8 * len(columns), 1.6 + 0.42 * len(values)))
    finite = table[np.isfinite(table)]
    limit = float(np.abs(finite).max()) if len(finite) and finite.any() else 1.0
    image = ax.imshow(table, cmap="PuOr", vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        color = "white" if abs(value) > 0.6 * limit else "black"
        text = f"{round(value) + 0.0:+.0f}" if np.isfinite(value) else "–"
        ax.text(column, row, text, ha="center", va="center", color=color)
    for model, name in marked:
        corner = (columns.index(name) - 0.5, list(values).index(model) - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="black", linewidth=2))
    long = sum(map(len, columns)) > 80
    ax.set_xticks(range(len(columns)), columns, rotation=20 * long, ha="right" if long else "center", fontsize="small")
    ax.set_yticks(range(len(values)), list(values))
    ax.spines[:].set_visible(False)
    ax.set_title(title, loc="left", fontsize="medium")
    ax.figure.colorbar(image, cax=ax.inset_axes((1.02, 0, 0.02, 1)), label=f"{label}, %")
    return ax


def assessment(found: Assessment, *, axes: Axes | None = None) -> Figure:
    """Draw an assessment: curves with their crossings, gains with their intervals, and segments where there are any.

    Raw curves compare only where the models share their predictions; elsewhere each gets axes of its own, beside its
    constant band.

    Examples
    --------
    >>> from uccurve import assess
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> len(assessment(assess({"A": iv, "B": iv.constant()}, n_resamples=99)).axes)
    2
    """
    axes, unit = axes or found.settings.axes, found.settings.unit
    groups = [found.intervals] if found.comparable else [{name: iv} for name, iv in found.intervals.items()]
    heights = [4.2, 1.0 + 0.42 * len(found.rows)] if found.segments else [4.2]
    figure = new_figure((5.4 * (len(groups) + 1), sum(heights)))
    grid = figure.add_gridspec(len(heights), len(groups) + 1, height_ratios=heights)
    same = found.comparable and axes == found.settings.axes
    points = [(point.x, point.y) for one in found.crossings for point in one.points] if same else []
    for column, models in enumerate(groups):
        curves(models, ax=figure.add_subplot(grid[0, column]), axes=axes, unit=unit, crossings=points[:MARKED])
    gains({row.name: _spans(row) for row in found.rows}, ax=figure.add_subplot(grid[0, -1]))
    if found.segments:
        values: dict[str, dict[str, float]] = {row.name: {} for row in found.rows}
        for one in found.segments:
            values[one.row.name][f"{one.feature}: {one.label}"] = one.row.gain_excess_deficit
        failing = [(one.row.name, f"{one.feature}: {one.label}") for one in found.failing]
        title = "gain on excess/deficit by segment, %; a frame marks what misses too many"
        segments(values, marked=failing, title=title, ax=figure.add_subplot(grid[1, :]))
    return figure


def _spans(row: ModelRow) -> dict[str, Span]:
    spans = {"/".join(axes): tuple(getattr(row, name + end) for end in ("", "_low", "_high")) for name, axes in GAINS}
    return {label: span for label, span in spans.items() if np.isfinite(span).all()}


def _places(iv: Intervals, x: npt.ArrayLike | None, order: str, most: int) -> tuple[Any, npt.NDArray[np.intp]]:
    """Where the drawn rows stand, and which they are."""
    where = None if x is None else np.asarray(x)
    if where is not None and where.shape != iv.y_true.shape:
        raise ValueError(f"`x` must have the shape of the intervals: {where.shape} against {iv.y_true.shape}.")
    along = where if where is not None else iv.y_pred if order == "y_pred" else np.arange(iv.y_true.size)
    ranks = np.argsort(along.ravel(), kind="stable")
    rows = ranks[np.unique(np.linspace(0, len(ranks) - 1, min(most, len(ranks))).round().astype(np.intp))]
    return (np.arange(len(rows)) if where is None else where.ravel()[rows]), rows


def _bars(ax: PlotAxes, iv: Intervals, at: tuple[Any, npt.NDArray[np.intp]], *, label: str, **look: Any) -> None:
    place, rows = at
    missed = (iv.y_true < iv.lower) | (iv.y_true > iv.upper)
    text = f"{label}: misses {100 * float(np.sum(missed * iv.weight)):.1f} %"
    ax.vlines(place, iv.lower.ravel()[rows], iv.upper.ravel()[rows], alpha=0.55, label=text, zorder=2, **look)
