"""Tables: an assessment as text, as HTML for notebooks, as data frames, and as plain data for files and trackers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from html import escape
from importlib.util import find_spec
from itertools import chain
from math import isfinite, isnan
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from uccurve._arrays import evenly
from uccurve.points import Estimate, Move, plain, record
from uccurve.words.columns import (
    ACROSS,
    LEVELS,
    OTHERS,
    PAIRS,
    POCKETS,
    SEGMENTS,
    TITLES,
    WINNERS,
    Column,
    SegmentLine,
    chosen,
    filled,
    level_columns,
    model_columns,
    segment_columns,
    unit_in_words,
)
from uccurve.words.formats import (
    Shipment,
    columns_of,
    coverage,
    joined,
    padded,
    share,
    short,
    spelled,
)

if TYPE_CHECKING:
    from uccurve.results import Assessment, Comparison, ModelRow, Segment, SegmentWinner

# How many pairs, segments and levels a first look shows.
PAIRS_SHOWN = 5
SEGMENTS_SHOWN = 10
BROKEN_NAMED = 3  # segments that are named of those that a factor breaks
MODELS_SHOWN = 4
LEVELS_SHOWN = 6
SHIPS, TIED = "▸", "≈"  # signs before the names of models
MARKS = {SHIPS: "chosen", TIED: "tied with it"}
HOVER = 400  # characters of a name that are shown on hover
# Fields of a model's row that a data frame leaves out unless all were asked for; tables of their own are never in it.
DETAILS = (
    "degrees",
    "best_score",
    "crps_skill",
    "partial_gain",
    "missed_above",
    "missed_below",
    "decomposition",
    "delivered",
    "areas",
    "gains",
    "concentration",
)
OWN_TABLES = ("levels", "pit")
METRIC_FIELDS = (
    "score",
    "skill",
    "crps",
    "crps_skill",
    "coverage",
    "scale",
    "shift",
    "half_width",
    "wis",
)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and the rows that they are read from, under a title; `marks` are signs before names at a terminal."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    marks: Mapping[str, str] = field(default_factory=dict)


def text(assessment: Assessment, *, full: bool = False) -> str:
    """Return the verdict, one table of the models, then what matters of pairs, segments and notes.

    Parameters
    ----------
    full : bool
        Show the reasons, the decomposition, the paper's numbers, all pairs and all failing segments too.
    """
    parts = layout(assessment, full=full)
    return "\n\n".join(part if isinstance(part, str) else aligned(part) for part in parts)


def layout(assessment: Assessment, *, full: bool = False) -> Iterator[str | Table]:
    """Return the verdict, its reasons, the tables and the notes, in the order in which they are shown."""
    settings = assessment.settings
    first, *others = tables(assessment, full=full)
    yield assessment.verdict.text
    if full and assessment.verdict.reasons:
        yield "\n".join(f"- {reason}" for reason in assessment.verdict.reasons)
    title = f"Models, best first, {unit_in_words(settings)}" if settings.row_unit else ""
    yield replace(first, title=title, marks=_marks(assessment))
    yield from others
    notes = [*sentences(assessment)]
    if full:
        notes += _crossings(assessment)
    if notes:
        yield "\n".join(notes)


def _marks(assessment: Assessment) -> dict[str, str]:
    """Return the signs of the model to ship, and of those that are tied with it."""
    verdict = assessment.verdict
    if len(assessment) == 1 or not verdict.reachable:
        return {}
    return {verdict.model: SHIPS} | dict.fromkeys(verdict.tied, TIED)


def html(assessment: Assessment) -> str:
    """Return the same as small HTML tables."""
    headline, *lines = assessment.verdict.text.split("\n")
    parts = [f"<p><strong>{escape(headline)}</strong></p>"]
    parts += [f"<p>{escape(line)}</p>" for line in lines]
    parts += [_marked_up(table) for table in tables(assessment)]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in sentences(assessment)]
    return "".join(parts)


def frame(columns: Mapping[str, Sequence[Any]], backend: Any = None) -> Any:
    """Data frame of the columns: pandas or Polars, whichever is installed, or a `backend` that narwhals supports."""
    import narwhals as nw

    if backend is None:
        backend = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
    if backend is None:
        raise ImportError("data frames need pandas or Polars: pip install pandas")
    return nw.from_dict(dict(columns), backend=backend).to_native()


def tables(assessment: Assessment, *, full: bool = False) -> Iterator[Table]:
    """Tables that have something to show: of the models, first the verdict's, of pairs and of failing segments."""
    settings = assessment.settings
    groups = list(TITLES) if full else list(TITLES)[:1]
    for group in groups:
        columns = model_columns(group, assessment.rows, settings)
        if columns:
            yield Table(filled(TITLES[group], settings), columns, assessment.ranking)
    yield from _level_tables(assessment, full=full)
    yield from _pair_tables(assessment, full=full)
    yield from _segment_tables(assessment, full=full)
    yield from winner_tables(assessment, full=full)
    yield from _pocket_tables(assessment, full=full)


