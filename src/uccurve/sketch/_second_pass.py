"""Second pass: sums of what the rows contribute to each statistic at the scales that the first pass found.

With blocks the engine sums the numbers of `_influence` within each of them. Without, it sums the forms and their
squares, also those of the differences between models, which give the variances of independent rows. The rows were
checked in the first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import reduce
from itertools import combinations, pairwise, product
from math import nan, sqrt
from operator import add
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._distributions import hypergeometric_tail
from uccurve._refusals import Rule, miss_rate_of, sentence
from uccurve._vocabulary import Array
from uccurve.assess.segments import Covered
from uccurve.evidence.inference import ROUNDING, effective_count, one_sided_t_test
from uccurve.evidence.units import Spread, SummedUnits, labelled

from ._bins import SketchState, mark, sums_by
from ._engines import bands, flag, sides_missed
from ._influence import (
    NUMBERS,
    PLACE,
    Changes,
    Mix,
    Scales,
    Shipping,
    changes_of,
    joined_label,
    offset_of_blocks,
    root,
)
from ._model import StreamedModel
from ._scan import HUGE, TINY, Frame, Scan, Table, col, collected, lit

MOST_GROUPS = 1_000_000  # combinations of blocks and labels that are refused where there are more
# Sums up to which Java compiles the methods that Spark generates for all of them, and how many it forms at a time
# where there are more: its methods hold what all models of these sums need.
MOST_SUMS, PART = 75, 12
TILE = (
    3  # pairs of so many and so many models follow each other, so that few models make up some sums
)
CHANGING_ROWS = (
    "`frame` must give the same rows each time it is read. Hint: write a sample to a file first."
)
WIS_PARTS = ("dispersion", "underprediction", "overprediction")
# Whether an observation lies above its interval, and exactly on a bound.
FLAGS = ("above", "on bound")
# Numbers that say which rows are missed, and by what factor; `chosen` is that of a model chosen among others.
MISSES = ("open", "missed", "chosen", "flat_missed")
# Numbers whose means over independent rows no bins tell exactly, and what the offset of a score is made of.
SUMMED = (
    "reached",
    "width",
    "late",
    "missed",
    "beyond",
    "missed_width",
    "flat_late",
    "flat_missed",
    "open",
)
Expressions = dict[str, nw.Expr]


def of(i: int, name: str) -> str:
    """Column of a number of model i."""
    return f"{i} {name}"


def crossed(name: str) -> str:
    """Column of a number times the squared weight."""
    return f"{name} cross"


def second_pass(scan: Scan, models: Sequence[StreamedModel], *, blocks: bool) -> Sums:
    """Sum what the evidence on all models needs, for each combination of block and labels where these matter."""
    dependent = blocks or models[0].state.unequal
    rows = _with_criticals(scan, models, dependent=dependent)
    numbers = Expressions()
    plain = Expressions()
    for i, model in enumerate(models):
        of_model = _numbers(rows, scan, model) | level_columns(rows, scan, model)
        if dependent:
            of_model |= _reached(rows, model)
        for name, value in of_model.items():
            (numbers if name in PLACE else plain)[of(i, name)] = value
    rows = rows.with_columns(**numbers, **plain)
    if blocks:
        sums = _block_sums(scan, [*plain, *numbers])
    else:
        forms = _forms(models)
        if forms:  # of perfect predictions there are none
            rows = rows.with_columns(**forms)
        asked = [of(i, name) for i in range(len(models)) for name in (*SUMMED, "wis")]
        names = [name for name in numbers if name in asked]
        misses = [of(i, name) for i in range(len(models)) for name in MISSES]
        sums = _row_sums(scan, [*plain, *names], list(forms), misses)
    keys = ["block"] * blocks + [*scan.groups]
    table = _summed(rows, keys, sums, models[0].place)
    if {int(table["rows"].sum())} != {model.state.rows for model in models}:
        raise ValueError(CHANGING_ROWS)
    return Sums(table, models[0])


def _with_criticals(scan: Scan, models: Sequence[StreamedModel], *, dependent: bool) -> Frame:
    """Rows with the errors, bands and critical scales of the delivered intervals."""
    rows = scan.kept
    rows = rows.filter(col("weight") > 0) if scan.weighted else rows
    places = [model.place for model in models]
    spark = rows.implementation.is_spark_like()
    if spark:  # no nulls are left, but code that looks for them makes Spark's methods too long for Java to compile
        rows = rows.with_columns(col(*scan.numbers).fill_null(0.0))
    levels = [place for model in models for place in model.levels.values()]
    moved = levels if dependent or scan.min_band is not None else []
    rows = bands(scan, rows, list(dict.fromkeys([*places, *moved])))
    ratios = {i: col(f"error_{i}") / (col(f"active_{i}") + TINY) for i in places}  # 0 / 0 is 0
    return rows.with_columns(
        **{f"critical_{i}": ratio.fill_null(0.0) if spark else ratio for i, ratio in ratios.items()}
    )


def _reached(rows: Frame, model: StreamedModel) -> Expressions:
    """Which rows are missed at the quantiles around which the ranks of factors lie."""
    quantile = model.first_scales.quantile
    columns = {"reached": flag(rows, col(f"critical_{model.place}") > quantile)}
    for k, (level, place) in enumerate(model.levels.items()):
        t = min(model.level_quantiles[level], HUGE)  # beyond it lie uncoverable rows only
        beyond = col(f"error_{place}") / (col(f"active_{place}") + TINY) > t
        columns[f"reached {k}"] = flag(rows, beyond)
    return columns


def _numbers(rows: Frame, scan: Scan, model: StreamedModel) -> Expressions:
    """Numbers of each row, whether it lies above the delivered interval, and whether it lies on a bound."""
    i = model.place
    scales = model.first_scales
    error, active, critical = (col(f"{name}_{i}") for name in ("error", "active", "critical"))
    over, under = sides_missed(scan, i)
    is_open = over | under
    columns = {
        "width": col(f"width_{i}"),
        "error": error,
        "critical": critical,
        "product": error * critical,
        "square": error * error,
        "outside": _deficits(error, Mix.at(1.0), lambda _: active),
        "open": flag(rows, is_open),
        "short": _deficits(error, scales.best, lambda t: active * t),
        "crps": _deficits(error, scales.crps, lambda t: active * t),
        "flat": _deficits(error, scales.flat, lambda t: t),
        "above": flag(rows, over),
        "on bound": flag(rows, ((critical == 1.0) & ~is_open) | (active + error <= 0)),
    }
    if not scales.ships:
        return columns
    t = scales.shipping.t
    flat_t = scales.constant.t
    missed = flag(rows, is_open if t == 1 else critical > t)
    columns |= {
        "late": _deficits(error, Mix.at(t), lambda t: active * t),
        "missed": missed,
        "beyond": missed * active,
        "missed_width": missed * col(f"width_{i}"),
        "flat_late": _deficits(error, Mix.at(flat_t), lambda t: t),
        "flat_missed": flag(rows, error > flat_t),
    }
    if scan.groups and model.multiplier != 1:
        columns["chosen"] = flag(rows, critical > model.chosen_t)
    return columns


def _deficits(error: nw.Expr, mix: Mix, band: Callable[[float], Any]) -> nw.Expr:
    """Shares of the deficit at some scales: a positive part is half a number plus half its size."""
    terms = []
    for t, share in zip(mix.scales, mix.shares, strict=True):
        short = error - band(t) if t > 0 else error
        terms.append(_times(short + short.abs(), share / 2) if t > 0 else _times(short, share))
    return sum(terms[1:], terms[0])


def _times(value: nw.Expr, factor: float) -> nw.Expr:
    return value if factor == 1 else value * factor


# ---- forms


def _unit(model: StreamedModel, name: str) -> float:
    """Return the first coefficient of a form, by which engines divide it: a product less."""
    form = model.row_forms[name][1:]
    return float(form[np.flatnonzero(form)[0]])


def _forms(models: Sequence[StreamedModel]) -> Expressions:
    """Forms of each row, without what is the same for all: of each model and statistic, and differences of models."""
    columns = Expressions()
    for i, model in enumerate(models):
        for name, form in model.row_forms.items():
            rest = form / _unit(model, name)
            terms = [
                _times(col(of(i, NUMBERS[k])), float(rest[k])) for k in np.flatnonzero(rest) if k
            ]
            columns[_form(name, i)] = sum(terms[1:], terms[0])
    for name in (models[0].settings.ranked_by, "wis"):
        for i, j in _tested(models, name):
            second = columns[_form(name, j)] * _ratio(models, (i, j), name)
            columns[_form(name, i, j)] = columns[_form(name, i)] - second
    return columns


def _form(name: str, *models: int) -> str:
    """Column of the form of a model, or of the difference of two."""
    return " ".join(["form", *map(str, models), name])


def _value(model: StreamedModel, name: str) -> float:
    """What a form of mean 1 stands for, in units of y_true, times its unit."""
    unit = _unit(model, name)
    if name == "wis":
        return unit
    if name == "score":
        return model.raw.shipped_score(coverage=1 - model.alpha).middle * unit
    return model.brackets[name].middle * model.size * unit


def _ratio(models: Sequence[StreamedModel], pair: tuple[int, int], name: str) -> float:
    """Second model's value of a statistic, in the unit of its form, over that of the first."""
    first, second = (_value(models[i], name) for i in pair)
    return second / first


