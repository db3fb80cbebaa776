"""Tables: an assessment as text, as HTML for notebooks, and as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assessment import Assessment, ModelRow, Segment

Cells = list[list[str]]
MODEL_COLUMNS = (
    "model",
    "rank",
    "n",
    "miss rate",
    "bandwidth",
    "gain b/m",
    "gain e/d",
    "gain b/d",
    "partial gain",
    "cost",
    "cheapest",
    "at scale",
)


def text(assessment: Assessment) -> str:
    """Return the tables in fixed width."""
    blocks = [f"Assessment of {_count(len(assessment.rows), 'model')} ({_legend(assessment)})"]
    blocks.append(_columns(MODEL_COLUMNS, [_model(row) for row in assessment.ranking]))
    if assessment.comparisons:
        blocks.append(_columns(("pair", "difference", "p", "p (Holm)", "better"), _pairs(assessment)))
    blocks.extend(_sentences(assessment))
    if assessment.segments:
        blocks.append(_columns(("segment", "model", "n", "miss rate", "gain", "p (Holm)", ""), _segments(assessment)))
    blocks.extend(f"Note: {note}" for note in assessment.notes)
    return "\n".join(blocks)


def html(assessment: Assessment) -> str:
    """Return small HTML tables of the same numbers."""
    parts = [_table(MODEL_COLUMNS, [_model(row) for row in assessment.ranking], _legend(assessment))]
    if assessment.comparisons:
        parts.append(_table(("pair", "difference", "p", "p (Holm)", "better"), _pairs(assessment), "pairs"))
    parts.extend(f"<p>{escape(sentence)}</p>" for sentence in _sentences(assessment))
    if assessment.segments:
        heads = ("segment", "model", "n", "miss rate", "gain", "p (Holm)", "")
        parts.append(_table(heads, _segments(assessment), "segments"))
    parts.extend(f"<p>Note: {escape(note)}</p>" for note in assessment.notes)
    return "".join(parts)


def frame(columns: Mapping[str, Sequence[Any]], backend: Any = None) -> Any:
    """Data frame of the columns: of pandas or Polars, whichever is installed, or of a `backend` that narwhals knows."""
    import narwhals as nw

    if backend is None:
        backend = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
    if backend is None:
        raise ImportError("data frames need pandas or Polars: pip install pandas")
    return nw.from_dict(dict(columns), backend=backend).to_native()


def _legend(assessment: Assessment) -> str:
    settings = assessment.settings
    low, high = settings.miss_rate
    return (
        f"{settings.confidence_level * 100:g} % intervals; gains over the constant band on bandwidth/miss_rate, "
        f"excess/deficit, bandwidth/deficit, partial for miss rates {low:g} to {high:g}; cost {settings.c:g} x "
        f"{settings.axes[0]} + {1 - settings.c:g} x {settings.axes[1]}"
    )


def _model(row: ModelRow) -> list[str]:
    return [
        row.name,
        str(row.rank),
        str(row.n),
        f"{row.miss_rate:.3f} [{row.miss_rate_low:.3f}, {row.miss_rate_high:.3f}]",
        f"{row.bandwidth:.4g}",
        _gain(row, "gain_bandwidth_miss_rate"),
        _gain(row, "gain_excess_deficit"),
        _gain(row, "gain_bandwidth_deficit"),
        _gain(row, "partial_gain"),
        f"{row.cost:.4g}",
        f"{row.cheapest_cost:.4g}",
        f"{row.cheapest_scale:.3g}",
    ]


def _gain(row: ModelRow, name: str) -> str:
    value, low, high = (round(100 * getattr(row, name + end), 1) + 0.0 for end in ("", "_low", "_high"))
    return f"{value:.1f} % [{low:.1f}, {high:.1f}]"


def _pairs(assessment: Assessment) -> Cells:
    return [
        [
            f"{one.first} / {one.second}",
            f"{one.difference:.4g} ({one.statistic})",
            f"{one.pvalue:.3g}",
            f"{one.pvalue_holm:.3g}",
            one.better or "-",
        ]
        for one in assessment.comparisons
    ]


def _sentences(assessment: Assessment) -> list[str]:
    """Return what is to be said of each pair: of its test, and of its curves."""
    noted = [f"{one.first} / {one.second}: {one.note.rstrip('.')}." for one in assessment.comparisons if one.note]
    return noted + [f"{' / '.join(one.names)}: {one.verdict}." for one in assessment.crossings]


def _segments(assessment: Assessment) -> Cells:
    worst = {one.row.name: one for one in reversed(assessment.weakest)}
    return [
        [
            f"{one.feature} {one.label}",
            one.row.name,
            str(one.row.n),
            f"{one.row.miss_rate:.3f} [{one.row.miss_rate_low:.3f}, {one.row.miss_rate_high:.3f}]",
            _gain(one.row, assessment.headline_gain),
            f"{one.pvalue_holm:.3g}",
            _remark(one, worst.get(one.row.name)),
        ]
        for one in assessment.segments
    ]


def _remark(segment: Segment, worst: Segment | None) -> str:
    remarks = [f"misses more than {segment.target:.3g}"] * segment.fails + ["worst gain"] * (segment is worst)
    return ", ".join(remarks)


def _columns(heads: Sequence[str], cells: Cells) -> str:
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = []
    for line in (heads, *cells):
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)


def _table(heads: Sequence[str], cells: Cells, caption: str) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in cells)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