def _pair_tables(assessment: Assessment, *, full: bool) -> Iterator[Table]:
    """All pairs, or those of the model to ship where there are more than two models."""
    settings = assessment.settings
    total = len(assessment.comparisons)
    different = sum(pair.better is not None for pair in assessment.comparisons)
    untested = sum(not pair.is_tested for pair in assessment.comparisons)
    differs = "pair differs" if total == 1 else "pairs differ"
    title = f"{different} of {total} {differs} significantly"
    if untested:
        title += f", {untested} not tested"
    pairs: Sequence[Comparison] = assessment.comparisons
    columns = PAIRS
    if not full:  # of two models the verdict has said it all
        title = f"{short(assessment.verdict.model)} vs. the others (of all models, {title})"
        pairs = pairs_of_best(assessment)[:PAIRS_SHOWN] if total > 1 else []
        columns = OTHERS
    if pairs:
        yield Table(title, chosen(columns, pairs, settings), pairs)


def pairs_of_best(assessment: Assessment) -> list[Comparison]:
    """Pairs of the model to ship, which comes first in each, with the others, the next best first."""
    best = assessment.verdict.model
    pairs = [
        _with_first(pair, best)
        for pair in assessment.comparisons
        if best in (pair.first, pair.second)
    ]
    rank = {row.name: row.rank for row in assessment.rows}
    return sorted(pairs, key=lambda pair: rank[pair.second])


def _with_first(pair: Comparison, name: str) -> Comparison:
    """Return the same test with the model of this name first."""
    if pair.first == name:
        return pair
    difference = pair.difference
    turned = replace(
        difference, value=-difference.value, low=-difference.high, high=-difference.low
    )
    return replace(pair, first=pair.second, second=pair.first, difference=turned)


def _level_tables(assessment: Assessment, *, full: bool) -> Iterator[Table]:
    """Nominal against observed coverage of models with several levels, and in full the pairs on their WIS."""
    settings = assessment.settings
    rows = list(filter(attrgetter("levels"), assessment.ranking))
    if not rows:
        return
    levels = [level for row in rows for level in row.levels]
    if full:
        yield Table("Calibration by level", chosen(LEVELS, levels, settings), levels)
        yield from _wis_tables(assessment)
        return
    nominal = sorted(set(map(attrgetter("level"), levels)))
    shown = [nominal[place] for place in evenly(len(nominal), LEVELS_SHOWN)]
    columns = chosen(level_columns(shown), rows, settings)
    yield Table("Coverage by level, as delivered", columns, rows)


def _wis_tables(assessment: Assessment) -> Iterator[Table]:
    """Pairs of models on their WIS."""
    pairs = assessment.wis_comparisons
    if not pairs:
        return
    columns = [_of_wis(column) for column in PAIRS]
    yield Table("Pairs by WIS", chosen(columns, pairs, assessment.settings), pairs)


