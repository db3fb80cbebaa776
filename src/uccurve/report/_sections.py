"""Sections: what the page says of the model to ship, of pairs of models and of segments, in words and tables."""

import shlex
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from uccurve.results import Assessment, Segment
from uccurve.words.columns import PAIRS, SEGMENTS, chosen, filled
from uccurve.words.formats import (
    amount,
    change,
    coverage,
    factor,
    fixed,
    is_reachable,
    number,
    p,
    share,
    short,
)
from uccurve.words.tables import SEGMENTS_SHOWN, Table, listed_segments, pairs_of_best

PAIRS_LISTED, CROSSINGS = 1000, 40  # that the page lists at most
MAPPED = 12  # models that the map of segments has room for


def headline(found: Assessment) -> str:
    """Return the decision, with which the verdict's text begins."""
    best = found[found.verdict.model]
    return f"Ship {short(best.name)} with bands {change(best)}"


def facts(found: Assessment) -> list[tuple[str, str, str]]:
    """Return the numbers of the card: their names, texts, and intervals or remarks.

    They are the factor, the coverage, the half-width and how sure the choice is.
    """
    verdict, settings = found.verdict, found.settings
    best = found[verdict.model]
    own = "its bands" if best.level is None else f"its {coverage(best.level)} bands"
    shifted = isfinite(best.shift)
    move = amount(best.shift) if shifted else factor(best.scale, best.scale_low, best.scale_high)
    width = number(best.half_width, best.half_width_low, best.half_width_high)
    sure = "As delivered", str(share(best.coverage)), str(best.promise or "")
    if verdict.runner_up is not None:
        shown = f"{'better' if verdict.decided else 'not shown to be better'} than {short(verdict.runner_up)}"
        sure = (
            "How sure",
            shown,
            f"adjusted {p(verdict.pvalue)}" if isfinite(verdict.pvalue) else "not tested",
        )
    example = "an example: none was asked for" if settings.coverage is None else "of new rows"
    return [
        (f"Add to {own}" if shifted else f"Multiply {own}", move.text, move.interval),
        ("Coverage", str(coverage(settings.shown_coverage)), example),
        ("Half-width", width.text, f"{width.interval} {filled('{unit}', settings)}".strip()),
        sure,
    ]


def promises(found: Assessment) -> list[str]:
    """Return one sentence for each model whose coverage as delivered is not the one promised."""
    target, sentences = coverage(found.settings.shown_coverage), []
    for row in (row for row in found.ranking if row.promise in ("too narrow", "too wide")):
        covers = share(row.coverage, row.coverage_low, row.coverage_high)
        remedy = f" Bands {change(row)} would keep the promise." if is_reachable(row) else ""
        broken = f"{short(row.name)} covers {covers} as delivered, {row.promise} for the promised {target}."
        sentences.append(f"{broken}{remedy}")
    return sentences


def commands(found: Assessment, reading: Sequence[str] | None) -> dict[str, str]:
    """Return what applies the verdict, on the command line and in Python.

    `reading` are the file of the model to ship and the options that say how to read it; None where no command can.
    """
    best = found[found.verdict.model]
    if not is_reachable(best):
        return {}
    shifted = isfinite(best.shift)
    own = "intervals" if best.level is None else f"curve.intervals_at(level={best.level:g})"
    call = f"shift={best.shift:.6g}" if shifted else f"scale={best.scale:.6g}"
    lines = {"In Python": f"{own}.calibrated({call})"}
    if reading is None:
        return lines
    line = ["uccurve", "calibrate", reading[0], "new.csv", "-o", "calibrated.csv", *reading[1:]]
    if best.level is None:  # a file with several levels is calibrated to each of them
        line += ["--coverage", str(coverage(found.settings.shown_coverage))]
    line += ["--vary", "shift"] if shifted else []
    return {"On the command line": shlex.join(line), **lines}


class Pairs(NamedTuple):
    """Pairs of models: how many differ, those with the model to ship, all of them, and where curves cross."""

    sentence: str
    own: Table
    full: Table | None
    crossings: Sequence[str]


def pairs(found: Assessment) -> Pairs | None:
    """Return which models differ significantly, the model to ship first; None for a single model."""
    tested, best, settings = found.comparisons, found.verdict.model, found.settings
    if not tested:
        return None
    own, rank = pairs_of_best(found), {row.name: row.rank for row in found.rows}
    crossed = sorted(
        found.crossings,
        key=lambda one: (best not in one.names, sum(rank[name] for name in one.names)),
    )
    sure = sum(one.better is not None for one in tested)
    differ = f"{sure} of {len(tested):,} pairs differ significantly (paired tests, adjusted by Holm's method)."
    if len(tested) == 1:
        differ = (
            f"The two models {'differ' if sure else 'do not differ'} significantly (paired test)."
        )
    listed = tested[:PAIRS_LISTED]
    every = Table(
        f"{len(listed):,} of {len(tested):,} pairs", chosen(PAIRS, listed, settings), listed
    )
    others = f"{short(best)} vs. {'the others' if len(own) > 1 else 'the other'}"
    return Pairs(
        differ,
        Table(others, chosen(PAIRS, own, settings), own),
        every if len(tested) > len(own) else None,
        [f"{' vs. '.join(map(short, one.names))}: {one.verdict}" for one in crossed[:CROSSINGS]],
    )


class Segments(NamedTuple):
    """What the page says of segments; the map has one row per title, one column per model."""

    sentences: Sequence[str]
    worst: Table
    full: Table
    titles: Sequence[str]
    models: Sequence[str]
    spots: Mapping[tuple[str, str], Segment]


def segments(found: Assessment) -> Segments | None:
    """Return where models fail: how many, the worst first, and all; None where there are no segments."""
    every, promised, failing = found.segments, found.settings.coverage, listed_segments(found)
    if not every:
        return None
    count = f"{len(failing)} of {len(every)}" if failing else f"None of the {len(every)}"
    target = "the model's other rows" if promised is None else f"{coverage(promised)} as shipped"
    falls = f"{'falls' if len(failing) < 2 else 'fall'} significantly short of {target}."
    return Segments(
        [
            f"{count} segments {falls}",
            *(sentence for row in found.ranking for sentence in fixed(row, every)),
        ],
        _worst(found, failing),
        Table(f"All {len(every):,} segments", chosen(SEGMENTS, every, found.settings), every),
        list(dict.fromkeys(one.title for one in every)),
        [row.name for row in found.ranking[:MAPPED]],
        {(one.title, one.model): one for one in every},
    )


def _worst(found: Assessment, failing: Sequence[Segment]) -> Table:
    """Return the most significant failures with the factor each would need; where none fails, the lowest coverages."""
    own = [one for one in found.segments if one.model == found.verdict.model]
    listed = (failing or sorted(own, key=lambda one: one.coverage))[:SEGMENTS_SHOWN]
    title = "Segments left short" if failing else "Lowest coverage"
    if len(failing) > len(listed):
        title = f"The worst {len(listed)} of {len(failing)}"
    columns = chosen(SEGMENTS, listed, found.settings)
    if len({one.model for one in listed}) == 1:
        row = found[listed[0].model]
        title = f"{title}: {short(row.name)}, which needs bands {change(row)} as a whole"
        columns = [column for column in columns if column.field != "model"]
    return Table(title, columns, listed)
