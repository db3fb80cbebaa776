"""Panels: the parts of an assessment's picture, each on axes of its own, in the room that these have."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve import view
from uccurve._vocabulary import Axes, Unit
from uccurve.curve import UCC
from uccurve.points import Estimate
from uccurve.view import LIGHT, MODELS, SegmentMap, WaterfallStep, span
from uccurve.words.columns import filled
from uccurve.words.formats import Shipment, coverage, told_apart

from ._drawing import (
    DASHED,
    GREY,
    INK,
    characters,
    cut_axis,
    head,
    in_lines,
    inches_of,
    mark_in_view,
    plain,
    room,
    root_figure,
    simplified,
    tidy,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure, SubFigure

    from uccurve.results import PIT, Assessment, ModelRow, Segment

CONSTANT = "its constant band"
LISTED = 12  # models that a panel has room for
TICKS = 5  # levels that are written below their axis
MULTIPLES = 6  # models that get axes of their own
LINES = 24  # segments that a panel has room for
NARROW = 4.6  # inches of axes with labels below which names stand above their lines
LINE, BLOCK = 0.24, 0.95  # inches that a line and a waterfall need
ABOVE = 1.1  # inches of a title and an axis
FAR = 15.0  # percentage points from the promise at which a colour is full
Estimates = Sequence[tuple[Estimate, str, str]]


def half_widths(assessment: Assessment, ax: PlotAxes) -> None:
    """Half-width as shipped with its interval, best model first, and what brings each model there.

    Of bounds without a prediction, how far each is shifted.
    """
    settings = assessment.settings
    rows = _fitting(assessment, ax, LINE)
    target = coverage(settings.shown_coverage)
    lines = [_half_width(assessment, row, str(target)) for row in rows]
    _estimates(ax, rows, lines, view.half_width_finding(assessment), assessment)
    has_margins = any(not isnan(row.half_width.value) for row in rows)
    what = "{width}" if has_margins else "shift"
    ax.set_xlabel(_wrapped(ax, filled(f"{what} for {target} coverage, {{unit}}", settings)))


def _half_width(assessment: Assessment, row: ModelRow, target: str) -> tuple[Estimate, str, str]:
    verdict = assessment.verdict
    if not row.move.is_reachable:
        return Estimate(np.inf), GREY, f"nothing reaches {target}"
    move = view.shipped_move(assessment, row)
    change = Shipment(row.name, move, row.side).change
    if isnan(row.half_width.value):
        return move.estimate, LIGHT["accent"] if row.name == verdict.model else GREY, change
    if row.name == verdict.model:
        return verdict.half_width, LIGHT["accent"], "unchanged" if verdict.unchanged else change
    return row.half_width, GREY, change


def calibration(assessment: Assessment, ax: PlotAxes) -> None:
    """Coverage as delivered with its interval, beside the coverage asked for."""
    rows = _fitting(assessment, ax, LINE)
    asked = assessment.settings.coverage
    lines = [_covered(row) for row in rows]
    if asked is not None:
        ax.axvline(100 * asked, color=INK, linewidth=1.0, linestyle=DASHED, zorder=1)
    _estimates(ax, rows, lines, view.calibration_finding(assessment), assessment, most=100.0)
    promised = "" if asked is None else f" (dashed: {coverage(asked)} promised)"
    ax.set_xlabel(_wrapped(ax, f"coverage as delivered, %{promised}"))


def _covered(row: ModelRow) -> tuple[Estimate, str, str]:
    state = view.STATES[row.promise]
    return row.coverage.times(100), LIGHT[state.colour], view.promise_mark(row)


def levels(assessment: Assessment, ax: PlotAxes) -> None:
    """How far the coverage of each level lies from the level; as `calibration` where no model has several."""
    rows = [row for row in assessment.ranking if len(row.levels) > 1][: len(MODELS)]
    if not rows:
        calibration(assessment, ax)
        return
    width = room(ax)
    ax.axhline(0, color=GREY, linewidth=1.2, linestyle=DASHED, zorder=1)
    names = told_apart(view.names(rows), characters(min(0.6 * width, 2.6)))
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        asked = np.array([level.level for level in row.levels])
        covered, low, high = np.array([span(level.coverage) for level in row.levels]).T
        reach = np.clip([covered - low, high - covered], 0, None)
        ax.errorbar(
            100 * asked + 0.35 * (place - (len(rows) - 1) / 2),
            100 * (covered - asked),
            yerr=100 * reach,
            marker="o",
            markersize=4.5,
            capsize=2.5,
            color=MODELS[place],
            linewidth=1.4,
            label=name,
        )
    nominal = sorted({level.level for row in rows for level in row.levels})
    if len(nominal) <= TICKS:
        ax.set_xticks(100 * np.array(nominal), [f"{100 * level:g}" for level in nominal])
    ax.set(xlabel="level, %", ylabel="coverage minus level, points")
    tidy(ax)
    _legend(ax, len(rows))
    head(ax, view.levels_finding(assessment), 0.8 * width)


def pit(assessment: Assessment, figure: Figure | SubFigure, ax: PlotAxes | None = None) -> None:
    """PIT histogram of each model of several levels, or of the best on `ax`; bins outside of the band are coloured."""
    rows = [row for row in assessment.ranking if row.pit is not None][: 1 if ax else MULTIPLES]
    if not rows:
        raise ValueError(
            "there is no PIT to draw: no model has several levels. Hint: see UCC.from_levels."
        )
    grid = [ax] if ax else multiples(figure, len(rows))
    width = min(map(room, grid))
    names = told_apart(view.names(rows), characters(0.7 * width))
    for part, row, name in zip(grid, rows, names, strict=True):
        if row.pit is not None:
            _histogram(part, row.pit)
        part.set_title(name, loc="left", fontsize="small", parse_math=False)
    handles, labels = grid[0].get_legend_handles_labels()
    if ax:
        ax.set(xlabel="PIT", ylabel="density")
        ax.legend(handles, labels, loc="upper center", frameon=False, fontsize="small")
        return
    inches = figure.bbox.width / figure.dpi
    title = in_lines(view.pit_finding(assessment), characters(inches - 0.4, "medium"))
    figure.suptitle(title, x=0.02, ha="left", fontsize="medium").set_parse_math(False)
    figure.supxlabel("PIT (grey: band if calibrated; dashed: calibrated)", fontsize="small")
    figure.supylabel("density", fontsize="small")


def _histogram(ax: PlotAxes, pit: PIT) -> None:
    edges = np.array(pit.edges)
    ends = [(density.value, density.low, density.high) for density in pit.density]
    tall, low, high = np.array(ends).T
    outside = (tall < low) | (tall > high)
    color = np.where(outside, LIGHT["broken"], LIGHT["total"])
    ax.bar(edges[:-1], tall, width=np.diff(edges), align="edge", color=color, edgecolor="white")
    band: Any = {"step": "post", "color": GREY, "alpha": 0.3, "linewidth": 0, "zorder": 2.5}
    ax.fill_between(
        edges,
        np.append(low, low[-1]),
        np.append(high, high[-1]),
        label="band if calibrated",
        **band,
    )
    ax.axhline(1, color=INK, linewidth=1.0, linestyle=DASHED, label="calibrated")
    top = max(1.25 * tall.max(), 1.25, ax.get_ylim()[1])
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, top))
    tidy(ax)


def curves(assessment: Assessment, ax: PlotAxes, axes: Axes) -> None:
    """Curves of all models, cut where the choice is, with their points as delivered and as shipped."""
    unit = assessment.settings.unit
    ranking = assessment.ranking
    shown = {row.name: view.shipped_curve(assessment, row) for row in ranking}
    right, top = view.corner(list(shown.values()), axes, unit, view.widest(assessment))
    has_margins = any(not isnan(row.half_width.value) for row in ranking)
    ax.set(xlim=(0 if has_margins else -right, right), ylim=(0, top))
    width = room(ax)
    names = told_apart(view.names(view.coloured(assessment)), characters(min(0.6 * width, 2.6)))
    for place in reversed(range(len(ranking))):
        row = ranking[place]
        curve = shown[row.name]
        few = simplified(ax, curve.points(axes=axes, unit=unit), exact=isinstance(curve, UCC))
        is_named = place < len(names)
        props: Any = {"color": LIGHT["other"], "linewidth": 0.8, "zorder": 1.6}
        if is_named:
            props = {"color": MODELS[place], "linewidth": 1.8, "zorder": 2.6, "label": names[place]}
        ax.plot(*few, **props)
        if is_named:
            _points(
                ax,
                curve,
                view.shipped_at(assessment, row),
                unit=unit,
                axes=axes,
                color=MODELS[place],
            )
        if row.name == assessment.verdict.model:
            _shade(curve, ax, axes, unit, few)
    side = assessment.settings.side
    across = title(axes[0], unit, side) if has_margins else "shift of the bound"
    ax.set(xlabel=_wrapped(ax, across), ylabel=title(axes[1], unit, side))
    tidy(ax)
    _legend(ax, len(names), reverse=True)
    target = coverage(assessment.settings.shown_coverage)
    head(ax, f"Curves (dot: as delivered, diamond: for {target})", 0.8 * width)


def _points(
    ax: PlotAxes, curve: Any, shipped: float, *, unit: Unit, axes: Axes, color: str
) -> None:
    """Where a model lies as delivered and as shipped."""
    places = {"o": view.delivered_at(curve), "D": shipped}
    for marker, t in places.items():
        if isfinite(t):
            point = curve.at(t, unit=unit)
            props: Any = {"marker": marker, "color": color, "markersize": 6}
            x = getattr(point, axes[0])
            y = getattr(point, axes[1])
            mark_in_view(ax, x, y, markeredgecolor="white", **props)


def _shade(curve: Any, ax: PlotAxes, axes: Axes, unit: Any, few: Any) -> None:
    """The constant band of the model to ship, and what lies between both curves."""
    flat = view.constant_curve(curve)
    if flat is None:
        return
    x, y = simplified(ax, flat.points(axes=axes, unit=unit))
    ax.plot(x, y, color=GREY, linewidth=1.1, linestyle=DASHED, label=CONSTANT)
    outline = np.concatenate([np.column_stack(few), np.column_stack([x, y])[::-1]])
    ax.fill(*outline.T, color=LIGHT["accent"], alpha=0.15, linewidth=0, zorder=1.2)


def decomposition(assessment: Assessment, ax: PlotAxes) -> None:
    """Waterfall of each model: one interval for all rows, what is saved, the score as shipped, and as delivered."""
    rows = _fitting(assessment, ax, BLOCK)
    settings = assessment.settings
    target = coverage(settings.shown_coverage)
    right = view.axis_end(map(attrgetter("decomposition"), rows))
    for place, row in enumerate(rows):
        for lane, step in enumerate(view.waterfall(row.decomposition)):
            _bar(ax, step, place + (lane - 2) * 0.165 + 0.06, right)
    ax.set_xlim(0, 1.02 * right)
    _named(ax, rows, "", [], lift=0.36)
    finding = f"{view.decomposition_finding(assessment)}{best_of(rows, assessment)}"
    head(ax, finding, _axes_width(ax))
    label = filled(f"interval score for {target}, {{unit}} (lower is better)", settings)
    ax.set_xlabel(_wrapped(ax, label))


def segments(assessment: Assessment, ax: PlotAxes) -> None:
    """Heat map of coverage, one row per segment, lowest first, one column per model; frames mark what falls short."""
    if not assessment.segments:
        raise ValueError("there are no segments to draw. Hint: assess(..., by=...).")
    width = room(ax)
    names_width = min(0.32 * width, 2.2)
    height = ax.get_window_extent().height / root_figure(ax).dpi / 0.77
    lines = min(LINES, max(3, int((height - ABOVE - 0.6) / 0.21)))
    grid = view.segment_map(assessment, lines)
    models = grid.models[: max(1, int((width - names_width - 0.2) / 0.36))]
    _cells(ax, assessment, grid, models)
    labels = told_apart(models, 14 if width < NARROW else 22)
    ax.set_xticks(range(len(models)), labels, fontsize="small", rotation=90, parse_math=False)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    titles = told_apart(grid.titles, characters(names_width))
    ax.set_yticks(range(len(titles)), titles, fontsize="small", parse_math=False)
    ax.spines[:].set_visible(False)
    asked = assessment.settings.coverage
    what = "coverage minus that of all rows, %" if asked is None else "coverage as shipped, %"
    ax.set_xlabel(_wrapped(ax, f"{what}; framed: falls short", 0.6))
    total = len(titles) + grid.hidden
    rest = f", the lowest {len(titles)} of {total}" if grid.hidden else ""
    finding = view.segments_finding(assessment)
    head(ax, f"{finding}{rest}", width - names_width - 0.2)


def _cells(ax: PlotAxes, assessment: Assessment, grid: SegmentMap, models: Sequence[str]) -> None:
    """The coverages in their colours, which tell how far each is from what was promised."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    asked = assessment.settings.coverage
    covered = 100 * np.array(
        [[grid.covered(name, model) for model in models] for name in grid.titles]
    )
    whole = [assessment[model].coverage.value if asked is None else asked for model in models]
    far = covered - 100 * np.array(whole)
    limit = max(float(np.nanmax(np.abs(far), initial=0.0)), FAR)
    colours = [LIGHT["below"], LIGHT["page"], LIGHT["above"]]
    mapped = LinearSegmentedColormap.from_list("uccurve", colours)
    ax.imshow(far, cmap=mapped, vmin=-limit, vmax=limit, aspect="auto")
    for (y, x), value in np.ndenumerate(far if asked is None else covered):
        form = "+.0f" if asked is None else ".0f"
        text = f"{round(value) + 0.0:{form}}" if isfinite(value) else "–"
        ax.text(x, y, text, ha="center", va="center", color=INK, fontsize="small")
        segment: Segment | None = grid.cells.get((grid.titles[y], models[x]))
        if segment is not None and segment.short:
            box = Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=INK, linewidth=1.4)
            ax.add_patch(box)


