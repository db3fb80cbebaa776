"""Figures: an assessment as one picture or panel by panel, curves of several models, and intervals with calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import evenly
from uccurve._vocabulary import HEADLINE, Axes, Unit
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import Curve
from uccurve.view import LIGHT, MODELS
from uccurve.words.formats import share

from . import _panels as panels
from . import _pockets as pocket_map
from ._drawing import (
    GREY,
    SHARED,
    Style,
    characters,
    in_lines,
    mark,
    new_axes,
    new_figure,
    root_figure,
    styled,
    tidy,
)
from .display import UCCDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure, SubFigure

    from uccurve.results import Assessment

Panel = Literal[
    "half_width", "calibration", "curves", "decomposition", "segments", "pit", "pockets"
]
Drawn = Callable[["Assessment", "PlotAxes"], None]
DRAWN: Mapping[Panel, Drawn] = {
    "half_width": panels.half_widths,
    "calibration": panels.levels,
    "decomposition": panels.decomposition,
    "segments": panels.segments,
    "pockets": pocket_map.panel,
}
WIDE, HIGH = 12.0, 8.0  # inches of the largest picture
COLUMN = 6.5  # inches below which panels stand one below the other


def assessment(
    result: Assessment,
    panel: Panel | None = None,
    *,
    axes: Axes | None = None,
    ax: PlotAxes | None = None,
    width: float | None = None,
    height: float | None = None,
    style: Style = "uccurve",
) -> Figure:
    """Draw an assessment in one figure of at most 12 x 8 inches, or one of its panels alone.

    Parameters
    ----------
    panel : {"half_width", "calibration", "curves", "decomposition", "segments", "pit", "pockets"}, optional
        "pit" needs models of several levels, "pockets" an assessment with features. Without a panel: half-widths at the
        target, calibration, curves and decomposition of the best models.
    axes : tuple of str, optional
        Of the curves; by default those of the assessment.
    ax : matplotlib Axes, optional
        Where to draw one panel; of PIT histograms that of the best model.
    width, height : float, optional
        Inches of the figure, such as a width of 3.4 for a paper's column, or 12 x 7 for a slide. What there is no room
        for is left out, and the titles say so.
    style : "uccurve" or None
        None leaves the sizes and fonts of matplotlib's rcParams as they are.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> figure = assessment(assess({"A": iv, "B": iv.constant()}, coverage=0.5), "calibration")
    >>> figure.axes[0].get_xlabel()
    'coverage as delivered, % (dashed: 50% promised)'
    """
    chosen = checks.axes(result.settings.axes if axes is None else axes)
    if ax is not None and panel is None:
        raise ValueError(
            '`ax` takes one panel of an assessment, such as "calibration"; this picture needs several.'
        )
    if panel is not None:
        checks.choice("panel", panel, get_args(Panel))
    with styled(style):
        if panel is None:
            return _overview(result, chosen, (width, height), style)
        if ax is not None:
            _draw(result, panel, chosen, ax, None)
            return root_figure(ax)
        size = _size(result, panel, width)
        figure = new_figure((size[0], height or size[1]), style)
        _draw(result, panel, chosen, None, figure)
        return figure


def _draw(
    result: Assessment,
    panel: Panel,
    axes: Axes,
    ax: PlotAxes | None,
    figure: Figure | SubFigure | None,
) -> None:
    """Draw one panel on axes, or on a figure of its own."""
    if panel == "pit":
        panels.pit(result, cast("Figure", figure), ax)
        return
    ax = ax or cast("Figure", figure).add_subplot()
    if panel == "curves":
        panels.curves(result, ax, axes)
    else:
        DRAWN[panel](result, ax)


def _size(result: Assessment, panel: Panel, width: float | None) -> tuple[float, float]:
    """Inches of a panel alone."""
    narrow = width is not None and width < panels.NARROW
    listed = min(len(result), panels.LISTED)
    if panel == "pit":
        return _pit_size(result, width)
    if panel == "segments":
        titles = len({segment.title for segment in result.segments})
        lines = min(titles, panels.LINES)
        return width or min(WIDE, 4.6 + 0.6 * listed), min(HIGH, 2.6 + 0.25 * lines)
    return width or 7.0, _height(result, panel, listed, narrow=narrow)


def _pit_size(result: Assessment, width: float | None) -> tuple[float, float]:
    """Inches of PIT histograms, each on axes of its own."""
    count = min(len(result), panels.MULTIPLES)
    columns = min(count, 3, max(1, int((width or WIDE) / 1.6)))
    return width or 1.2 + 3.4 * columns, min(HIGH, 1.1 + 2.4 * ceil(count / columns))


def _height(result: Assessment, panel: Panel, listed: int, *, narrow: bool) -> float:
    """Inches of a panel whose width does not depend on what is shown."""
    named = min(listed, len(MODELS))
    of_levels = any(len(row.levels) > 1 for row in result.rows)
    if panel == "curves":
        return 3.3 + 0.23 * (named + 1) if narrow else 4.6
    if panel == "calibration" and of_levels:
        return 3.1 + 0.22 * named if narrow else 4.4
    if panel == "decomposition":
        each = (1.25 if narrow else 1.0) * panels.BLOCK
        return min(HIGH, 1.5 + each * listed)
    if panel == "pockets":
        return 5.2
    return min(HIGH, 1.7 + (0.42 if narrow else 0.3) * listed)


def _overview(
    result: Assessment, axes: Axes, size: tuple[float | None, float | None], style: Style
) -> Figure:
    """Half-widths and calibration above, curves and decomposition below; one below the other in a column."""
    width, height = size
    wide = width or WIDE
    drawn: list[Panel] = ["half_width", "calibration", "curves", "decomposition"]
    columns = 1 if wide < COLUMN else 2
    each = wide / columns
    heights = [_size(result, panel, each)[1] for panel in drawn]
    heights[3] = min(heights[3], 4.0)
    rows = [max(heights[place : place + columns]) for place in range(0, 4, columns)]
    natural = sum(rows) + 0.5
    high = min(HIGH, natural) if columns > 1 else natural
    figure = new_figure((wide, height or high), style)
    letters = "large" if columns > 1 else "medium"
    headline = in_lines(result.verdict.headline, characters(wide - 0.2, letters, bold=True))
    text = figure.suptitle(headline, x=0.01, ha="left", fontsize=letters, fontweight="bold")
    text.set_parse_math(False)
    grid = figure.subfigures(len(rows), columns, height_ratios=rows, squeeze=False)
    for part, panel in zip(grid.flat, drawn, strict=True):
        if panel == "calibration":
            panels.calibration(result, part.add_subplot())
        else:
            _draw(result, panel, axes, None, part)
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
        props: Any = {
            "marker": "D",
            "markersize": 5,
            "markeredgecolor": "black",
            "markerfacecolor": "none",
        }
        mark(ax, *points.T, label="crossing", zorder=3.2, gid=SHARED, **props)
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
    bars = [("as delivered", before, LIGHT["other"], max(room, 1.5))]
    bars += (
        [("calibrated", after, LIGHT["accent"], max(0.4 * room, 0.8))] if after is not None else []
    )
    for label, iv, color, width in bars:
        text = f"{label}: covers {share(1 - UCC(iv).at(1.0).miss_rate)}"
        props: Any = {"color": color, "linewidth": width, "alpha": 0.55, "zorder": 2, "label": text}
        ax.vlines(place, iv.lower.ravel()[rows], iv.upper.ravel()[rows], **props)
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
        color=LIGHT["broken"],
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