def _tested(models: Sequence[StreamedModel], name: str) -> list[tuple[int, int]]:
    """Return the pairs of models, by their places, both of which have a form for a statistic."""
    places = [i for i, model in enumerate(models) if name in model.row_forms]
    pairs = combinations(places, 2)
    return sorted(pairs, key=lambda pair: (pair[0] // TILE, pair[1] // TILE))


# ---- sums


def _block_sums(scan: Scan, names: Sequence[str]) -> Expressions:
    """What is summed within blocks."""
    sums = {name: _weighted(scan, col(name)) for name in names}
    return sums | _weight_sums(scan)


def _row_sums(
    scan: Scan, names: Sequence[str], forms: Sequence[str], misses: Sequence[str]
) -> Expressions:
    """What is summed over independent rows: numbers, squares of forms, and how many rows are missed."""
    sums = {name: _weighted(scan, col(name)) for name in names}
    for name in forms:
        weighted = _weighted(scan, col(name))
        sums[name] = weighted * weighted
    if scan.weighted:
        for name in (*names, *forms):
            sums[crossed(name)] = _weighted(scan, _weighted(scan, col(name)))
        sums |= {f"{name} rows": col(name) for name in names if name in misses}
    return sums | _weight_sums(scan)


def _weight_sums(scan: Scan) -> Expressions:
    if not scan.weighted:
        return {}
    return {"weight": col("weight"), "squares": col("weight") * col("weight")}


def _weighted(scan: Scan, value: nw.Expr) -> nw.Expr:
    return value * col("weight") if scan.weighted else value


def _summed(rows: Frame, keys: Sequence[str], sums: Expressions, place: int) -> Table:
    """Sum the columns for each combination of the keys; on Spark some of them at a time."""
    if not rows.implementation.is_spark_like() or len(sums) <= MOST_SUMS:
        return _summed_at_once(rows, keys, sums, place)
    names = [*sums]
    tables = []
    for start in range(0, len(names), PART):
        part = {name: sums[name] for name in names[start : start + PART]}
        tables.append(_summed_at_once(rows, keys, part, place))
    return _joined_by(keys, tables)


def _joined_by(keys: Sequence[str], tables: Sequence[Table]) -> Table:
    """Return the columns of several tables that have the same keys, in any order."""
    whole = dict(tables[0])
    places = {key: i for i, key in enumerate(_keys_of(whole, keys))}
    for table in tables[1:]:
        place_of_key = [places.get(key, -1) for key in _keys_of(table, keys)]
        order = np.argsort(place_of_key)
        same = sorted(place_of_key) == [*range(len(places))]
        if not (same and np.array_equal(table["rows"][order], whole["rows"])):
            raise ValueError(CHANGING_ROWS)
        whole |= {name: column[order] for name, column in table.items() if name not in keys}
    return whole


def _keys_of(table: Table, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the keys of each row; a missing one is None."""
    if not keys:
        return [()]
    columns = [table[key].tolist() for key in keys]
    rows = zip(*columns, strict=True)
    return [tuple(map(_known, row)) for row in rows]


def _known(label: Any) -> Any:
    return None if label != label else label  # noqa: PLR0124  # NaN is no label


def _summed_at_once(rows: Frame, keys: Sequence[str], sums: Expressions, place: int) -> Table:
    """Sum the columns for each combination of the keys."""
    columns = [nw.len().alias("rows"), *(col(name).sum() for name in sums)]
    if not keys:
        return collected(rows.select(**sums).select(*columns))
    keys = [*keys]
    parts = 1
    if rows.implementation.is_polars():
        # Sums are slow where each row adds to the same number as the row before, so a block is split by scale.
        keys, parts = [*keys, "part"], 6
        rows = rows.with_columns(part=mark(col(f"critical_{place}").clip(0.2, 3.0), 1))
    grouped = rows.select(*keys, **sums).group_by(*keys).agg(*columns)
    table = collected(grouped.head(parts * MOST_GROUPS + 1))
    if len(table["rows"]) > parts * MOST_GROUPS:
        raise ValueError(
            f"`block` and `by` must have at most {MOST_GROUPS:,} combinations of labels: there are more. "
            "Hint: use coarser blocks, such as days or weeks."
        )
    return table


# ---- what they say


class Share(NamedTuple):
    """Share of flagged rows, and the influence of the units on it; None for rows of equal weight."""

    value: float
    change: Array | None


class Seen(NamedTuple):
    """What rows, or blocks of rows, say of one model beyond its bins.

    Attributes
    ----------
    changes : mapping of str to array
        Influence of the units on the logarithm of each statistic.
    open, reached : Share
        Rows that are missed as delivered, and at the quantile on which the factor rests.
    offset, constant_offset : float
        What the fit of the factor hides of the score as shipped, and that of the constant band, in units of y_true.
    misses : mapping of str to int
        Number of units with a row that is missed, as delivered and so on.
    score, constant : float
        Interval score at the factor, and that of the constant band as shipped, in units of y_true.
    above, on_bounds : float
        Shares of the rows above their interval, and on a bound of it; nan where sketches do not say.
    score_of_blocks : array or None
        What each block adds to the score.
    """

    changes: Changes
    open: Share
    reached: Share
    offset: float
    constant_offset: float
    misses: Mapping[str, int]
    score: float
    constant: float
    above: float
    on_bounds: float
    score_of_blocks: Array | None


def effective_rows(units: SummedUnits, share: Share, confidence_level: float) -> float:
    """Return the number of independent rows that a share says as much about (Korn and Graubard 1998)."""
    if units.independent or share.change is None:
        return float(units.rows)
    if units.count < 2:
        return nan
    return effective_count(share.value, units.spread(share.change), units, confidence_level)


def seen_of_blocks(
    model: StreamedModel, numbers: Array, units: SummedUnits, *, above: float, on_bounds: float
) -> Seen:
    """What sums of the numbers over blocks say of a model."""
    weights = numbers[0]
    total = float(weights.sum())

    def share(name: str) -> Share:
        flagged = numbers[PLACE[name]]
        mean = float(flagged.sum()) / total
        change = None if units.independent else (flagged - mean * weights) / total
        return Share(mean, change)

    reached = share("reached")
    scales = model.first_scales
    if not units.independent:
        level = model.settings.confidence_level
        scales = model.scales_for(effective_rows(units, reached, level))
    alpha = scales.alpha
    width, beyond, late = (numbers[PLACE[name]] for name in ("width", "beyond", "late"))
    flat_missed = numbers[PLACE["flat_missed"]]
    slopes = width - 2 / alpha * beyond
    flat_slopes = 2 * weights - 2 / alpha * flat_missed
    scores = scales.shipping.t * width + late / alpha
    constant = 2 * scales.constant.t + float(numbers[PLACE["flat_late"]].sum()) / total / alpha
    return Seen(
        changes=_log_wis(changes_of(numbers, model.forms(scales)), numbers[PLACE["wis"]], total),
        open=share("open"),
        reached=reached,
        offset=offset_of_blocks(weights, slopes, numbers[PLACE["missed"]], scales.shipping),
        constant_offset=offset_of_blocks(weights, flat_slopes, flat_missed, scales.constant),
        misses={
            name: int(np.count_nonzero(numbers[PLACE[name]] > 0))
            for name in ("open", "missed", "flat_missed", "short")
        },
        score=float(scores.sum()) / total,
        constant=constant,
        above=above,
        on_bounds=on_bounds,
        score_of_blocks=scores,
    )


def _log_wis(changes: dict[str, Array], wis: Array, total: float) -> dict[str, Array]:
    """Influence on the logarithm of the weighted interval score too, where it is positive."""
    mean = float(wis.sum()) / total
    if "wis" in changes:
        changes["wis"] = changes["wis"] / (mean or nan)
    return changes


class Sums:
    """Answer of the second pass, and what it says about chance."""

    def __init__(self, table: Table, model: StreamedModel) -> None:
        state = model.state
        self.weighted = "weight" in table
        self.unequal = state.unequal
        self.total = state.total
        self.blocked = "block" in table
        weights = table["weight"] if self.weighted else table["rows"].astype(np.float64)
        self._table = table | {"one": weights}
        self._chosen = np.ones(len(weights), np.bool_)
        self._block = np.zeros(1, np.intp)
        self.block_names: Sequence[str] = ()
        if self.blocked:
            self._block, self.block_names = _blocks(table)
        self._blocks = int(self._block.max()) + 1
        count = self._blocks if self.blocked else state.rows
        independent = count == state.rows and not self.unequal
        self.units = SummedUnits(state.rows, count, independent=independent)

    def labels(self, places: Sequence[int]) -> Array:
        """Label of each group of rows that its labels in some columns make up."""
        columns = (self._table[f"by_{place}"].tolist() for place in places)
        return np.array([joined_label(labels) for labels in zip(*columns, strict=True)])

    def split(self, inside: Flags, state: SketchState) -> tuple[Sums, Sums]:
        """Sums over some groups of rows, whose state is given, and over all others."""
        rest = self.units.rows - state.rows, self.total - state.total
        others = self._part(~inside, *rest, unequal=self.unequal)
        return self._part(inside, state.rows, state.total, unequal=state.unequal), others

    def _part(self, chosen: Flags, rows: int, total: float, *, unequal: bool) -> Sums:
        part = copy(self)
        part._chosen = chosen
        part.total = total
        count = len(np.unique(self._block[chosen])) if self.blocked else rows
        part.units = SummedUnits(rows, count, independent=count == rows and not unequal)
        return part

    def has(self, name: str) -> bool:
        """Whether something was summed."""
        return name in self._table

    def sum(self, name: str) -> float:
        """Sum over all rows; 0 where nothing was summed."""
        return float(self._table[name][self._chosen].sum()) if self.has(name) else 0.0

    def mean(self, name: str) -> float:
        """Mean over all rows."""
        return self.sum(name) / self.total

    def share(self, shares: Mapping[str, float]) -> Share:
        """Mean of a sum of flags that exclude each other, and the influence on it."""
        mean = sum(sign * self.mean(name) for name, sign in shares.items())
        if min(abs(mean), abs(mean - 1)) < ROUNDING:  # all rows or none
            mean = float(round(mean))
        if self.units.independent:
            return Share(mean, None)
        if self.blocked:
            flagged = sum(sign * self._by_block(name) for name, sign in shares.items())
            return Share(mean, (flagged - mean * self._by_block("one")) / self.total)
        cross = sum(sign * self._cross(name) for name, sign in shares.items())
        change = root(cross * (1 - 2 * mean) + mean**2 * self._squares) / self.total
        return Share(mean, change)

    def covered(self, name: str, confidence_level: float) -> Covered:
        """Share of the rows that are not missed, and how many independent rows it is worth."""
        share = self.share({name: 1.0})
        return Covered(1 - share.value, effective_rows(self.units, share, confidence_level))

    def missed_more_often(self, rest: Sums, name: str) -> float:
        """One-sided p-value of a larger share of missed rows than in the rest, as `segment_test` of the rows."""
        sides = (self, rest)
        if not rest.units.rows:
            return nan
        if not self.unequal and (not self.blocked or self._whole_is_independent):
            missed = [round(side.sum(name) / side.total * side.units.rows) for side in sides]
            rows = self.units.rows + rest.units.rows
            return hypergeometric_tail(missed[0], self.units.rows, sum(missed), rows)
        fewer = min(self.units.count, rest.units.count)
        if fewer < 2:
            return nan
        shares = [side._with_change(name) for side in sides]
        rate, other_rate = (share.value for share in shares)
        if self.blocked:
            change = shares[0].change - shares[1].change
        else:
            change = np.concatenate([share.change for share in shares])
        overall = (rate * self.total + other_rate * rest.total) / (self.total + rest.total)
        squares = sum(side._squares / side.total**2 for side in sides)
        dependent = float(np.dot(change, change)) * fewer / (fewer - 1)
        spread = Spread(sqrt(max(dependent, overall * (1 - overall) * squares)), fewer - 1)
        return one_sided_t_test(rate - other_rate, spread, size=1.0)

    @property
    def _whole_is_independent(self) -> bool:
        return self._blocks == int(self._table["rows"].sum())

    def _with_change(self, name: str) -> Any:
        """Share with its influence, also where that says no more than the share."""
        mean = self.mean(name)
        if self.blocked:
            return Share(mean, (self._by_block(name) - mean * self._by_block("one")) / self.total)
        cross = self._cross(name) * (1 - 2 * mean) + mean**2 * self._squares
        return Share(mean, root(cross) / self.total)

    # ---- one model

    def seen(self, i: int, model: StreamedModel) -> Seen:
        """What the rows say of a model."""
        above, on_bounds = (self.mean(of(i, name)) for name in FLAGS)
        if not self.blocked:
            return self._seen_of_rows(i, model, above, on_bounds)
        weights = self._by_block("one")
        names = [of(i, name) for name in NUMBERS[1:]]
        numbers = [self._by_block(name) if self.has(name) else 0 * weights for name in names]
        return seen_of_blocks(
            model, np.stack([weights, *numbers]), self.units, above=above, on_bounds=on_bounds
        )

    def _seen_of_rows(self, i: int, model: StreamedModel, above: float, on_bounds: float) -> Seen:
        scales = model.first_scales
        mean = {name: self.mean(of(i, name)) for name in SUMMED}
        short = model.rows_beyond(scales.best.scales[0])
        misses = {"open": model.rows_beyond(1.0), "short": short}
        for name in ("missed", "flat_missed"):
            counted = f"{of(i, name)} rows" if self.weighted else of(i, name)
            misses[name] = round(self.sum(counted))
        return Seen(
            changes=self._changes(i, model),
            open=self.share({of(i, "open"): 1.0}),
            reached=self.share({of(i, "reached"): 1.0}),
            offset=self._offset(i, scales),
            constant_offset=self._constant_offset(i, scales),
            misses=misses,
            score=scales.shipping.t * mean["width"] + mean["late"] / scales.alpha,
            constant=2 * scales.constant.t + mean["flat_late"] / scales.alpha,
            above=above,
            on_bounds=on_bounds,
            score_of_blocks=None,
        )

    def _offset(self, i: int, scales: Scales) -> float:
        """What the fit of the factor hides of the score, from sums over independent rows."""
        missed = of(i, "missed")
        penalty = 2 / scales.alpha
        both = self._cross(of(i, "missed_width")) - penalty * self._cross(of(i, "beyond"))
        slopes = self._cross(of(i, "width")) - penalty * self._cross(of(i, "beyond"))
        slope = self.mean(of(i, "width")) - penalty * self.mean(of(i, "beyond"))
        return self._hidden(scales.shipping, missed, both, slopes, slope)

    def _constant_offset(self, i: int, scales: Scales) -> float:
        """The same of the constant band."""
        missed = of(i, "flat_missed")
        penalty = 2 / scales.alpha
        both = (2 - penalty) * self._cross(missed)
        slopes = 2 * self._squares - penalty * self._cross(missed)
        return self._hidden(scales.constant, missed, both, slopes, 2 - penalty * self.mean(missed))

    def _hidden(
        self, shipping: Shipping, missed: str, both: float, slopes: float, slope: float
    ) -> float:
        """Offset from sums, times squared weights, of slopes of missed rows and of all."""
        rate = self.mean(missed)
        centred = both - rate * slopes - slope * self._cross(missed) + slope * rate * self._squares
        return -shipping.sparsity * centred / self.total**2

    def _changes(self, i: int, model: StreamedModel) -> dict[str, Array]:
        """Influence of independent rows on each statistic."""
        changes = {}
        for name in model.row_forms:
            change = self._root(_form(name, i), self._mean_form(i, model, name))
            size = abs(_unit(model, name))
            changes[name] = change * (
                size / (self.mean(of(i, "wis")) or nan) if name == "wis" else size
            )
        return changes

    def pairs(self, models: Sequence[StreamedModel], name: str) -> dict[frozenset[str], Array]:
        """Influence of independent rows on the difference of each two models, in units of y_true."""
        changes: dict[frozenset[str], Array] = {}
        for pair in _tested(models, name):
            first, second = (self._mean_form(i, models[i], name) for i in pair)
            mean = first - second * _ratio(models, pair, name)
            names = frozenset(models[i].name for i in pair)
            change = self._root(_form(name, *pair), mean)
            changes[names] = change * abs(_value(models[pair[0]], name))
        return changes

    def _mean_form(self, i: int, model: StreamedModel, name: str) -> float:
        """Mean of a form over all rows, from sums where the bins do not know it."""
        means = model.means.copy()
        for number in (*SUMMED, "wis"):
            if number in PLACE and self.has(of(i, number)):
                means[PLACE[number]] = self.mean(of(i, number))
        return float(model.row_forms[name][1:] @ means[1:]) / _unit(model, name)

    def _root(self, name: str, mean: float) -> Array:
        """Root of the sum of squared influences of independent rows on a form with a known mean."""
        cross = self.sum(crossed(name)) if self.weighted else mean * self.units.rows
        return root(self.sum(name) - 2 * mean * cross + mean**2 * self._squares) / self.total

    def _cross(self, name: str) -> float:
        """Sum of a number times the squared weight."""
        return self.sum(crossed(name)) if self.weighted else self.sum(name)

    @property
    def _squares(self) -> float:
        """Sum of the squared weights."""
        return self.sum("squares") if self.weighted else float(self.units.rows)

    def _by_block(self, name: str) -> Array:
        return sums_by(self._block[self._chosen], self._table[name][self._chosen], self._blocks)


def _blocks(table: Table) -> tuple[Indices, list[str]]:
    """Number of the block of each group of rows, by the order of the labels, and the labels."""
    labels = table["block"].tolist()
    missing = np.array([label is None or label != label for label in labels])  # noqa: PLR0124  # NaN is no label
    if missing.any():
        rows = table["rows"]
        raise ValueError(sentence(labelled("block"), int(rows[missing].sum()), int(rows.sum())))
    ordered = sorted(set(labels))
    number = {label: i for i, label in enumerate(ordered)}
    return np.array([number[label] for label in labels], np.intp), [str(label) for label in ordered]


# ---- levels


def level_columns(rows: Frame, scan: Scan, model: StreamedModel) -> Expressions:
    """On which side of each level an observation is missed, which bounds cross, and the WIS with its three parts."""
    if not model.levels:
        return {}
    y = col("y_true")
    median = col(f"y_pred_{model.place}")
    columns = {
        "on the median": flag(rows, y == median),
        "below the median": flag(rows, y < median),
        "above the median": flag(rows, y > median),
    }
    bounds = [_bounds(scan, place) for place in model.levels.values()]
    for k, place in enumerate(model.levels.values()):
        over, under = sides_missed(scan, place)
        columns[f"over {k}"] = flag(rows, over)
        columns[f"under {k}"] = flag(rows, under)
        lower, upper = bounds[k]
        columns[f"on {k}"] = flag(rows, (y == lower) | (y == upper))
    for k, (inner, outer) in enumerate(pairwise(bounds)):
        columns[f"lower crossing {k}"] = flag(rows, inner[0] < outer[0])
        columns[f"upper crossing {k}"] = flag(rows, inner[1] > outer[1])
    share = 1 / (len(bounds) + 0.5)
    tails = [float(miss_rate_of(level) / 2) for level in model.levels]
    terms = [(upper - lower) * tail for tail, (lower, upper) in zip(tails, bounds, strict=True)]
    late = [_positive(y - median) * 0.5, *(_positive(y - upper) for _, upper in bounds)]
    early = [_positive(median - y) * 0.5, *(_positive(lower - y) for lower, _ in bounds)]
    parts = [reduce(add, part) * share for part in (terms, late, early)]
    return columns | dict(zip(WIS_PARTS, parts, strict=True)) | {"wis": reduce(add, parts)}


def _bounds(scan: Scan, place: int) -> tuple[nw.Expr, nw.Expr]:
    """Lower and upper bounds, with small bands raised."""
    lower, upper = col(f"lower_{place}"), col(f"upper_{place}")
    if scan.min_band is None:
        return lower, upper
    p, floor = col(f"y_pred_{place}"), scan.floors[place]
    return (
        nw.when(col(f"low_{place}")).then(p - lit(floor)).otherwise(lower),
        nw.when(col(f"high_{place}")).then(p + lit(floor)).otherwise(upper),
    )


def _positive(value: nw.Expr) -> nw.Expr:
    return (value + value.abs()) * 0.5


def refuse_crossing(i: int, model: StreamedModel, sums: Sums) -> None:
    """Refuse levels whose bounds cross, as memory does."""
    for k, side in product(range(len(model.levels) - 1), ("lower", "upper")):
        crossing = round(sums.sum(of(i, f"{side} crossing {k}")))
        if crossing:
            must = f"be nested in their {side} bounds"
            rule = Rule("levels", must, ("is not", "are not"), "sort crossing quantiles first")
            raise ValueError(f"{model.name}: {sentence(rule, crossing, sums.units.rows)}")
