"""Pockets: the coverage as shipped on the two features that tell most about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve._vocabulary import Array
from uccurve.words.formats import coverage, short

from ._drawing import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure

    from uccurve.pockets.features import Condition
    from uccurve.pockets.results import FeatureMap, MapAxis, Pocket, Pockets
    from uccurve.results import Assessment

SPREAD = 0.15  # distance from the promised coverage at which a colour is full
FEWEST = 5  # rows of a cell that is coloured
EMPTY = "#d9d9d9"
LISTED = 4  # regions in words below
Line = list[float]


def pockets(assessed: Pockets, name: str | None = None) -> Figure:
    """Draw the coverage of a model on its two strongest features, and the regions that are cut out of these."""
    figure: Figure = new_figure((7.0, 5.2))
    draw(assessed, name, figure.add_subplot())
    return figure


def draw(assessed: Pockets, name: str | None, ax: PlotAxes) -> None:
    """Draw the same on axes. Regions that other features cut too cannot be drawn; all are listed below."""
    model = assessed.models[0] if name is None else assessed[name]
    if model.map is None:
        raise ValueError(f"there is no map of {short(model.model)}: {' '.join(model.sentences)}")
    _cells(ax, model.map, assessed.coverage)
    for pocket in (*model.pockets, *model.wide):
        _outline(ax, model.map, pocket)
    ax.set_title(
        f"{short(model.model)}: coverage as shipped, {coverage(assessed.coverage)} promised",
        loc="left",
        parse_math=False,
    )
    named = [*model.pockets, *model.wide][:LISTED]
    titles = [f"{pocket.kind}: {short(pocket.title, 70)}" for pocket in named]
    ax.set_xlabel("\n".join([ax.get_xlabel(), *titles]), parse_math=False)


def panel(assessment: Assessment, ax: PlotAxes) -> None:
    """Draw the pockets of the model to ship."""
    if assessment.pockets is None:
        raise ValueError("there are no pockets to draw. Hint: assess(..., features=...).")
    draw(assessment.pockets, assessment.verdict.model, ax)


def _cells(ax: PlotAxes, grid: FeatureMap, promised: float) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import PercentFormatter

    shares = np.array(grid.coverage)
    few = np.array(grid.rows) < FEWEST
    ends = {"vmin": promised - SPREAD, "vmax": promised + SPREAD}
    across = _borders(grid.x)
    along = _borders(grid.y)
    colours = colormaps["RdBu"].with_extremes(bad=EMPTY)
    style: Any = {"cmap": colours, "edgecolors": "none", **ends}
    picture = ax.pcolormesh(across, along, np.ma.masked_where(few, shares), **style)
    figure: Any = ax.figure
    bar = figure.colorbar(picture, ax=ax, label="coverage (grey: fewer than 5 rows)")
    bar.ax.set_ylim(top=min(promised + SPREAD, 1.0))
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _name(ax.xaxis, grid.x)
    _name(ax.yaxis, grid.y)


def _borders(axis: MapAxis) -> Line:
    """Return where the cells of an axis begin and end; what is missing has the last cell."""
    if axis.labels:
        return [place - 0.5 for place in range(len(axis.labels) + 1)]
    width = (axis.edges[-1] - axis.edges[0]) / (len(axis.edges) - 1)
    return [*axis.edges, axis.edges[-1] + width] if axis.has_missing else [*axis.edges]


def _name(side: Any, axis: MapAxis) -> None:
    """Write the feature, and its labels or dates."""
    side.set_label_text(short(axis.feature), parse_math=False)
    if axis.labels:
        side.set_ticks(
            range(len(axis.labels)),
            labels=[short(label, 16) for label in axis.labels],
            parse_math=False,
        )
    elif axis.kind == "date":
        shown = axis.edges[:: max(len(axis.edges) // 4, 1)]
        names = [str(np.datetime64(int(edge), "s"))[:10] for edge in shown]
        side.set_ticks(shown, labels=names)


def _outline(ax: PlotAxes, grid: FeatureMap, pocket: Pocket) -> None:
    """Draw the box of a region that is cut by nothing but the two features; of labels, mark its cells."""
    colour = "black" if pocket.kind == "too narrow" else "grey"
    if grid.x.labels or grid.y.labels:
        has_rows = np.array(grid.rows) > 0
        along, across = np.nonzero(grid.inside(pocket.region) & has_rows)
        x = _centres(grid.x)[across]
        ax.scatter(x, _centres(grid.y)[along], color=colour, marker=".", zorder=3)
        return
    by_name = {condition.feature: condition for condition in pocket.region.conditions}
    if not by_name.keys() <= {grid.x.feature, grid.y.feature}:
        return
    left, right = _reach(grid.x, by_name.get(grid.x.feature))
    low, high = _reach(grid.y, by_name.get(grid.y.feature))
    across_x = [left, right, right, left, left]
    ax.plot(across_x, [low, low, high, high, low], color=colour, linewidth=1.6, zorder=3)


def _centres(axis: MapAxis) -> Array:
    borders = np.array(_borders(axis))
    middles: Array = (borders[1:] + borders[:-1]) / 2
    return middles


def _reach(axis: MapAxis, condition: Condition | None) -> tuple[float, float]:
    """Return from where to where a region reaches along an axis of numbers."""
    borders = _borders(axis)
    first = axis.edges[0]
    last = axis.edges[-1]
    beyond = borders[-1]
    if condition is None:
        return first, last
    if not condition.known:
        return last, beyond
    above = first if condition.above is None else max(condition.above, first)
    at_most = last if condition.at_most is None else min(condition.at_most, last)
    return above, at_most
