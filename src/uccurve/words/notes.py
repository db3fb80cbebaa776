"""Notes: what a reader must know before trusting an assessment, one sentence each, without a full stop.

`assess` decides which of them are true and calls them; nothing else writes such sentences. Names come first where a
note is about one model.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from uccurve.words.formats import (
    alike,
    axes_in_words,
    counted,
    coverage,
    joined,
    p,
    percent,
    share,
    short,
)

NAMED = 3  # blocks, rows or segments that are named before the rest are counted
UNIT = "unit="  # the argument that helps where few rows carry a score
OWN_SIZE = "divides rows by their series' own size"

# All models


def predictions_differ() -> str:
    """Whose numbers judge what, where the models do not share their predictions."""
    return (
        "the models' predictions differ: score and CRPS judge predictions and bands together, skill and gains the "
        "bands alone"
    )


def predictions_may_differ() -> str:
    """Whose numbers judge what, where nobody looked whether the models' predictions are equal."""
    return (
        "the models have prediction columns of their own: where these differ, score and CRPS judge predictions and "
        "bands together, skill and gains the bands alone"
    )


def one_block() -> str:
    """That there is no evidence at all, where all rows depend on each other."""
    return "all rows form one block, so there are no confidence intervals or tests; use shorter blocks, or more rows"


def few_blocks(blocks: int) -> str:
    """That intervals are rough.

    >>> few_blocks(4)
    'there are only 4 blocks: confidence intervals and tests from so few are rough; use at least 8'
    """
    return f"there are only {blocks} blocks: confidence intervals and tests from so few are rough; use at least 8"


def few_origins(origins: int, column: str) -> str:
    """That a long frame has few forecast origins.

    >>> few_origins(4, "cutoff")
    'only 4 origins (cutoff): the evidence is weak'
    """
    return f"only {counted(origins, 'origin')} ({short(column)}): the evidence is weak"


def blocked_by(column: str, blocks: int) -> str:
    """Which rows were taken to be dependent, where nobody said.

    >>> blocked_by("cutoff", 24)
    'rows of the same cutoff form a block (24 blocks); block= chooses others, block="none" treats rows as independent'
    """
    return (
        f"rows of the same {short(column)} form a block ({counted(blocks, 'block')}); block= chooses others, "
        'block="none" treats rows as independent'
    )


def repeated_rows(repeated: int, rows: int) -> str:
    """That rows may be repeated, as several runs, or series in several files, would be."""
    return (
        f"{repeated:,} of {counted(rows, 'row')} repeat another row's y_true and y_pred: if these are the same "
        "observations, name them with rows=, or the rows that depend on each other with block="
    )


def clustered_misses(name: str, *, after_a_miss: float, overall: float, pvalue: float) -> str:
    """That misses come in runs, where rows have an order.

    >>> clustered_misses("VaR", after_a_miss=0.231, overall=0.05, pvalue=0.0001)
    "VaR: misses come in runs: 23.1% of the rows right after a miss are missed, 5.0% of all (Christoffersen's \
independence, adjusted p < 0.001), so it is right on average and wrong for a while at a time"
    """
    return (
        f"{short(name)}: misses come in runs: {share(after_a_miss)} of the rows right after a miss are missed, "
        f"{share(overall)} of all (Christoffersen's independence, adjusted {p(pvalue)}), so it is right on average "
        "and wrong for a while at a time"
    )


def level_as_coverage(level: float) -> str:
    """Which coverage counts, where models of several levels were given and none was asked for.

    >>> level_as_coverage(0.9)
    'no coverage was asked for: 90%, the level that all models have nearest to 90%, counts'
    """
    return f"no coverage was asked for: {coverage(level)}, the level that all models have nearest to 90%, counts"


def choosing_not_corrected(models: int, rows: int, most: float) -> str:
    """That the factor does not allow for the choice, and by how much new rows may be covered less at most, if known.

    >>> choosing_not_corrected(5, 300, 0.011)
    'choosing among 5 models on these 300 rows was not corrected: it costs at most 1.1 points of coverage on new rows'
    """
    choosing = f"choosing among {models} models on these {counted(rows, 'row')} was not corrected"
    if isnan(most):
        return f"{choosing}; new rows are covered less often than promised"
    return f"{choosing}: it costs at most {100 * most:.2g} points of coverage on new rows"


