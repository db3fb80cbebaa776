"""Assess where the rows are: the verdict of `assess` from frames that stay in their engine, or from kept sketches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import nan
from typing import Any

import numpy as np
from narwhals.typing import IntoFrame

from uccurve import _refusals as checks
from uccurve._vocabulary import HEADLINE, Axes, Range, Unit
from uccurve.assess.assemble import adjusted_comparisons, asked_settings, common_notes, with_ranks
from uccurve.evidence.inference import interval, paired_t_test
from uccurve.intervals import Missing
from uccurve.results import Assessment, Comparison, ModelRow, Segment
from uccurve.words.columns import plain
from uccurve.words.formats import counted, short
from uccurve.words.verdict import verdict

from ._answers import Answers
from ._bins import PER_OCTAVE
from ._engines import states
from ._influence import Pairs, Units, changes_of, numbers_of
from ._model import StreamedModel, block_pairs
from ._scan import Columns, Request, Scan
from ._second_pass import level_fields, second_pass
from ._segments import segments_of
from ._state import SUMS, State
from .sketch import UCCSketch

# Names of a model's columns: y_pred, lower, upper; or y_pred and a mapping from level to lower and upper.
Bounds = Sequence[Any]
OWN_PREDICTIONS = (
    "the models have prediction columns of their own: where these differ, score and CRPS judge predictions and bands "
    "together, skill and gains the bands alone"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StreamedAssessment(Assessment):
    """What `assess_frame` and `assess_sketches` found: an `Assessment`, and what the bins leave open.

    Attributes
    ----------
    brackets : mapping of str to mapping
        For each model, both ends around each number that the bins do not tell exactly. Confidence intervals contain
        them already.
    engine : str or None
        What held the rows; None for sketches.
    """

    brackets: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    engine: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, as `Assessment.to_dict`, with the engine and the brackets."""
        return Assessment.to_dict(self) | {"engine": self.engine, "brackets": plain(self.brackets)}


def assess_frame(
    frame: IntoFrame,
    models: Mapping[str, Bounds],
    *,
    y_true: str = "y_true",
    coverage: float | None = None,
    weight: str | None = None,
    by: str | Sequence[str | tuple[str, ...]] | None = None,
    block: str | None = None,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    min_band: float | str | None = None,
    missing: Missing = "raise",
    resolution: int = PER_OCTAVE,
) -> StreamedAssessment:
    """Assess models whose intervals are columns of a frame that stays where it is.

    The verdict, intervals and tests of `assess`, from two passes over the rows: the first sketches each model, the
    second sums the influence of the rows. Only these sums are kept, however many rows there are.

    Parameters
    ----------
    frame : IntoFrame
        pandas, Polars, PyArrow, DuckDB, Ibis, Dask, PySpark and others; lazy ones are not collected.
    models : mapping of str to columns
        Names of each model's columns: ``(y_pred, lower, upper)``, or ``(y_pred, {level: (lower, upper), ...})``.
    y_true, weight : str
        Columns of the observations and, if there are any, of the weights.
    coverage, axes, partial, c, unit, confidence_level
        As in `assess`. Models of several levels need a coverage.
    by : str or list, optional
        Columns of at most 1,000 labels, each of which makes segments; a tuple of columns is combined into one label.
        Cut numbers into bins first.
    block : str, optional
        Column of labels of dependent rows, such as a date, a series or a shop. Without it rows are independent.
    min_band, missing, resolution
        As in `UCCSketch.from_frame`. A row that lacks a value of one model is dropped for all of them.

    Returns
    -------
    StreamedAssessment
        An `Assessment` with the brackets of what the bins leave open.

    Notes
    -----
    Scales are interpolated inside their bin. Confidence intervals are widened by the bracket of their number, and a
    test counts only as much of a difference as the brackets cannot hide; a higher `resolution` narrows both. Where
    bands are asymmetric there is no interval for the area and gain on deficit vs. excess, and without the rows no
    crossings, `climatology` and `prediction`.

    Examples
    --------
    >>> import polars as pl
    >>> data = {
    ...     "y_true": [1.0, 2.0, 4.0, 0.5],
    ...     "y_pred": [0.0] * 4,
    ...     "lower": [-1.0, -1.0, -4.0, -1.0],
    ...     "upper": [1.0, 1.0, 4.0, 1.0],
    ... }
    >>> found = assess_frame(
    ...     pl.LazyFrame(data), {"GBR": ("y_pred", "lower", "upper")}, coverage=0.5
    ... )
    >>> found.verdict.model, found.verdict.scale
    ('GBR', 1.0)
    """
    settings = asked_settings(
        coverage, axes=axes, partial=partial, c=c, unit=unit, confidence_level=confidence_level
    )
    features = [
        (one,) if isinstance(one, str) else tuple(one)
        for one in ([by] if isinstance(by, str) else by or ())
    ]
    request = Request(y_true, weight, block, features, min_band, missing, resolution)
    intervals, given = _intervals(models, settings.shown_coverage)
    if coverage is None and any(len(levels) > 1 for _, levels in given.values()):
        raise ValueError(
            "models of several levels need `coverage` where they are streamed: their potential CRPS, which ranks them "
            "otherwise, needs the rows. Hint: pass coverage=0.9."
        )
    scan = Scan.of(frame, intervals, request)
    schema = scan.rows.collect_schema()
    if numbers := [
        name
        for name, group in zip(request.by, scan.groups, strict=True)
        if schema[group].is_float()
    ]:
        raise TypeError(
            f"`by` must name columns of labels; {numbers[0]} holds floats. Hint: cut them into bins first."
        )
    groups = states(
        scan,
        {", ".join(one): [scan.groups[request.by.index(name)] for name in one] for one in features},
    )
    whole = [State.union(list(parts.values())) for parts in groups]
    streamed = []
    for name, (place, levels) in given.items():
        own = {level: Answers(whole[at]) for level, at in levels.items()}
        streamed.append(
            StreamedModel(name, whole[place], settings, models[name][0], place, levels, own)
        )
    sums = second_pass(scan, streamed, blocks=block is not None)
    streamed = [model.checked(sums.mean(f"{i} shipped")) for i, model in enumerate(streamed)]
    changes = [sums.changes(i, model) for i, model in enumerate(streamed)]
    rows, segments = list[ModelRow](), list[Segment]()
    for i, model in enumerate(streamed):
        rows.append(
            model.row(sums.units, changes[i], sums.mean(f"{i} above"), level_fields(i, model, sums))
        )
        segments += segments_of(i, model, groups[model.place], request, sums)
    pairs = sums.pairs(streamed) if block is None else block_pairs(streamed, changes)
    engine = str(scan.rows.implementation.value)
    engine = "spark" if "spark" in engine else engine
    return _assessed(streamed, rows, sums.units, pairs, segments=segments, engine=engine)


