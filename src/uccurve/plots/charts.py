"""Charts: curves, intervals, calibration, PIT histograms, gains and segments, each from plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Axes, Unit
from uccurve.compare._formats import percent, share
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.protocol import Curve

from ._drawing import GREY, PALETTE, SHARED, beside, mark, new_axes, style, tidy
from ._thinning import Indices, evenly
from .display import UCCDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

Span = tuple[float, float, float]
"""An estimate and the two ends of its confidence interval."""
Reliability = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""Levels, the coverage that was observed at each, and the two ends of its confidence interval."""


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
        The maximum number of rows that are drawn, evenly chosen along x.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> ax = intervals(iv, after=iv.calibrated(scale=2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['as delivered: covers 66.7%', 'calibrated: covers 100%', 'prediction', 'observed, inside', 'observed, outside']
    """
    checks.choice("order", order, ("y_pred", "row"))
    ax = new_axes(ax, size=(8.0, 4.2))
    place, rows = _places(before, x, order, most)
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
    way = "along x" if x is not None else "by prediction" if order == "y_pred" else "in their order"
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
    """Draw gains with their confidence intervals: one row per model, one colour per pair of axes (a forest plot).

    Parameters
    ----------
    estimates : mapping from model to mapping from label to (estimate, low, high)

    Examples
    --------
    >>> ax = gains({"A": {"deficit": (0.2, 0.1, 0.3)}, "B": {"deficit": (-0.1, -0.3, 0.05)}})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['A', 'B']
    """
    labels = list(dict.fromkeys(label for spans in estimates.values() for label in spans))
    ax = new_axes(ax, size=(7.0, 1.2 + 0.28 * len(estimates) * max(len(labels), 1)))
    height = 0.8 / max(len(labels), 1)
    for index, label in enumerate(labels):
        rows = [(row, spans[label]) for row, spans in enumerate(estimates.values()) if label in spans]
        middle = np.array([span for _, span in rows], dtype=float) * 100
        y = np.array([row for row, _ in rows]) + (index - (len(labels) - 1) / 2) * height
        reach = np.abs(middle[:, 1:] - middle[:, :1]).T
        color = style(index)["color"]
        ax.errorbar(middle[:, 0], y, xerr=reach, fmt="o", color=color, label=label, capsize=3, markersize=5, lw=1.6)
        for at, value in zip(y, middle[:, 0] / 100, strict=True):
            beside(ax, at, percent(value), color)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlabel(f"{title}, %")
    tidy(ax, lines=list(estimates))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small", ncols=3)
    return ax


def segments(
    values: Mapping[str, Mapping[str, float]],
    *,
    marked: Iterable[tuple[str, str]] = (),
    centre: float = 0.0,
    label: str = "gain",
    title: str = "",
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw a share for each model and segment as a heat map, one row per segment; `marked` cells get a frame.

    Parameters
    ----------
    values : mapping from model to mapping from segment to share
    marked : pairs of model and segment
    centre : float
        The share that is drawn without colour, such as the coverage asked for.

    Examples
    --------
    >>> ax = segments({"A": {"north": 0.9, "south": 0.7}, "B": {"north": 0.8, "south": 0.9}}, marked=[("A", "south")])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['north', 'south']
    """
    from matplotlib.patches import Rectangle

    models, rows = list(values), list(dict.fromkeys(name for column in values.values() for name in column))
    table = np.array([[column.get(name, np.nan) for column in values.values()] for name in rows], dtype=float) * 100
    ax = new_axes(ax, size=(min(2.8 + 0.7 * len(models), 12), min(1.6 + 0.27 * len(rows), 8)))
    far = np.nan_to_num(table - 100 * centre)
    limit = float(np.abs(far).max()) or 1.0
    ax.imshow(table - 100 * centre, cmap="PuOr", vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        color = "white" if abs(far[row, column]) > 0.6 * limit else "black"
        text = f"{round(value) + 0.0:{'.0f' if centre else '+.0f'}}" if np.isfinite(value) else "–"
        ax.text(column, row, text, ha="center", va="center", color=color, fontsize="small")
    for model, name in marked:
        corner = (models.index(model) - 0.5, rows.index(name) - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="black", linewidth=1.6))
    slanted: Any = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"} if max(map(len, models)) > 8 else {}
    ax.set_xticks(range(len(models)), models, fontsize="small", **slanted)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    ax.set_yticks(range(len(rows)), rows, fontsize="small")
    ax.spines[:].set_visible(False)
    ax.set_title(title, loc="left", fontsize="medium")
    ax.set_xlabel(f"{label}, %")
    return ax


def calibration(models: Mapping[str, Reliability], *, ax: PlotAxes | None = None) -> PlotAxes:
    """Draw the observed coverage against the level that was promised, one line per model; the diagonal is calibrated.

    Parameters
    ----------
    models : mapping from name to (levels, observed, low, high)
        Levels, the share of the rows inside their interval at each, and the ends of its confidence interval.

    Examples
    --------
    >>> levels = [0.5, 0.8, 0.9]
    >>> ax = calibration({"A": (levels, [0.48, 0.77, 0.84], [0.45, 0.74, 0.81], [0.51, 0.8, 0.87])})
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('level, %', 'coverage as delivered, %')
    """
    ax = new_axes(ax, size=(5.2, 4.8))
    ax.axline((100, 100), slope=1, color=GREY, linewidth=1.2, linestyle=(0, (4, 2)), label="calibrated")
    for index, (name, columns) in enumerate(models.items()):
        levels, observed, low, high = (100 * np.asarray(column, dtype=float) for column in columns)
        reach = np.clip([observed - low, high - observed], 0, None)
        ax.errorbar(levels, observed, yerr=reach, marker="o", markersize=5, capsize=3, label=name, **style(index))
    ax.set(xlabel="level, %", ylabel="coverage as delivered, %")
    tidy(ax)
    beside: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(models) > 4 else {"loc": "upper left"}
    ax.legend(frameon=False, fontsize="small", **beside)
    return ax


def pit(
    edges: npt.ArrayLike,
    heights: npt.ArrayLike,
    *,
    band: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    name: str = "",
    ax: PlotAxes | None = None,
) -> PlotAxes:
    """Draw a histogram of PIT values, which is flat where predictive distributions are calibrated.

    Parameters
    ----------
    edges : array_like
        Ends of the bins, from 0 to 1.
    heights : array_like
        Density in each bin, one fewer than `edges`; 1 where the histogram is flat.
    band : pair of array_like or float, optional
        Low and high ends of a band that holds all heights at once with some confidence if the model is calibrated: one
        number each, or one per bin. Bins outside of it are coloured.

    Examples
    --------
    >>> ax = pit([0, 0.25, 0.5, 0.75, 1], [1.6, 0.7, 0.6, 1.1], band=(0.7, 1.3))
    >>> [float(bar.get_height()) for bar in ax.patches]
    [1.6, 0.7, 0.6, 1.1]
    """
    ax = new_axes(ax, size=(5.2, 3.4))
    ends, tall = np.asarray(edges, dtype=float), np.asarray(heights, dtype=float)
    low, high = np.broadcast_arrays(tall, *(band or (-np.inf, np.inf)))[1:]
    color = np.where((low <= tall) & (tall <= high), PALETTE[0], PALETTE[1])
    ax.bar(ends[:-1], tall, width=np.diff(ends), align="edge", color=color, edgecolor="white", alpha=0.85)
    if band is not None:
        look: Any = {"step": "post", "color": GREY, "alpha": 0.3, "linewidth": 0, "zorder": 2.5}
        ax.fill_between(ends, np.append(low, low[-1]), np.append(high, high[-1]), label="band if calibrated", **look)
    ax.axhline(1, color="black", linewidth=1.0, linestyle=(0, (4, 2)), label="calibrated")
    ax.set(xlabel="PIT", ylabel="density", xlim=(ends[0], ends[-1]), ylim=(0, 1.25 * max(tall.max(), 1.0)))
    ax.set_title(name, loc="left", fontsize="medium")
    tidy(ax)
    ax.legend(loc="upper center", frameon=False, fontsize="small", ncols=2)
    return ax


def _places(iv: Intervals, x: npt.ArrayLike | None, order: str, most: int) -> tuple[Any, Indices]:
    """Where the drawn rows stand, and which they are."""
    where = None if x is None else np.asarray(x)
    if where is not None and where.shape != iv.y_true.shape:
        raise ValueError(f"`x` must have the shape of the intervals, {iv.y_true.shape}; got {where.shape}.")
    along = where if where is not None else iv.y_pred if order == "y_pred" else np.arange(iv.y_true.size)
    ranks = np.argsort(along.ravel(), kind="stable")
    rows = ranks[evenly(len(ranks), most)]
    return (np.arange(len(rows)) if where is None else where.ravel()[rows]), rows


def _bars(ax: PlotAxes, iv: Intervals, at: tuple[Any, Indices], *, label: str, **look: Any) -> None:
    place, rows = at
    text = f"{label}: covers {share(1 - UCC(iv).at(1.0).miss_rate)}"
    ax.vlines(place, iv.lower.ravel()[rows], iv.upper.ravel()[rows], alpha=0.55, label=text, zorder=2, **look)