def unequal_weights() -> str:
    """What unequal weights do to the factor."""
    return (
        "rows have unequal weights: the factor (or shift) is the smallest whose weighted coverage reaches the target, "
        "without the correction for new rows"
    )


def too_few_rows(rows: int, target: float) -> str:
    """That no conformal rank exists.

    >>> too_few_rows(5, 0.9)
    '5 rows are too few to promise 90% coverage for new rows; no factor is sure to reach it'
    """
    few = counted(rows, "row is", "rows are")
    return f"{few} too few to promise {coverage(target)} coverage for new rows; no factor is sure to reach it"


# One model


def dropped_rows(name: str, dropped: int) -> str:
    """How many rows with a missing value were left out.

    >>> dropped_rows("net", 2)
    'net: 2 rows with missing values were dropped'
    """
    rows = counted(dropped, "row with a missing value was", "rows with missing values were")
    return f"{short(name)}: {rows} dropped"


def raised_bands(name: str, raised: int, rows: int) -> str:
    """How many bands were raised by min_band; a warning where that concerns more than 5% of the rows.

    >>> raised_bands("net", 3, 1000)
    'net: 3 bands were raised by min_band'
    """
    bands = f"{short(name)}: {counted(raised, 'band was', 'bands were')} raised by min_band"
    if raised <= 0.05 * rows:
        return bands
    return (
        f"{bands}, more than 5% of the rows: its half-width, score and factor depend on that choice"
    )


def uncoverable_rows(name: str, rows: int, *, out_of_reach: bool, target: float) -> str:
    """How many rows no factor covers, and what that does to the numbers."""
    which = counted(rows, "row has", "rows have")
    reach = f"no factor reaches {coverage(target)} coverage and " if out_of_reach else ""
    return (
        f"{short(name)}: {which} an error on the side of a zero band, which no factor covers, so {reach}areas are "
        "infinite; raise such bands with min_band"
    )


def carried_by_few_rows(name: str, rows: int, total: int, axes: Sequence[str]) -> str:
    """That few rows make up half of an area."""
    carry = "carries" if rows == 1 else "carry"
    return (
        f"{rows:,} of {total:,} rows {carry} half the area of {short(name)} ({axes_in_words(axes)})"
    )


def score_carried_by_few_rows(name: str, rows: int, total: int) -> str:
    """That few rows carry more than half of a score, and what would help.

    >>> score_carried_by_few_rows("net", 2, 800)
    "net: 2 of 800 rows carry more than half of the score; unit= divides rows by their series' own size"
    """
    carry = "carries" if rows == 1 else "carry"
    return f"{short(name)}: {rows} of {total:,} rows {carry} more than half of the score; {UNIT} {OWN_SIZE}"


def carried_by_few_blocks(name: str, blocks: Sequence[str], total: int) -> str:
    """That few blocks carry more than half of a score, and what would help.

    >>> carried_by_few_blocks("net", ["US", "India"], 80)
    "net: 2 of 80 blocks (US and India) carry more than half of the score; unit= divides rows by their series' own size"
    """
    named = joined([short(block) for block in blocks[:NAMED]])
    carry = "carries" if len(blocks) == 1 else "carry"
    return (
        f"{short(name)}: {len(blocks)} of {total} blocks ({named}) {carry} more than half of the score; "
        f"{UNIT} {OWN_SIZE}"
    )


def carried_by_few_series(name: str, series: Sequence[str], total: int, column: str) -> str:
    """That few series carry more than half of a score, and what would help.

    >>> carried_by_few_series("net", ["H1"], 80, "unique_id")
    "net: 1 of 80 series (unique_id H1) carries more than half of the score; unit= divides rows by their series' own \
size"
    """
    named = joined([short(one) for one in series])
    carry = "carries" if len(series) == 1 else "carry"
    return (
        f"{short(name)}: {len(series)} of {total} series ({short(column)} {named}) {carry} more than half of the "
        f"score; {UNIT} {OWN_SIZE}"
    )


