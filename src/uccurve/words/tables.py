"""Tables: an assessment as text, as HTML for notebooks, and as data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from uccurve._arrays import evenly
from uccurve.words.columns import LEVELS, PAIRS, SEGMENTS, TITLES, Column, chosen, filled, level_columns, model_columns
from uccurve.words.formats import coverage, fixed, short

if TYPE_CHECKING:
    from uccurve.results import Assessment, Comparison, Segment

PAIRS_SHOWN, SEGMENTS_SHOWN, LEVELS_SHOWN = 5, 10, 6  # how many pairs, segments and levels a first look shows
HOVER = 400  # characters of a name that are shown on hover


class Table(NamedTuple):
    """Columns and the rows that they are read from, under a title."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]


def text(assessment: Assessment, *, full: bool = False) -> str:
    """Return the verdict, one table of the models, then what matters of pairs, segments and notes.

    Parameters
    ----------
    full : bool
        Show the reasons, the decomposition, the paper's numbers, all pairs and all failing segments too.
    """
    return "\n\n".join(part if isinstance(part, str) else aligned(part) for part in layout(assessment, full=full))


def layout(assessment: Assessment, *, full: bool = False) -> Iterator[str | Table]:
    """Return the verdict, its reasons, the tables and the notes, in the order in which they are shown."""
    first, *others = tables(assessment, full=full)
    yield assessment.verdict.text
    if full and assessment.verdict.reasons:
        yield "\n".join(f"- {reason}" for reason in assessment.verdict.reasons)
    yield first._replace(title="")
    yield from others
    if notes := [*sentences(assessment), *(_crossings(assessment) if full else ())]:
        yield "\n".join(notes)


def html(assessment: Assessment) -> str:
    """Return the same as small HTML tables."""
    parts = [f"<p><strong>{escape(assessment.verdict.text)}</strong></p>"]
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
    for group in TITLES if full else list(TITLES)[:1]:
        columns = model_columns(group, assessment.rows, settings)
        if columns:
            yield Table(filled(TITLES[group], settings), columns, assessment.ranking)
    yield from _levels(assessment, full=full)
    found, total = sum(one.better is not None for one in assessment.comparisons), len(assessment.comparisons)
    title = f"{found} of {total} {'pair differs' if total == 1 else 'pairs differ'} significantly"
    pairs: Sequence[Comparison] = assessment.comparisons
    if not full:  # of two models the verdict has said it all
        title = f"{short(assessment.verdict.model)} vs. the others (of all models, {title})"
        pairs = pairs_of_best(assessment)[:PAIRS_SHOWN] if total > 1 else []
    if pairs:
        yield Table(title, chosen(PAIRS, pairs, settings), pairs)
    left = listed_segments(assessment)
    if left:
        shown, s = left if full else left[:SEGMENTS_SHOWN], "s" if len(left) == 1 else ""
        verb = f"stay{s} short of {coverage(settings.coverage)} as shipped" if settings.coverage else f"fail{s}"
        first = f"; the first {len(shown)}" if len(shown) < len(left) else ""
        whose = " of all models" if len(assessment.rows) > 1 else ""
        title = f"{len(left)} of {len(assessment.segments)} segments{whose} {verb}{first}"
        yield Table(title, chosen(SEGMENTS, shown, settings), shown)


def pairs_of_best(assessment: Assessment) -> list[Comparison]:
    """Pairs of the model to ship, which comes first in each, with the others, the next best first."""
    best, rank = assessment.verdict.model, {row.name: row.rank for row in assessment.rows}
    own = [one for one in assessment.comparisons if best in (one.first, one.second)]
    return sorted((one if one.first == best else _turned(one) for one in own), key=lambda one: rank[one.second])


def _turned(pair: Comparison) -> Comparison:
    """Return the same test with the other model first."""
    low, high = -pair.high, -pair.low
    return replace(pair, first=pair.second, second=pair.first, difference=-pair.difference, low=low, high=high)


def _levels(assessment: Assessment, *, full: bool) -> Iterator[Table]:
    """Nominal against observed coverage of models with several levels, and in full the pairs on their WIS."""
    rows, settings = [row for row in assessment.ranking if row.levels], assessment.settings
    if not rows:
        return
    if full:
        levels = [level for row in rows for level in row.levels]
        yield Table("Calibration by level", chosen(LEVELS, levels, settings), levels)
        if assessment.wis_comparisons:
            pairs = (replace(one, heading="difference in WIS") if one.field == "difference" else one for one in PAIRS)
            yield Table("Pairs by WIS", chosen(pairs, assessment.wis_comparisons, settings), assessment.wis_comparisons)
        return
    names = sorted({level.level for row in rows for level in row.levels})
    shown = [names[i] for i in evenly(len(names), LEVELS_SHOWN)]
    yield Table("Coverage by level, as delivered", chosen(level_columns(shown), rows, settings), rows)


def listed_segments(assessment: Assessment) -> list[Segment]:
    """Segments that the factor for all rows leaves short, those of the model to ship first, then by p-value."""
    left = (one for one in assessment.segments if one.short)
    return sorted(left, key=lambda one: (one.model != assessment.verdict.model, one.short_pvalue, one.pvalue))


def sentences(assessment: Assessment) -> Iterator[str]:
    """Return what the tables leave out, and what a reader must know before trusting them."""
    settings = assessment.settings
    for row in assessment.ranking:
        yield from fixed(row, assessment.segments)
    yield from (f"Note: {note.rstrip('.')}." for note in assessment.notes)
    if not all(isnan(row.coverage_low) for row in assessment.rows):
        yield f"Brackets are {coverage(settings.confidence_level)} confidence intervals."
    if settings.block:
        yield f"Dependent rows: {settings.block}."


def _crossings(assessment: Assessment) -> Iterator[str]:
    """Return where curves cross."""
    for one in assessment.crossings:
        yield f"{' vs. '.join(map(short, one.names))}: {one.verdict.rstrip('.')}."


def aligned(table: Table) -> str:
    """Return the title and the table in fixed width; words on the left, numbers on the right."""
    columns = []
    for column in table.columns:
        cells = [column.cell(row, interval=not column.brief) for row in table.rows]
        intervals = [f" {cell.interval}" if cell.interval else "" for cell in cells]
        value, interval = max(len(cell.text) for cell in cells), max(map(len, intervals))
        side, width = "<" if column.is_text else ">", max(len(column.heading), value + interval)
        lines = [f"{cell.text:{side}{value}}{end:<{interval}}" for cell, end in zip(cells, intervals, strict=True)]
        columns.append([f"{line:{side}{width}}" for line in (column.heading, *lines)])
    title = [table.title] if table.title else []
    return "\n".join([*title, *("  ".join(line).rstrip() for line in zip(*columns, strict=True))])


def _marked_up(table: Table) -> str:
    heads = "".join(f'<th title="{escape(column.help)}">{escape(column.heading)}</th>' for column in table.columns)
    lines = ("".join(_table_cell(column, row) for column in table.columns) for row in table.rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _table_cell(column: Column, row: Any) -> str:
    """Return one cell; words on the left, with the full text on hover where it was shortened."""
    cell = column.cell(row)
    if not column.is_text:
        return f"<td>{escape(cell.text)}{f' <small>{escape(cell.interval)}</small>' if cell.interval else ''}</td>"
    full = short(str(column.read(row) or cell.text), HOVER)
    hover = f' title="{escape(full)}"' if full != cell.text else ""
    return f'<td style="text-align: left"{hover}>{escape(cell.text)}</td>'