def _of_wis(column: Column) -> Column:
    return replace(column, heading="difference in WIS") if column.name == "difference" else column


def _segment_tables(assessment: Assessment, *, full: bool) -> Iterator[Table]:
    """All segments by model, and those that fall short as shipped with the factor that they would need."""
    if assessment.segments:
        yield _segment_map(assessment, full=full)
    shown = listed_segments(assessment)
    if not shown:
        return
    title = segments_title(assessment)
    if not full and len(shown) > SEGMENTS_SHOWN:
        shown = shown[:SEGMENTS_SHOWN]
        title += f"; the first {SEGMENTS_SHOWN}"
    columns = [column for column in SEGMENTS if column.name != "state"]  # the title says it
    yield Table(title, chosen(columns, shown, assessment.settings), shown)


def _segment_map(assessment: Assessment, *, full: bool) -> Table:
    """Coverage of each segment as shipped, lowest first, and the model that scores best in it."""
    models = list(map(attrgetter("name"), assessment.ranking))
    shown = models if full else models[:MODELS_SHOWN]
    lines = segment_lines(assessment)
    rows = lines if full else lines[:SEGMENTS_SHOWN]
    parts = []
    if len(rows) < len(lines):
        parts.append(f"lowest {len(rows)} of {len(lines)} first")
    else:
        parts.append("lowest first")
    if len(shown) < len(models):
        parts.append(f"the best {len(shown)} of {len(models)} models")
    as_what = "as delivered" if assessment.settings.coverage is None else "as shipped"
    title = f"Coverage {as_what} by segment, {', '.join(parts)}"
    if any(map(attrgetter("short"), assessment.segments)):
        title += " (✗: falls short)"
    columns = segment_columns(models, len(shown))
    return Table(title, chosen(columns, rows, assessment.settings), rows)


def segment_lines(assessment: Assessment) -> list[SegmentLine]:
    """Segments with their coverage in every model, those first that the model to ship covers least."""
    by_title: dict[str, dict[str, Segment]] = {}
    for segment in lowest_first(assessment):
        by_title[segment.title] = {}
    for segment in assessment.segments:
        by_title.setdefault(segment.title, {})[segment.model] = segment
    tested = {winner.title: winner for winner in assessment.winners}
    lines = []
    for title, by_model in by_title.items():
        n = max(map(attrgetter("n"), by_model.values()))
        lines.append(SegmentLine(title, n, by_model, tested.get(title)))
    return lines


def lowest_first(assessment: Assessment) -> list[Segment]:
    """Return the segments of the model to ship, those that fall short first, then by coverage."""
    shipped = assessment.verdict.model
    of_model = [segment for segment in assessment.segments if segment.model == shipped]
    return sorted(of_model, key=lambda segment: (not segment.short, shown_coverage(segment).value))


def shown_coverage(segment: Segment) -> Estimate:
    """Coverage of a segment as shipped, or as delivered where nothing ships as promised."""
    as_shipped = segment.shipped_coverage
    return segment.coverage if segment.target is None or isnan(as_shipped.value) else as_shipped


def winner_tables(assessment: Assessment, *, full: bool) -> Iterator[Table]:
    """In full the best model of each segment, failing segments first; and models over all segments of a feature."""
    settings = assessment.settings
    winners = listed_winners(assessment)
    if winners and full:
        yield Table("Best model by segment", chosen(WINNERS, winners, settings), winners)
    for feature in dict.fromkeys(map(attrgetter("feature"), assessment.across)):
        of_feature = [across for across in assessment.across if across.feature == feature]
        count = max(map(attrgetter("segments"), of_feature))
        title = f"Over {count} values of {short(feature)}, each counted once"
        yield Table(title, chosen(ACROSS, of_feature, settings), of_feature)