def observations_on_bounds(
    name: str, *, share_on_bounds: float, closed: float, open_coverage: float
) -> str:
    """That no factor hits the target exactly, where many observations lie exactly on a bound.

    >>> observations_on_bounds("net", share_on_bounds=0.12, closed=0.93, open_coverage=0.81)
    'net: 12.0% of the observations lie exactly on a bound, so no factor hits the target exactly: as delivered, \
coverage is 93.0% with the bounds counted as inside and 81.0% without'
    """
    return (
        f"{short(name)}: {share(share_on_bounds)} of the observations lie exactly on a bound, so no factor hits the "
        f"target exactly: as delivered, coverage is {share(closed)} with the bounds counted as inside and "
        f"{share(open_coverage)} without"
    )


def slack(name: str, *, slack_share: float, target: float) -> str:
    """What the promise of coverage costs, where that exceeds 5%.

    >>> slack("net", slack_share=0.083, target=0.9)
    'net: its bands miss where they are narrow, so its score at 90% coverage is 8.3% above its smallest one'
    """
    return (
        f"{short(name)}: its bands miss where they are narrow, so its score at {coverage(target)} coverage is "
        f"{percent(slack_share)} above its smallest one"
    )


def middle_as_prediction(name: str) -> str:
    """That there was no prediction.

    >>> middle_as_prediction("net")
    'net: there is no y_pred, so its intervals are judged around their middle'
    """
    return f"{short(name)}: there is no y_pred, so its intervals are judged around their middle"


def asymmetric_bands() -> str:
    """Which gain asymmetric bands can game."""
    return (
        "some bands are asymmetric: the gain on deficit vs. excess can reward asymmetry that carries no information; "
        "score, skill and the gain on deficit vs. bandwidth cannot"
    )


def levels_or_multiples(
    name: str, *, level: float, levels_crps: float, multiples_crps: float, pvalue: float
) -> str:
    """Whether a model's own levels or multiples of one interval fit the errors better, where that is significant."""
    levels = "its own levels"
    multiples = f"multiples of its {coverage(level)} interval"
    low, high = alike(*sorted((levels_crps, multiples_crps)))
    if levels_crps < multiples_crps:
        claim = f"{levels} do better than {multiples}"
    else:
        claim = f"{multiples} do better than {levels}"
    return f"{short(name)}: {claim} (potential CRPS {low} vs. {high}, {p(pvalue)})"


def scaled_level(name: str, level: float) -> str:
    """Whose curve is shown of a model of several levels without its rows.

    >>> scaled_level("net", 0.9)
    'net: areas and CRPS are those of its 90% interval, scaled'
    """
    return f"{short(name)}: areas and CRPS are those of its {coverage(level)} interval, scaled"


def levels_need_rows(name: str) -> str:
    """What is left out of streamed models of several levels."""
    return (
        f"{short(name)}: what needs the curve through its levels (potential CRPS, areas, gains and costs) needs the "
        "rows, so a stream leaves it out"
    )


def interpolated_level(name: str, level: float) -> str:
    """That the interval of a level lies between two that were delivered."""
    return f"{short(name)}: its {coverage(level)} interval is interpolated between the levels that were delivered"


# What was not tested: parts of one line that begins "Not tested:"


def pairs_not_tested(untested: int, total: int, reason: str = "") -> str:
    """How many pairs of models could not be tested.

    >>> pairs_not_tested(1, 3, "fewer than two blocks have a miss")
    '1 of 3 pairs (fewer than two blocks have a miss)'
    """
    why = f" ({reason})" if reason else ""
    return f"{untested} of {counted(total, 'pair')}{why}"


def segments_not_tested(untested: int, total: int, first: Sequence[str]) -> str:
    """How many segments are a single block, and the first of them.

    >>> segments_not_tested(2, 12, ["site A", "site B"])
    '2 of 12 segments, each a single block (site A and site B)'
    """
    named = [short(name) for name in first[:NAMED]]
    more = f" and {untested - NAMED} more" if untested > NAMED else ""
    names = ", ".join(named) if more else joined(named)
    each = "each a single block" if untested > 1 else "a single block"
    return f"{untested} of {counted(total, 'segment')}, {each} ({names}{more})"


def coverage_not_tested(name: str) -> str:
    """That nothing is known about the chance in a coverage."""
    return f"the coverage of {short(name)}"