def _intervals(
    models: Mapping[str, Bounds], coverage: float
) -> tuple[list[Columns], dict[str, tuple[int, dict[float, int]]]]:
    """Intervals of all models and levels, and for each model the places of the delivered ones and of its levels."""
    if not models:
        raise ValueError("`models` must name at least one model.")
    found, places = list[Columns](), dict[str, tuple[int, dict[float, int]]]()
    for name, columns in models.items():
        y_pred, *bounds = columns
        if len(bounds) == 2:
            places[name] = len(found), {}
            found.append(Columns(name, y_pred, *bounds))
            continue
        if len(bounds) != 1 or not isinstance(bounds[0], Mapping):
            raise ValueError(
                f"`models[{name!r}]` must be three columns: y_pred, lower, upper; got {columns!r}."
            )
        levels = dict(sorted(bounds[0].items()))
        if not levels or not all(0 < checks.real("level", level) < 1 for level in levels):
            raise ValueError(f"`models[{name!r}]` must have levels between 0 and 1, both excluded.")
        own = {level: len(found) + k for k, level in enumerate(levels)}
        above = min((level for level in own if level >= coverage), default=max(own))
        below = max((level for level in own if level < above), default=0.0)
        share = min((coverage - below) / (above - below), 1.0)
        for level, (lower, upper) in levels.items():
            delivered = share == 1 and level == above
            found.append(
                Columns(name, y_pred, lower, upper, tuple(SUMS) if delivered else ("critical",))
            )
        if share < 1:
            found.append(
                Columns(name, y_pred, None, None, between=(own.get(below), own[above], share))
            )
        places[name] = own[above] if share == 1 else len(found) - 1, own
    return found, places