def listed_winners(assessment: Assessment) -> list[SegmentWinner]:
    """Best model of each segment, segments that fall short first."""
    short_of = {
        (segment.feature, segment.label) for segment in assessment.segments if segment.short
    }
    return sorted(
        assessment.winners, key=lambda winner: (winner.feature, winner.label) not in short_of
    )


def _pocket_tables(assessment: Assessment, *, full: bool) -> Iterator[Table]:
    """Pockets of the model to ship, or of all models."""
    pockets = listed_pockets(assessment, full=full)
    if pockets:
        columns = chosen(POCKETS, pockets, assessment.settings)
        yield Table("Pockets: regions of the features", columns, pockets)


def listed_pockets(assessment: Assessment, *, full: bool = False) -> list[Any]:
    """Return the pockets of the model to ship, or of all models, those that are covered too rarely first."""
    return [
        pocket
        for model in _pocket_models(assessment, full=full)
        for pocket in (*model.pockets, *model.wide)
    ]


def _pocket_models(assessment: Assessment, *, full: bool) -> list[Any]:
    """Return what the features tell about the misses of the model to ship, or of all models."""
    if assessment.pockets is None:
        return []
    name = assessment.verdict.model
    return [model for model in assessment.pockets.models if full or model.model == name]


def segments_title(assessment: Assessment) -> str:
    """Return how many segments fall short, of how many, and how many were not tested."""
    segments = assessment.segments
    asked = assessment.settings.coverage
    failing = sum(map(attrgetter("short"), segments))
    untested = sum(not segment.is_tested for segment in segments)
    what = "segments" if len(assessment.rows) == 1 else "model-segment pairs"
    if asked is None:
        than = "than the model's other rows"
        claim = f"{failing} of {len(segments)} {what} {_cover(failing)} significantly less {than}"
    else:
        after = "After" if any(map(_is_broken_by_factor, segments)) else "Even after"
        claim = (
            f"{after} rescaling, {failing} of {len(segments)} {what} {_cover(failing)} significantly "
            f"less than {coverage(asked)}"
        )
    return f"{claim}; {untested} not tested" if untested else claim


def _is_broken_by_factor(segment: Segment) -> bool:
    """Whether a segment falls short as shipped only, by the factor (or shift) for all rows."""
    falls = segment.shipped_coverage.value < segment.coverage.value
    return segment.short and not segment.fails and falls


def _cover(count: int) -> str:
    return "covers" if count == 1 else "cover"


def listed_segments(assessment: Assessment) -> list[Segment]:
    """Segments that the factor for all rows leaves short, those of the model to ship first, then by p-value."""
    shipped = assessment.verdict.model
    failing = filter(attrgetter("short"), assessment.segments)
    return sorted(
        failing,
        key=lambda segment: (segment.model != shipped, segment.shipped_pvalue, segment.pvalue),
    )


def sentences(assessment: Assessment) -> Iterator[str]:
    """Return what the tables leave out, and what a reader must know before trusting them."""
    settings = assessment.settings
    for row in assessment.ranking:
        yield from fixed(row, assessment)
    for model in _pocket_models(assessment, full=False):
        yield from pocket_lines(model, assessment)
        yield from (f"Note: {note}." for note in assessment.pockets.notes)
    yield from (f"Note: {note.rstrip('.')}." for note in assessment.notes)
    if any(row.coverage.has_interval for row in assessment.rows):
        yield f"Brackets are {coverage(settings.confidence_level)} confidence intervals."
    if settings.block:
        yield f"Dependent rows: {settings.block}."


def pocket_lines(model: Any, assessment: Assessment) -> list[str]:
    """Return what the features tell about the misses of a model, under its name where there are several."""
    if len(assessment.rows) == 1:
        return list(model.summary)
    return [f"{short(model.model)}: {line}" for line in model.summary]