def multiples(figure: Figure | SubFigure, count: int) -> list[PlotAxes]:
    """Axes of one scale for so many models, with numbers at the outer edges only."""
    wide = figure.bbox.width / figure.dpi
    columns = min(count, 3, max(1, int(wide / 1.6)))
    grid: Any = figure.subplots(
        -(-count // columns), columns, sharex=True, sharey=True, squeeze=False
    )
    for ax in grid.flat:
        ax.label_outer()
    for place in range(count, grid.size):
        grid.flat[place].set_visible(False)
        grid.flat[place - columns].tick_params(labelbottom=True)
    return list(grid.flat[:count])


def best_of(rows: Sequence[ModelRow], assessment: Assessment) -> str:
    """How many of the models are shown; nothing where all are."""
    count = len(assessment)
    return f", best {len(rows)} of {count}" if len(rows) < count else ""


def _fitting(assessment: Assessment, ax: PlotAxes, each: float) -> tuple[ModelRow, ...]:
    """The best models, as many as there is room for."""
    height = ax.get_window_extent().height / root_figure(ax).dpi / 0.77
    narrow = room(ax) < NARROW
    taller = each * (1.25 if each == BLOCK else 1.6)
    lines = int((height - ABOVE) / (taller if narrow else each))
    return assessment.ranking[: min(max(lines, 1), LISTED)]


def _estimates(
    ax: PlotAxes,
    rows: Sequence[ModelRow],
    lines: Estimates,
    finding: str,
    assessment: Assessment,
    *,
    most: float = np.inf,
) -> None:
    """One estimate with its interval per model, and words to the right of it; axes start where the data do."""
    ends: list[float] = []
    for estimate, _, _ in lines:
        ends.extend(filter(isfinite, span(estimate)))
    for line in ax.get_lines():
        marked: Any = line.get_xdata()
        ends.append(marked[0])
    pad = 0.06 * (max(ends, default=1.0) - min(ends, default=0.0)) or 0.5
    low = max(min(ends, default=0.0) - pad, 0.0)
    high = min(max(ends, default=1.0) + pad, most + 0.2 * pad)
    ax.set_xlim(low, high)
    for place, (estimate, color, _) in enumerate(lines):
        value, start, end = np.clip(span(estimate), low, high)
        if isfinite(estimate.value):
            ax.plot([start, end], [place, place], color=color, linewidth=2.2, zorder=2)
            ax.plot([value], [place], marker="o", color=color, markersize=5.5, zorder=3)
    _named(ax, rows, f"{finding}{best_of(rows, assessment)}", [text for _, _, text in lines])
    if low > 0:
        cut_axis(ax)


def _named(
    ax: PlotAxes,
    rows: Sequence[ModelRow],
    finding: str,
    texts: Sequence[str],
    *,
    lift: float = 0.0,
) -> None:
    """Names of the models, one below the other, with what is said of each; above their lines where it is narrow."""
    tidy(ax)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    width = room(ax)
    beside = max(map(len, texts), default=0)
    if width < NARROW:
        ax.set_yticks([])
        ax.set_ylim(len(rows) - 0.48, -0.8)
        names = told_apart(view.names(rows), characters(width - 0.7) - beside - 2)
        for place, name in enumerate(names):
            _above(ax, place - lift, name, 0)
        for place, text in enumerate(texts):
            _above(ax, place, text, 1)
    else:
        names = told_apart(view.names(rows), characters(min(0.3 * width, 2.6)))
        ax.set_yticks(range(len(rows)), names, fontsize="small", parse_math=False)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        for place, text in enumerate(texts):
            _beside(ax, place, text)
    if finding:
        longest = max(map(len, names), default=0) if width >= NARROW else 0
        taken = inches_of(longest + beside) if width >= NARROW else 0.0
        head(ax, finding, max(width - taken - 0.4, 1.6))


def _above(ax: PlotAxes, place: float, text: str, side: int) -> None:
    """Words above a line, at its left (0) or right (1) end."""
    ax.annotate(
        text,
        (side, place),
        (-2 if side else 3, 4),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right" if side else "left",
        va="bottom",
        fontsize="small",
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5},
        parse_math=False,
    )


