"""Panels: the parts of an assessment's picture, each on axes of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve._vocabulary import Axes
from uccurve.curve import UCC
from uccurve.view import (
    Step,
    axis_end,
    constant_curve,
    delivered_at,
    span,
    waterfall,
)
from uccurve.words.columns import filled
from uccurve.words.formats import Shipment, coverage, share, short

from ._drawing import DASHED, GREY, PALETTE, mark_in_view, simplified, style, tidy, title, view

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure, SubFigure

    from uccurve.results import Assessment, ModelRow

NAME = 22  # characters of a model's name in a picture
LISTED = 12  # models that a panel has room for
MULTIPLES = 6  # models that get axes of their own
LINES = 24  # segments that a panel has room for
GOOD, BAD, TOTAL = PALETTE[2], PALETTE[1], "#9AA5B1"


def half_widths(found: Assessment, ax: PlotAxes) -> None:
    """Half-width at the target with its interval, best model first, and what brings each model there."""
    rows, target = found.ranking[:LISTED], coverage(found.settings.shown_coverage)
    for y, row in enumerate(rows):
        text = _move_in_words(row, target)
        _estimate(
            ax,
            y,
            span(row.half_width),
            PALETTE[0] if row.name == found.verdict.model else GREY,
            text,
        )
    ax.set_xlim(left=0)
    ax.set_xlabel(filled(f"half-width at {target}, {{unit}}", found.settings))
    _titled(ax, f"Half-width at {target} coverage", rows, found)


def calibration(found: Assessment, ax: PlotAxes) -> None:
    """Coverage as delivered with its interval, beside the coverage asked for."""
    rows, asked = found.ranking[:LISTED], found.settings.coverage
    for y, row in enumerate(rows):
        color = GREY if row.promise is None else GOOD if row.promise == "kept" else BAD
        text = f"{share(row.coverage.value)}{f', {row.promise}' if row.promise else ''}"
        _estimate(ax, y, [100 * end for end in span(row.coverage)], color, text)
    if asked is not None:
        ax.axvline(100 * asked, color="black", linewidth=1.0, linestyle=DASHED, zorder=1)
    ax.set_xlabel("coverage as delivered, %")
    promised = "" if asked is None else f" (dashed: {coverage(asked)} promised)"
    _titled(ax, f"Calibration{promised}", rows, found)


def levels(found: Assessment, ax: PlotAxes) -> None:
    """Coverage as delivered at each level, beside the diagonal; as `calibration` where no model has several."""
    rows, asked = found.ranking[:LISTED], found.settings.coverage
    if not any(row.levels for row in rows):
        calibration(found, ax)
        return
    ax.axline((100, 100), slope=1, color=GREY, linewidth=1.2, linestyle=DASHED, label="calibrated")
    shown = [row for row in rows if row.levels or asked is not None]
    for index, (name, row) in enumerate(zip(distinct(shown), shown, strict=True)):
        promised = [100 * level.level for level in row.levels] or [100 * (asked or 0.0)]
        seen, low, high = 100 * np.array([span(one.coverage) for one in row.levels or (row,)]).T
        reach = np.clip([seen - low, high - seen], 0, None)
        ax.errorbar(
            promised,
            seen,
            yerr=reach,
            marker="o",
            markersize=5,
            capsize=3,
            label=name,
            **style(index),
        )
    ax.set(xlabel="level, %", ylabel="coverage as delivered, %")
    tidy(ax)
    outside: Any = {"bbox_to_anchor": (1.0, 1.0)} if len(shown) > 4 else {}
    ax.legend(loc="upper left", frameon=False, fontsize="small", **outside)
    ax.set_title(f"Calibration{best_of(rows, found)}", loc="left", fontsize="medium")


def pit(found: Assessment, figure: Figure, ax: PlotAxes | None = None) -> None:
    """PIT histogram of each model of several levels, or of the best on `ax`; bins outside of the band are coloured."""
    rows = [row for row in found.ranking if row.pit is not None][: 1 if ax else MULTIPLES]
    if not rows:
        raise ValueError(
            "there is no PIT to draw: no model has several levels. Hint: see UCC.from_levels."
        )
    for one, row, name in zip(
        [ax] if ax else multiples(figure, len(rows)), rows, distinct(rows), strict=True
    ):
        pit: Any = row.pit
        edges = np.array(pit.edges)
        tall, low, high = np.array([(bin.value, bin.low, bin.high) for bin in pit.density]).T
        color = np.where(
            (tall < low) | (tall > high), PALETTE[1], PALETTE[0]
        )  # the first where there is no band
        one.bar(
            edges[:-1],
            tall,
            width=np.diff(edges),
            align="edge",
            color=color,
            edgecolor="white",
            alpha=0.85,
        )
        look: Any = {"step": "post", "color": GREY, "alpha": 0.3, "linewidth": 0, "zorder": 2.5}
        one.fill_between(
            edges,
            np.append(low, low[-1]),
            np.append(high, high[-1]),
            label="band if calibrated",
            **look,
        )
        one.axhline(1, color="black", linewidth=1.0, linestyle=DASHED, label="calibrated")
        one.set(
            xlim=(edges[0], edges[-1]), ylim=(0, max(1.25 * tall.max(), 1.25, one.get_ylim()[1]))
        )
        tidy(one)
        one.legend(loc="upper center", frameon=False, fontsize="small", ncols=2)
        one.set_title(name, loc="left", fontsize="small")
    if ax:
        ax.set(xlabel="PIT", ylabel="density")
    else:
        figure.supxlabel("PIT", fontsize="medium")
        figure.supylabel("density", fontsize="medium")


def curves(found: Assessment, figure: Figure | SubFigure, axes: Axes) -> None:
    """Curves of the best models, each on axes of its own among the others in grey; the axes are shared."""
    rows, unit, target = (
        found.ranking[:MULTIPLES],
        found.settings.unit,
        found.settings.shown_coverage,
    )
    curves = [found.curves[row.name] for row in rows]
    points = [curve.points(axes=axes, unit=unit) for curve in curves]
    right, top = np.max([view(one) for one in points], axis=0)
    grid = multiples(figure, len(rows))
    grid[0].set(xlim=(0, right or 1.0), ylim=(0, 1.04 * top or 1.0))
    pairs = zip(points, curves, strict=True)
    lines = [simplified(grid[0], one, exact=isinstance(curve, UCC)) for one, curve in pairs]
    for index, (ax, row, own) in enumerate(zip(grid, rows, curves, strict=True)):
        color = style(index)["color"]
        for other in lines:
            ax.plot(*other, color="#D0D4D9", linewidth=1.0, zorder=1.5)
        ax.plot(*lines[index], color=color, linewidth=1.8, zorder=2.5)
        if (flat := constant_curve(own)) is not None:
            few = simplified(ax, flat.points(axes=axes, unit=unit))
            ax.plot(*few, color=GREY, linewidth=1.0, linestyle=DASHED)
        delivered = own.at(delivered_at(own, row.level), unit=unit)
        for marker, point in (("o", delivered), ("D", reached(own, target, unit))):
            if point is not None:
                look: Any = {
                    "marker": marker,
                    "color": color,
                    "markersize": 6.5,
                    "markeredgecolor": "white",
                }
                mark_in_view(ax, getattr(point, axes[0]), getattr(point, axes[1]), **look)
        ax.set_title(short(row.name, NAME), loc="left", fontsize="small", color=color)
        tidy(ax)
    # Sketches have no constant band to draw.
    marks = f"dot: as delivered; diamond: {coverage(target)}{'; dashed: constant band' * isinstance(curves[0], UCC)}"
    figure.suptitle(f"Curves{best_of(rows, found)}\n{marks}", x=0.01, ha="left", fontsize="medium")
    figure.supxlabel(title(axes[0], unit), fontsize="medium")
    figure.supylabel(title(axes[1], unit), fontsize="medium")


def decomposition(found: Assessment, ax: PlotAxes, *, most: int = 5) -> None:
    """Waterfall of each model: one interval for all rows, what is saved and lost, and the score as delivered."""
    rows, target = found.ranking[:most], coverage(found.settings.shown_coverage)
    right = axis_end(row.decomposition for row in rows)
    for place, row in enumerate(rows):
        steps = waterfall(row.decomposition)
        for lane, step in enumerate(steps):
            _bar(ax, step, place + (lane - (len(steps) - 1) / 2) * 0.18, right)
    ax.set_xlim(0, 1.02 * right)
    ax.set_xlabel(filled(f"interval score at {target}, {{unit}} (lower is better)", found.settings))
    _titled(ax, f"Where the score at {target} comes from", rows, found)


def segments(found: Assessment, ax: PlotAxes) -> None:
    """Heat map of coverage as delivered, one row per segment, one column per model; frames mark what fails."""
    from matplotlib.patches import Rectangle

    if not found.segments:
        raise ValueError("there are no segments to draw. Hint: assess(..., by=...).")
    rows, asked = found.ranking[:LISTED], found.settings.coverage
    own = [one for one in found.segments if one.model == found.verdict.model]
    worst = {
        one.title for one in sorted(own, key=lambda one: one.coverage.value)[:LINES]
    }  # covered least by what ships
    titles = [one.title for one in own if one.title in worst]
    spots = {(one.title, one.model): one for one in found.segments}
    cells = [[spots.get((title, row.name)) for row in rows] for title in titles]
    covered = 100 * np.array(
        [[np.nan if one is None else one.coverage.value for one in line] for line in cells]
    )
    far = covered - [100 * (row.coverage.value if asked is None else asked) for row in rows]
    limit = float(np.nanmax(np.abs(far))) or 1.0
    ax.imshow(far, cmap="PuOr", vmin=-limit, vmax=limit, aspect="auto")
    for (y, x), value in np.ndenumerate(far if asked is None else covered):
        text = (
            f"{round(value) + 0.0:{'+.0f' if asked is None else '.0f'}}" if isfinite(value) else "–"
        )
        color = "white" if abs(far[y, x]) > 0.6 * limit else "black"
        ax.text(x, y, text, ha="center", va="center", color=color, fontsize="small")
        if (one := cells[y][x]) is not None and one.fails:
            ax.add_patch(
                Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.6)
            )
    names = distinct(rows)
    slanted: Any = (
        {"rotation": 35, "ha": "left", "rotation_mode": "anchor"}
        if max(map(len, names)) > 8
        else {}
    )
    ax.set_xticks(range(len(rows)), names, fontsize="small", **slanted)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    ax.set_yticks(range(len(titles)), distinct(titles), fontsize="small")
    ax.spines[:].set_visible(False)
    ax.set_xlabel(
        "coverage minus that of all rows, %" if asked is None else "coverage as delivered, %"
    )
    rest = f", the worst {LINES} of {len(own)}" if len(own) > LINES else ""
    ax.set_title(
        f"Coverage by segment{rest}; frames mark what fails", loc="left", fontsize="medium"
    )


def _move_in_words(row: ModelRow, target: object) -> str:
    if not row.move.is_reachable:
        return f"nothing reaches {target}"
    return f"bands {Shipment(row.name, row.move, row.side).change}"


def distinct(named: Sequence[Any]) -> list[str]:
    """Short names of models, segments or texts, numbered where several look the same."""
    labels = [short(one if isinstance(one, str) else one.name, NAME) for one in named]
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[: i + 1].count(label)})"
        for i, label in enumerate(labels)
    ]


def multiples(figure: Figure | SubFigure, count: int) -> list[PlotAxes]:
    """Axes of one scale for so many models, at most three in a row, with numbers at the outer edges only."""
    columns = min(count, 3)
    grid: Any = figure.subplots(
        -(-count // columns), columns, sharex=True, sharey=True, squeeze=False
    )
    for ax in grid.flat:
        ax.label_outer()
    for place in range(count, grid.size):
        grid.flat[place].set_visible(False)
        grid.flat[place - columns].tick_params(labelbottom=True)
    return list(grid.flat[:count])


def _estimate(ax: PlotAxes, y: int, ends: Sequence[float], color: str, text: str) -> None:
    """One estimate with its interval, and words to the right of the axes."""
    value, low, high = ends
    if isfinite(value):
        ax.plot([low, high], [y, y], color=color, linewidth=2.2, solid_capstyle="butt", zorder=2)
        ax.plot([value], [y], marker="o", color=color, markersize=6, zorder=3)
    look: Any = {
        "textcoords": "offset points",
        "annotation_clip": False,
        "va": "center",
        "fontsize": "small",
    }
    ax.annotate(text, (1, y), (6, 0), xycoords=("axes fraction", "data"), color="#333333", **look)


def _bar(ax: PlotAxes, step: Step, y: float, right: float) -> None:
    """One step of a waterfall with its name and size, on the side that has room."""
    color = {"total": TOTAL, "saves": GOOD, "costs": BAD}[step.kind]
    low, high = sorted((min(step.start, right), min(step.end, right)))
    ax.barh(y, high - low, left=low, height=0.16, color=color, zorder=2)
    inside = step.kind == "total" or high - low > 0.45 * right
    before = not inside and low > right - high
    look: Any = {
        "xytext": (-4 if before else 4, 0),
        "ha": "right" if before else "left",
        "va": "center",
    }
    look |= {"textcoords": "offset points", "fontsize": 7.5, "zorder": 3}
    ax.annotate(step.label, (low if inside or before else high, y), **look)


def _titled(ax: PlotAxes, title: str, rows: Sequence[ModelRow], found: Assessment) -> None:
    """Name the panel and the models, one below the other."""
    tidy(ax)
    ax.set_yticks(range(len(rows)), distinct(rows), fontsize="small")
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.set_title(f"{title}{best_of(rows, found)}", loc="left", fontsize="medium")


def best_of(rows: Sequence[ModelRow], found: Assessment) -> str:
    """How many of the models are shown; nothing where all are."""
    return f", best {len(rows)} of {len(found)}" if len(rows) < len(found) else ""
