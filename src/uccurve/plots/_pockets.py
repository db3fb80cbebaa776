"""Pockets: the coverage as shipped on the two features that tell most about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve.words.formats import coverage, short

from ._drawing import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure

    from uccurve.pockets.features import Condition
    from uccurve.pockets.results import FeatureMap, MapAxis, Pocket, Pockets

SPREAD = 0.15  # distance from the promised coverage at which a colour is full
FEWEST = 5  # rows of a cell that is coloured
Line = list[float]


def pockets(found: Pockets, name: str | None = None) -> Figure:
    """Draw the coverage of a model on its two strongest features, and the regions that are cut out of these.

    Regions by other features cannot be drawn; they are in the text below.
    """
    model = found.models[0] if name is None else found[name]
    if model.map is None:
        raise ValueError(f"there is no map of {short(model.model)}: {' '.join(model.sentences)}")
    figure: Figure = new_figure((7.0, 5.2))
    ax = figure.add_subplot()
    _cells(ax, model.map, found.coverage)
    for pocket in (*model.pockets, *model.wide):
        _outline(ax, model.map, pocket)
    ax.set_title(
        f"{short(model.model)}: coverage as shipped, {coverage(found.coverage)} promised",
        loc="left",
    )
    lines = [pocket.title for pocket in (*model.pockets, *model.wide)]
    figure.supxlabel("\n".join(lines[:6]), fontsize="small", x=0.02, ha="left")
    return figure


def _cells(ax: PlotAxes, grid: FeatureMap, promised: float) -> None:
    shares = np.array(grid.coverage)
    few = np.array(grid.rows) < FEWEST
    ends = {"vmin": promised - SPREAD, "vmax": min(promised + SPREAD, 1.0)}
    across = _borders(grid.x)
    along = _borders(grid.y)
    look: Any = {"cmap": "RdBu", "edgecolors": "none", **ends}
    picture = ax.pcolormesh(across, along, np.ma.masked_where(few, shares), **look)
    figure: Any = ax.figure
    figure.colorbar(picture, ax=ax, label="coverage")
    _name(ax.xaxis, grid.x)
    _name(ax.yaxis, grid.y)


def _borders(axis: MapAxis) -> Line:
    """Return where the cells of an axis begin and end; what is missing has the last cell."""
    if axis.labels:
        return [place - 0.5 for place in range(len(axis.labels) + 1)]
    width = (axis.edges[-1] - axis.edges[0]) / (len(axis.edges) - 1)
    return [*axis.edges, axis.edges[-1] + width]


def _name(side: Any, axis: MapAxis) -> None:
    """Write the feature, and its labels or dates."""
    side.set_label_text(short(axis.feature))
    if axis.labels:
        side.set_ticks(range(len(axis.labels)), labels=[short(label, 16) for label in axis.labels])
    elif axis.kind == "date":
        shown = axis.edges[:: max(len(axis.edges) // 4, 1)]
        names = [str(np.datetime64(int(edge), "s"))[:10] for edge in shown]
        side.set_ticks(shown, labels=names)


def _outline(ax: PlotAxes, grid: FeatureMap, pocket: Pocket) -> None:
    """Draw the box of a region that is cut by nothing but the two features."""
    by_name = {condition.feature: condition for condition in pocket.region.conditions}
    if not by_name.keys() <= {grid.x.feature, grid.y.feature}:
        return
    left, right = _reach(grid.x, by_name.get(grid.x.feature))
    low, high = _reach(grid.y, by_name.get(grid.y.feature))
    colour = "black" if pocket.kind == "too narrow" else "grey"
    ax.plot(
        [left, right, right, left, left],
        [low, low, high, high, low],
        color=colour,
        linewidth=1.6,
        zorder=3,
    )


def _reach(axis: MapAxis, condition: Condition | None) -> tuple[float, float]:
    """Return from where to where a region reaches along an axis."""
    borders = _borders(axis)
    first = borders[0]
    last = borders[-1] if axis.labels else borders[-2]
    if condition is None or condition.kind == "category":
        return first, last
    above = first if condition.above is None else max(condition.above, first)
    at_most = last if condition.at_most is None else min(condition.at_most, last)
    return above, at_most