def _beside(ax: PlotAxes, place: int, text: str) -> None:
    """Words to the right of the axes."""
    ax.annotate(
        text,
        (1, place),
        (6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        annotation_clip=False,
        va="center",
        fontsize="small",
        color=INK,
        parse_math=False,
    )


def _axes_width(ax: PlotAxes) -> float:
    """Inches across that axes keep beside the names of models."""
    width = room(ax)
    if width < NARROW:
        return width - 0.4
    longest = max((len(label.get_text()) for label in ax.get_yticklabels()), default=0)
    return max(width - inches_of(longest) - 0.4, 1.6)


def _wrapped(ax: PlotAxes, text: str, share: float = 0.75) -> str:
    """Text of an axis in lines that its axes have room for."""
    return in_lines(text, characters(share * room(ax), "medium"))


def _legend(ax: PlotAxes, names: int, *, reverse: bool = False) -> None:
    """Legend of the models, below narrow axes and to the right of others."""
    from matplotlib.transforms import ScaledTranslation

    handles, labels = ax.get_legend_handles_labels()
    if reverse:
        handles.reverse()
        handles.sort(key=lambda handle: handle.get_label() == CONSTANT)
        labels = [str(handle.get_label()) for handle in handles]
    narrow = room(ax) < NARROW
    inside = reverse and not narrow and names <= 4
    place: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    if narrow:
        below = ScaledTranslation(0, -0.42, root_figure(ax).dpi_scale_trans)
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        place["bbox_transform"] = ax.transAxes + below
    if inside:
        place = {"loc": "upper right"}
    plain(ax.legend(handles, labels, frameon=False, fontsize="small", **place))


def _bar(ax: PlotAxes, step: WaterfallStep, y: float, right: float) -> None:
    """One step of a waterfall with its name and size, on the side that has room."""
    low = min(step.start, step.end, right)
    high = min(max(step.start, step.end), right)
    ax.barh(y, high - low, left=low, height=0.15, color=LIGHT[step.kind], zorder=2)
    needed = inches_of(len(step.label) + 1, "x-small") / (0.7 * room(ax)) * right
    inside = step.kind == "total" or high - low > needed
    before = not inside and low > right - high
    ax.annotate(
        step.label,
        (low if inside or before else high, y),
        (-3 if before else 3, 0),
        textcoords="offset points",
        ha="right" if before else "left",
        va="center",
        fontsize="x-small",
        color=INK,
        zorder=3,
    )
