"""Figures: an assessment as one picture for a paper or a boss, or any of its panels alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, get_args

from uccurve import _checks as checks
from uccurve._checks import Axes
from uccurve.compare._case import change
from uccurve.compare._formats import coverage, short

from . import _panels as panels
from ._curves import constant_curve, delivered_at, reached
from ._drawing import DASHED, GREY, mark_in_view, new_figure, path, style, tidy, title, view, visible
from .display import UCCDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure, SubFigure

    from uccurve.compare.results import Assessment, ModelRow

Panel = Literal["half_width", "calibration", "curves", "decomposition", "segments", "gains", "pit"]
DRAWN: Mapping[Panel, Callable[[Assessment, PlotAxes], None]] = {
    "half_width": panels.half_widths,
    "calibration": panels.levels,
    "decomposition": panels.decomposition,
    "segments": panels.segments,
    "gains": panels.gains,
}
WIDE, HIGH = 12.0, 8.0
"""Inches of the largest picture."""


def assessment(
    found: Assessment, panel: Panel | None = None, *, axes: Axes | None = None, ax: PlotAxes | None = None
) -> Figure:
    """Draw an assessment in one figure of at most 12 x 8 inches, or one of its panels alone.

    Parameters
    ----------
    panel : {"half_width", "calibration", "curves", "decomposition", "segments", "gains", "pit"}, optional
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
        raise ValueError('`ax` takes one panel of an assessment, such as "calibration"; this picture needs several.')
    if panel is None:
        return _overview(found, chosen)
    checks.choice("panel", panel, get_args(Panel))
    figure: Any = new_figure(_size(found, panel)) if ax is None else ax.get_figure(root=True)
    if panel == "curves":
        _small_multiples(found, figure, chosen)
    elif panel == "pit":
        panels.pit(found, figure, ax)
    else:
        DRAWN[panel](found, ax or figure.add_subplot())
    drawn: Figure = figure
    return drawn


def _size(found: Assessment, panel: Panel) -> tuple[float, float]:
    """Inches of a panel alone."""
    listed = min(len(found), panels.LISTED)
    if panel in ("curves", "pit"):
        count = min(len(found), panels.MULTIPLES)
        return 1.2 + 3.4 * min(count, 3), 3.4 * ceil(count / 3)
    if panel == "segments":
        return min(WIDE, 3.6 + 0.7 * listed), min(HIGH, 2.0 + 0.28 * len({one.title for one in found.segments}))
    if panel == "calibration" and any(row.levels for row in found.rows):
        return 6.4, 4.8
    each = {"decomposition": 1.0, "gains": 0.75}.get(panel, 0.42)
    return 7.0, min(HIGH, 1.3 + each * listed)


def _overview(found: Assessment, axes: Axes) -> Figure:
    """Half-widths and calibration above, curves and decomposition below."""
    above, below = 0.95 + 0.26 * min(len(found), panels.LISTED), 4.0 if len(found) > 3 else 3.4
    figure = new_figure((WIDE, min(HIGH, above + below)))
    best, target = found[found.verdict.model], coverage(found.settings.shown_coverage)
    headline = f"Ship {short(best.name)} with bands {change(best)} for {target} coverage"
    figure.suptitle(headline, x=0.01, ha="left", fontsize="large", fontweight="bold")
    rows: Any = figure.subfigures(2, 1, height_ratios=[above, below])
    left, right = rows[0].subplots(1, 2)
    panels.half_widths(found, left)
    panels.calibration(found, right)
    beside, under = rows[1].subfigures(1, 2)
    _small_multiples(found, beside, axes)
    panels.decomposition(found, under.subplots(), most=4)
    return figure


def _small_multiples(found: Assessment, figure: Figure | SubFigure, axes: Axes) -> None:
    """Curves of the best models, each on axes of its own among the others in grey; the axes are shared."""
    rows, unit = found.ranking[: panels.MULTIPLES], found.settings.unit
    displays = [UCCDisplay(found.curves[row.name], axes=axes, unit=unit) for row in rows]
    corners = [view(axes, one.x, one.y, None) for one in displays]
    right, top = (max(ends) or 1.0 for ends in zip(*corners, strict=True))
    multiples = panels.multiples(figure, len(rows))
    multiples[0].set(xlim=(0, right), ylim=(0, 1.04 * top))
    lines = [visible(multiples[0], *one.path) for one in displays]
    for index, (ax, row, line) in enumerate(zip(multiples, rows, lines, strict=True)):
        for other in lines:
            ax.plot(*other, color="#D0D4D9", linewidth=1.0, zorder=1.5)
        ax.plot(*line, color=style(index)["color"], linewidth=1.8, zorder=2.5)
        _draw_points(found, row, ax, axes, style(index)["color"])
        tidy(ax)
    marks = f"dot: as delivered; diamond: {coverage(found.settings.shown_coverage)}; dashed: constant band"
    figure.suptitle(f"Curves{panels.best_of(rows, found)}\n{marks}", x=0.01, ha="left", fontsize="medium")
    figure.supxlabel(title(axes[0], unit), fontsize="medium")
    figure.supylabel(title(axes[1], unit), fontsize="medium")


def _draw_points(found: Assessment, row: ModelRow, ax: PlotAxes, axes: Axes, color: str) -> None:
    """One model's name, its operating points and its constant band."""
    own, unit = found.curves[row.name], found.settings.unit
    flat = constant_curve(own)
    if flat is not None:
        points = flat.points(axes=axes, unit=unit)
        ax.plot(*visible(ax, *path(axes, points.x, points.y)), color=GREY, linewidth=1.0, linestyle=DASHED)
    delivered = own.at(delivered_at(own, row.level), unit=unit)
    for marker, point in (("o", delivered), ("D", reached(own, found.settings.shown_coverage, unit))):
        if point is not None:
            look: Any = {"marker": marker, "color": color, "markersize": 6.5, "markeredgecolor": "white"}
            mark_in_view(ax, getattr(point, axes[0]), getattr(point, axes[1]), **look)
    ax.set_title(short(row.name, panels.NAME), loc="left", fontsize="small", color=color)
