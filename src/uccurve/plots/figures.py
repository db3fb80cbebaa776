"""Figures: an assessment as one picture for a paper or a boss, or any of its panels alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, get_args

from uccurve import _checks as checks
from uccurve._checks import Array, Axes
from uccurve.compare._case import change
from uccurve.compare._formats import coverage, short

from . import _panels as panels
from ._curves import constant_curve, delivered_at
from ._drawing import GREY, mark_in_view, new_figure, path, style, tidy, title, view, visible
from .charts import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure, SubFigure

    from uccurve.compare.results import Assessment, ModelRow
    from uccurve.points import OperatingPoint
    from uccurve.protocol import Curve

__all__ = ["assessment", "curves"]

Line = tuple[Array, Array]
Panel = Literal["half_width", "calibration", "curves", "decomposition", "segments", "gains"]
DRAWN: Mapping[Panel, Callable[[Assessment, PlotAxes], None]] = {
    "half_width": panels.half_widths,
    "calibration": panels.calibration,
    "decomposition": panels.decomposition,
    "segments": panels.segments,
    "gains": panels.gains,
}
WIDE, HIGH = 12.0, 8.0
"""Inches of the largest picture."""
LISTED, MULTIPLES = 12, 6
"""Models that a panel lists, and curves that get axes of their own."""


def assessment(found: Assessment, panel: Panel | None = None, *, axes: Axes | None = None) -> Figure:
    """Draw an assessment in one figure of at most 12 x 8 inches, or one of its panels alone.

    Parameters
    ----------
    panel : {"half_width", "calibration", "curves", "decomposition", "segments", "gains"}, optional
        Without it: half-widths at the target, calibration, curves and decomposition of the best models.
    axes : tuple of str, optional
        Of the curves; by default those of the assessment.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> figure = assessment(assess({"A": iv, "B": iv.constant()}, coverage=0.5), "calibration")
    >>> figure.axes[0].get_xlabel()
    'coverage as delivered, %'
    """
    chosen = checks.axes(found.settings.axes if axes is None else axes)
    if panel is None:
        return _overview(found, chosen)
    checks.choice("panel", panel, get_args(Panel))
    if panel == "curves":
        count = min(len(found), MULTIPLES)
        figure = new_figure((min(WIDE, 1.2 + 3.4 * min(count, 3)), 3.4 * ceil(count / 3)))
        _small_multiples(found, figure, chosen)
        return figure
    figure = new_figure(_size(found, panel))
    DRAWN[panel](found, figure.add_subplot())
    return figure


def _size(found: Assessment, panel: Panel) -> tuple[float, float]:
    """Inches of a panel alone."""
    if panel == "segments":
        lines = len({one.title for one in found.segments})
        return min(WIDE, 3.6 + 0.7 * min(len(found), LISTED)), min(HIGH, 1.6 + 0.28 * lines)
    each = {"decomposition": 1.0, "gains": 0.75}.get(panel, 0.42)
    return 7.0, min(HIGH, 1.3 + each * min(len(found), LISTED))


def _overview(found: Assessment, axes: Axes) -> Figure:
    """Half-widths and calibration above, curves and decomposition below."""
    count = min(len(found), LISTED)
    above, below = 0.95 + 0.26 * count, 4.0 if len(found) > 3 else 3.4
    figure = new_figure((WIDE, min(HIGH, above + below)))
    figure.suptitle(_headline(found), x=0.01, ha="left", fontsize="large", fontweight="bold")
    rows: Any = figure.subfigures(2, 1, height_ratios=[above, below])
    upper, lower = rows
    left, right = upper.subplots(1, 2)
    panels.half_widths(found, left)
    panels.calibration(found, right)
    beside, under = lower.subfigures(1, 2)
    _small_multiples(found, beside, axes)
    panels.decomposition(found, under.subplots(), most=4, size=6.5)
    return figure


def _headline(found: Assessment) -> str:
    """The decision, as the verdict begins."""
    best = found[found.verdict.model]
    target = coverage(found.settings.shown_coverage)
    return f"Ship {short(best.name)} with bands {change(best)} for {target} coverage"


def _small_multiples(found: Assessment, figure: Figure | SubFigure, axes: Axes) -> None:
    """Curves of the best models, each on axes of its own among the others in grey; the axes are shared."""
    rows, unit = found.ranking[:MULTIPLES], found.settings.unit
    columns = min(len(rows), 3)
    grid: Any = figure.subplots(ceil(len(rows) / columns), columns, sharex=True, sharey=True, squeeze=False)
    for ax in grid.ravel()[len(rows) :]:
        ax.set_visible(False)
    lines = _lines(found, grid[0, 0], axes)
    for index, (ax, row) in enumerate(zip(grid.ravel(), rows, strict=False)):
        for x, y in lines.values():
            ax.plot(x, y, color="#D0D4D9", linewidth=1.0, zorder=1.5)
        _highlight(found, row, ax, axes=axes, line=lines[row.name], color=style(index)["color"])
        tidy(ax)
        ax.label_outer()
    target = coverage(found.settings.shown_coverage)
    few = f" of the best {len(rows)} of {len(found)} models" if len(rows) < len(found) else ""
    heading = f"Curves{few}: dot as delivered, diamond at {target}, dashed the constant band"
    figure.suptitle(heading, x=0.01, ha="left", fontsize="medium")
    figure.supxlabel(title(axes[0], unit), fontsize="medium")
    figure.supylabel(title(axes[1], unit), fontsize="medium")


def _lines(found: Assessment, ax: PlotAxes, axes: Axes) -> dict[str, Line]:
    """What is drawn of each curve, once the shared axes hold all of them."""
    points = {
        row.name: found.curves[row.name].points(axes=axes, unit=found.settings.unit)
        for row in found.ranking[:MULTIPLES]
    }
    corners = [view(axes, one.x, one.y, None) for one in points.values()]
    right, top = (max(ends) or 1.0 for ends in zip(*corners, strict=True))
    ax.set(xlim=(0, right), ylim=(0, 1.04 * top))
    return {name: visible(ax, *path(axes, one.x, one.y)) for name, one in points.items()}


def _highlight(found: Assessment, row: ModelRow, ax: PlotAxes, *, axes: Axes, line: Line, color: str) -> None:
    """One model's curve, its operating points and its constant band."""
    unit, own = found.settings.unit, found.curves[row.name]
    flat = constant_curve(own)
    if flat is not None:
        points = flat.points(axes=axes, unit=unit)
        ax.plot(*visible(ax, *path(axes, points.x, points.y)), color=GREY, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.plot(*line, color=color, linewidth=1.8, zorder=2.5)
    look: Any = {"color": color, "markersize": 6.5, "markeredgecolor": "white"}
    for point, marker in ((own.at(delivered_at(own, row.level), unit=unit), "o"), (_at_target(found, own), "D")):
        if point is not None:
            mark_in_view(ax, getattr(point, axes[0]), getattr(point, axes[1]), marker=marker, **look)
    ax.set_title(short(row.name, panels.NAME), loc="left", fontsize="small", color=color)


def _at_target(found: Assessment, own: Curve) -> OperatingPoint | None:
    """Operating point at the coverage asked for, or shown; None where none reaches it."""
    try:
        return own.find(coverage=found.settings.shown_coverage, unit=found.settings.unit)
    except ValueError:
        return None