def assess_sketches(
    models: Mapping[str, UCCSketch | Mapping[Any, UCCSketch] | Sequence[UCCSketch]],
    *,
    coverage: float | None = None,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
) -> StreamedAssessment:
    """Assess models from sketches that were kept for each block of dependent rows, such as each day.

    The verdict, intervals and tests of `assess` without any row: a sketch holds all sums over its block that they
    need.

    Parameters
    ----------
    models : mapping of str to mapping or list of UCCSketch
        For each model the sketches of all blocks, by a label that is the same for all models, or in the same order.
    coverage, axes, partial, c, unit, confidence_level
        As in `assess`.

    Returns
    -------
    StreamedAssessment
        As of `assess_frame`; `missed_above` and `missed_below` are nan, because sketches do not keep them.

    Examples
    --------
    >>> from uccurve import Intervals
    >>> days = [
    ...     Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, b])
    ...     for b in (4, 5, 6)
    ... ]
    >>> found = assess_sketches({"GBR": [UCCSketch().update(day) for day in days]}, coverage=0.5)
    >>> found.settings.block, found["GBR"].n
    ('3 blocks', 9)
    """
    given = {name: _labelled(parts) for name, parts in models.items()}
    labels = list(next(iter(given.values()), ()))
    if not labels or any({*parts} != {*labels} for parts in given.values()):
        raise ValueError(
            "`models` must have the same blocks for each model, at least one. Hint: label them by date."
        )
    settings = asked_settings(
        coverage, axes=axes, partial=partial, c=c, unit=unit, confidence_level=confidence_level
    )
    kept = {name: [parts[label]._state for label in labels] for name, parts in given.items()}
    streamed = [StreamedModel(name, State.union(parts), settings) for name, parts in kept.items()]
    if len({(model.state.rows, model.state.dropped) for model in streamed}) > 1:
        counts = ", ".join(
            f"{short(one.name)} {one.state.rows + one.state.dropped:,}" for one in streamed
        )
        raise ValueError(
            f"all models must have the same rows: {counts}. Hint: sketch the rows that all of them have."
        )
    units, rows, changes = Units(streamed[0].state.rows, len(labels), equal=False), [], []
    for model in streamed:
        numbers = np.stack([numbers_of(state, model.look) for state in kept[model.name]], axis=1)
        changes.append(changes_of(numbers, model.forms))
        rows.append(model.row(units, changes[-1], nan, {}))
    return _assessed(streamed, rows, units, block_pairs(streamed, changes))


def _labelled(parts: Any) -> dict[Any, UCCSketch]:
    """Sketches by label; blocks without rows say nothing."""
    parts = [parts] if isinstance(parts, UCCSketch) else parts
    found = dict(parts) if isinstance(parts, Mapping) else dict(enumerate(parts))
    for one in found.values():
        if not isinstance(one, UCCSketch):
            raise TypeError(
                f"`models` must hold a UCCSketch for each block; got {type(one).__name__}."
            )
    return {label: one for label, one in found.items() if one.rows}


# ---- assembly


def _assessed(
    models: Sequence[StreamedModel],
    rows: Sequence[ModelRow],
    units: Units,
    pairs: Mapping[str, Pairs],
    *,
    segments: Sequence[Segment] = (),
    engine: str | None = None,
) -> StreamedAssessment:
    """Return the verdict on models of the same rows."""
    settings = models[0].settings
    if units.count < units.rows:
        settings = replace(settings, block=counted(units.count, "block"))
    comparisons, on_wis = (
        _comparisons(models, rows, units, pairs, name) for name in (settings.ranked_by, "wis")
    )
    ranked = with_ranks(rows, comparisons, settings.ranked_by)
    comparable = len({model.y_pred for model in models}) == 1
    notes = [
        *common_notes(units.count, units.rows, comparable=True),
        *([OWN_PREDICTIONS] * (not comparable)),
    ]
    notes += [note for model, row in zip(models, rows, strict=True) for note in model.notes(row)]
    return StreamedAssessment(
        rows=tuple(ranked),
        comparisons=tuple(comparisons),
        crossings=(),
        segments=tuple(segments),
        notes=tuple(dict.fromkeys(notes)),
        settings=settings,
        verdict=verdict(ranked, settings, comparisons=comparisons, segments=segments),
        curves={model.name: model.curve for model in models},
        comparable=comparable,
        wis_comparisons=tuple(on_wis),
        brackets={
            model.name: {name: one.pair for name, one in model.brackets.items()} for model in models
        },
        engine=engine,
    )


def _comparisons(
    models: Sequence[StreamedModel],
    rows: Sequence[ModelRow],
    units: Units,
    every: Mapping[str, Pairs],
    name: Any,
) -> list[Comparison]:
    """Paired t tests of all pairs on what ranks the models, or on the WIS of models with the same levels."""
    if name == "wis" and (
        len({tuple(model.levels) for model in models}) > 1 or not models[0].levels
    ):
        return []
    found, pairs, level = [], every.get(name, {}), models[0].settings.confidence_level
    for i, j in combinations(range(len(rows)), 2):
        first, second = (getattr(rows[k], name) for k in (i, j))
        low = high = pvalue = nan
        perfect = first == second == 0
        if ((i, j) in pairs or perfect) and units.count > 1:
            change = np.zeros(1) if perfect else pairs[i, j] / models[i].size
            hidden = sum(
                models[k].brackets[name].width / 2 for k in (i, j) if name in models[k].brackets
            )
            low, high = interval(first - second, change, units.blocks, level)
            # As much of the difference as the bins cannot hide.
            shown = max(abs(first - second) - hidden, 0.0)
            pvalue = paired_t_test(change, shown, units.blocks, size=max(first, second))
            low, high = low - hidden, high + hidden
        found.append(
            Comparison(rows[i].name, rows[j].name, name, first - second, low, high, pvalue)
        )
    return adjusted_comparisons(found, level)