def fixed(row: ModelRow, assessment: Assessment) -> Iterator[str]:
    """Return which segments a model's factor breaks, which failing ones it fixes, and which only stop to fail.

    A segment is fixed where its coverage as shipped reaches the target up to the tolerance.
    """
    settings = assessment.settings
    yield from _broken(row, assessment)
    failing = [
        segment for segment in assessment.segments if segment.model == row.name and segment.fails
    ]
    passing = [segment for segment in failing if not segment.short]
    if not passing or settings.coverage is None:
        return
    reaching: list[Segment] = []
    doubtful: list[Segment] = []
    for segment in passing:
        reaches = segment.shipped_coverage.value >= settings.promised.lowest
        (reaching if reaches else doubtful).append(segment)
    bands = f"Bands {Shipment(row.name, row.move, row.side).change}"
    claims = []
    if reaching:
        claims.append(f"fix {_which(len(reaching), len(failing))} of {short(row.name)}")
    if doubtful:
        covers = joined(
            [
                f"{short(segment.title)} ({100 * segment.shipped_coverage.value:.1f}%)"
                for segment in doubtful
            ]
        )
        claims.append(
            f"leave {covers} below {coverage(settings.coverage)}, though no longer shown to fail"
        )
    yield f"{bands} {joined(claims)}."


def _broken(row: ModelRow, assessment: Assessment) -> Iterator[str]:
    """Which segments a model's factor takes below the target, from which coverage to which."""
    asked = assessment.settings.coverage
    segments = [
        segment
        for segment in assessment.segments
        if segment.model == row.name and _is_broken_by_factor(segment)
    ]
    if not segments or asked is None:
        return
    lowest = sorted(segments, key=lambda segment: segment.shipped_coverage.value)
    model = short(row.name)
    bands = f"Bands {Shipment(row.name, row.move, row.side).change} take"
    if len(lowest) == 1:
        yield f"{bands} {short(lowest[0].title)} of {model} {_fall(lowest[0])}."
        return
    claims = [f"{short(segment.title)} {_fall(segment)}" for segment in lowest[:BROKEN_NAMED]]
    if len(lowest) > BROKEN_NAMED:
        claims.append(f"{spelled(len(lowest) - BROKEN_NAMED)} more")
    yield f"{bands} {len(lowest)} segments of {model} below {coverage(asked)}, {joined(claims)}."


def _fall(segment: Segment) -> str:
    return f"from {share(segment.coverage.value)} to {share(segment.shipped_coverage.value)}"


def _which(count: int, total: int) -> str:
    """How many of the failing segments."""
    segments = "failing segment" if total == 1 else "failing segments"
    if count < total:
        return f"{count} of the {total} {segments}"
    words = {1: "the", 2: "both"}
    return f"{words.get(total, f'all {total}')} {segments}"


def _crossings(assessment: Assessment) -> Iterator[str]:
    """Return where curves cross."""
    for pair in assessment.crossings:
        names = " vs. ".join(short(name) for name in pair.names)
        yield f"{names}: {pair.verdict.rstrip('.')}."


def aligned(table: Table) -> str:
    """Return the title and the table in fixed width; words on the left, numbers on the right."""
    columns = [_aligned_column(column, table.rows) for column in table.columns]
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    title = [table.title] if table.title else []
    return "\n".join([*title, *lines])


def _aligned_column(column: Column, rows: Sequence[Any]) -> list[str]:
    """Return the heading and the cells of a column, all of one width, brackets below brackets."""
    cells = column.cells(rows, interval=not column.brief)
    intervals = [f" {cell.interval}" if cell.interval else "" for cell in cells]
    value_width = max(columns_of(cell.text) for cell in cells)
    interval_width = max(columns_of(interval) for interval in intervals)
    width = max(columns_of(column.heading), value_width + interval_width)
    side = "<" if column.is_text else ">"
    lines = [column.heading]
    for cell, interval in zip(cells, intervals, strict=True):
        lines.append(padded(cell.text, value_width, side) + padded(interval, interval_width))
    return [padded(line, width, side) for line in lines]


def _marked_up(table: Table) -> str:
    heads = [
        f'<th title="{escape(column.help)}">{escape(column.heading)}</th>'
        for column in table.columns
    ]
    columns = [_marked_up_column(column, table.rows) for column in table.columns]
    body = [f"<tr>{''.join(cells)}</tr>" for cells in zip(*columns, strict=True)]
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _marked_up_column(column: Column, rows: Sequence[Any]) -> list[str]:
    """Return the cells of a column; words on the left, with the full text on hover where it was shortened."""
    marked_up = []
    for row, cell in zip(rows, column.cells(rows), strict=True):
        if column.is_text:
            marked_up.append(_words_cell(str(column.read(row) or cell.text), cell.text))
        else:
            interval = f" <small>{escape(cell.interval)}</small>" if cell.interval else ""
            marked_up.append(f"<td>{escape(cell.text)}{interval}</td>")
    return marked_up


def _words_cell(full: str, shown: str) -> str:
    hover_text = short(full, HOVER)
    hover = f' title="{escape(hover_text)}"' if hover_text != shown else ""
    return f'<td style="text-align: left"{hover}>{escape(shown)}</td>'


# Plain data


def as_data(assessment: Assessment, *, schema: int) -> dict[str, Any]:
    """Return an assessment as plain dicts and lists, models by name; what is infinite or undefined is None."""
    crossings = [record(pair) | {"dominant": pair.dominant} for pair in assessment.crossings]
    return {
        "schema": schema,
        "verdict": record(assessment.verdict),
        "models": {row.name: record(row) for row in assessment.rows},
        "comparisons": plain(assessment.comparisons),
        "wis_comparisons": plain(assessment.wis_comparisons),
        "crossings": plain(crossings),
        "segments": plain(assessment.segments),
        "winners": plain(assessment.winners),
        "across": plain(assessment.across),
        "pockets": plain(assessment.pockets),
        "missing": plain(assessment.missing),
        "notes": plain(assessment.notes),
        "not_tested": plain(assessment.not_tested),
        "settings": record(assessment.settings),
        "engine": assessment.engine,
        "brackets": plain(assessment.brackets),
    }


def metrics(assessment: Assessment) -> dict[str, float]:
    """Return the finite numbers of each model by flat names."""
    out: dict[str, float] = {}
    for row in assessment.rows:
        for name in METRIC_FIELDS:
            value = getattr(row, name)
            if value is not None and isfinite(float(value)):
                out[f"{row.name}/{name}"] = float(value)
    return out


def frame_columns(rows: Sequence[Any], *, full: bool = False) -> dict[str, list[Any]]:
    """Return the fields of results as columns: an estimate becomes three, such as score, score_low and score_high."""
    flat = [_flat(row, full=full) for row in rows]
    names = dict.fromkeys(chain.from_iterable(flat))
    return {name: [row.get(name) for row in flat] for name in names}


def _flat(row: ModelRow | Any, *, full: bool) -> dict[str, Any]:
    """Return the fields of one result under flat names."""
    out: dict[str, Any] = {}
    for item in fields(row):
        if item.name in OWN_TABLES or (not full and item.name in DETAILS):
            continue
        value = getattr(row, item.name)
        if item.name == "wis" and value is not None and not full:
            value = value.score
        if isinstance(value, Move):
            _put(out, "scale", value.scale)
            _put(out, "shift", value.shift)
        else:
            _put(out, item.name, value)
    return out


def _put(out: dict[str, Any], name: str, value: Any) -> None:
    """Add a value under its name, and the parts of what has parts under names of their own."""
    if isinstance(value, Estimate):
        out[name] = value.value
        out[f"{name}_low"] = value.low
        out[f"{name}_high"] = value.high
    elif is_dataclass(value):
        for item in fields(value):
            part = name if name == "wis" and item.name == "score" else f"{name}_{item.name}"
            _put(out, part, getattr(value, item.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _put(out, f"{name}_{key}", item)
    else:
        out[name] = value
