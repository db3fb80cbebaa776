"""Second pass: sums of what the rows contribute to each statistic at the scales that the first pass found.

With blocks the engine sums the numbers of `_influence` within each of them. Without, it sums the forms and their
squares, also those of the differences between models, which give the variances of independent rows. The rows were
checked in the first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import reduce
from itertools import combinations, pairwise, product
from math import nan, sqrt
from operator import add
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._distributions import hypergeometric_tail
from uccurve._refusals import Rule, miss_rate_of, sentence
from uccurve._vocabulary import Array
from uccurve.assess.levels import PIT, LevelRow, pit_band
from uccurve.assess.model import promise_of
from uccurve.evidence.inference import one_sided_t_test
from uccurve.evidence.units import labelled

from ._bins import mark, sums_by
from ._engine_checks import Frame
from ._engines import bands, flag
from ._influence import NUMBERS, SHARES, Changes, Mix, Units, changes_of, joined_label, root
from ._scan import TINY, Scan, Table, col, collected

if TYPE_CHECKING:
    from ._model import StreamedModel

MOST_GROUPS = (
    1_000_000  # number of combinations of blocks and labels that is refused where there are more
)
WIS_PARTS = ("wis_dispersion", "wis_underprediction", "wis_overprediction")
Columns = dict[str, nw.Expr]


def second_pass(scan: Scan, models: Sequence[StreamedModel], *, blocks: bool) -> Sums:
    """Sum what the evidence on all models needs, for each combination of block and labels where these matter."""
    rows, numbers, plain = scan.kept, Columns(), Columns()
    rows = rows.filter(col("weight") > 0) if scan.weighted else rows
    places, spark = [model.place for model in models], rows.implementation.is_spark_like()
    if spark:  # no nulls are left, but code that looks for them makes Spark's methods too long for Java to compile
        ends = (f"{end}_{i}" for end in ("lower", "upper") for i in places)
        rows = rows.with_columns(col(*sorted({*scan.numbers, *ends})).fill_null(0.0))
    rows = bands(rows, {i: scan.floors[i] for i in places})
    ratios = {
        f"critical_{i}": col(f"error_{i}") / (col(f"active_{i}") + TINY) for i in places
    }  # 0 / 0 is 0
    rows = rows.with_columns(
        **{name: value.fill_null(0.0) if spark else value for name, value in ratios.items()}
    )
    for i, model in enumerate(models):
        own = _numbers(rows, model, raised=scan.min_band is not None) | level_columns(rows, model)
        numbers |= {f"{i} {name}": own.pop(name) for name in NUMBERS if name in own}
        plain |= {f"{i} {name}": value for name, value in own.items()}
    rows = rows.with_columns(**numbers, **plain)

    def times_weight(value: nw.Expr) -> nw.Expr:
        return value * col("weight") if scan.weighted else value

    names, forms = [*plain, *numbers], Columns()
    if not blocks:
        forms = _forms(models)
        rows = (
            rows.with_columns(**forms) if forms else rows
        )  # of perfect predictions there are none
        needed = ("wis", *(SHARES if scan.weighted or scan.groups else ()))
        names = [*plain, *(name for name in numbers if name.split()[1] in needed)]
    sums = {name: times_weight(col(name)) for name in names}
    sums |= {name: times_weight(col(name)) * times_weight(col(name)) for name in forms}
    if scan.weighted:
        sums |= {"weight": col("weight"), "squares": col("weight") * col("weight")}
        crossed = () if blocks else (*names, *forms)
        sums |= {f"{name} cross": times_weight(times_weight(col(name))) for name in crossed}
    table = _summed(rows, ["block"] * blocks + [*scan.groups], sums, models[0].place)
    if {int(table["rows"].sum())} != {model.state.rows for model in models}:
        raise ValueError(
            "`frame` must give the same rows each time it is read. Hint: write a sample to a file first."
        )
    return Sums(table, models[0].state.rows, models[0].state.total)


def _numbers(rows: Frame, model: StreamedModel, *, raised: bool) -> Columns:
    """Numbers of each row, whether it lies above the delivered interval, and whether the factor to ship covers it."""
    i, look, y = model.place, model.look, col("y_true")
    error, active, critical = (col(f"{name}_{i}") for name in ("error", "active", "critical"))
    over = (y > col(f"y_pred_{i}")) & (critical > 1) if raised else y > col(f"upper_{i}")
    return {
        "width": col(f"width_{i}"),
        "error": error,
        "critical": critical,
        "product": error * critical,
        "square": error * error,
        "short": _deficits(error, look.best, lambda t: active * t),
        "crps": _deficits(error, look.crps, lambda t: active * t),
        "flat": _deficits(error, look.flat, lambda t: t),
        "covered": flag(rows, critical <= 1.0),
        "reached": flag(rows, critical <= look.target),
        "shipped": flag(rows, critical <= model.target.value),
        "above": flag(rows, over),
    }


def _deficits(error: nw.Expr, mix: Mix, band: Callable[[float], Any]) -> nw.Expr:
    """Shares of the deficit at some scales: a positive part is half a number plus half its size."""
    terms = []
    for t, share in zip(mix.scales, mix.shares, strict=True):
        short = error - band(t) if t > 0 else error
        terms.append(_times(short + short.abs(), share / 2) if t > 0 else _times(short, share))
    return sum(terms[1:], terms[0])


def _times(value: nw.Expr, factor: float) -> nw.Expr:
    return value if factor == 1 else value * factor


def _base(name: str) -> str:
    """Return the statistic to whose form that of a gain or of the skill adds a term."""
    return "crps" if name == "skill" else name.replace("gain", "area")


def _unit(model: StreamedModel, name: str) -> float:
    """Return the first coefficient of a form, by which engines divide it: a product less."""
    form = model.forms[_base(name)][1:]
    return float(form[np.flatnonzero(form)[0]])


def _forms(models: Sequence[StreamedModel]) -> Columns:
    """Forms of each row, without what is the same for all: of each model and statistic, and differences of models."""
    found = Columns()
    for i, model in enumerate(models):
        for name, form in model.forms.items():
            if name not in SHARES:
                base = _base(name)
                rest = (form if base == name else form - model.forms[base]) / _unit(model, name)
                terms = [
                    _times(col(f"{i} {NUMBERS[k]}"), float(rest[k]))
                    for k in np.flatnonzero(rest)
                    if k
                ]
                first, *others = terms if base == name else [found[f"form {i} {base}"], *terms]
                found[f"form {i} {name}"] = sum(others, first)
    pairs = combinations(range(len(models)), 2)
    differences = {
        f"form {i} {j} {name}": found[f"form {i} {name}"]
        - found[f"form {j} {name}"] * _ratio(models, (i, j), name)
        for i, j in pairs
        for name in _tested(models)
    }
    return found | differences


def _ratio(models: Sequence[StreamedModel], pair: tuple[int, int], name: str) -> float:
    """Second model's value of a statistic, in the unit of its form, over that of the first."""
    first, second = (models[i].value_of(name) * _unit(models[i], name) for i in pair)
    return second / first


def _tested(models: Sequence[StreamedModel]) -> list[str]:
    """Return the statistics on which all models are compared."""
    asked = (models[0].settings.ranked_by, "wis")
    return [name for name in asked if all(name in model.forms for model in models)]


def _summed(rows: Frame, keys: Sequence[str], sums: Columns, place: int) -> Table:
    """Sum the columns for each combination of the keys."""
    columns = [nw.len().alias("rows"), *(col(name).sum() for name in sums)]
    if not keys:
        return collected(rows.select(**sums).select(*columns))
    keys, parts = [*keys], 1
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


class Sums:
    """Answer of the second pass, and what it says about chance."""

    def __init__(self, table: Table, rows: int, total: float) -> None:
        self.weighted, self.total = "weight" in table, total
        one = table["weight"] if self.weighted else table["rows"].astype(np.float64)
        self._table, self._chosen = table | {"one": one}, np.ones(len(one), np.bool_)
        self.blocked = "block" in table
        self._block = _blocks(table) if self.blocked else np.zeros(1, np.intp)
        self._blocks = int(self._block.max()) + 1
        self.units = Units(
            rows, self._blocks if self.blocked else rows, equal=not (self.blocked or self.weighted)
        )

    def labels(self, places: Sequence[int]) -> Array:
        """Label of each group of rows that its labels in some columns make up."""
        columns = (self._table[f"by_{place}"].tolist() for place in places)
        return np.array([joined_label(one) for one in zip(*columns, strict=True)])

    def split(self, inside: Flags, rows: int, total: float) -> tuple[Sums, Sums]:
        """Sums over some groups of rows, and over all others."""
        return self._part(inside, rows, total), self._part(
            ~inside, self.units.rows - rows, self.total - total
        )

    def _part(self, chosen: Flags, rows: int, total: float) -> Sums:
        part = copy(self)
        count = len(np.unique(self._block[chosen])) if self.blocked else rows
        part._chosen, part.total, part.units = (
            chosen,
            total,
            replace(self.units, rows=rows, count=count),
        )
        return part

    def sum(self, name: str) -> float:
        """Sum over all rows."""
        return float(self._table[name][self._chosen].sum())

    def mean(self, name: str) -> float:
        """Mean over all rows."""
        return self.sum(name) / self.total

    def share(self, shares: Mapping[str, float]) -> tuple[float, Array | None]:
        """Mean of a sum of flags that exclude each other, and the influence on it; None for rows of equal weight."""
        mean = sum(sign * self.mean(name) for name, sign in shares.items())
        if self.blocked:
            flagged = sum(sign * self._by_block(name) for name, sign in shares.items())
            return mean, (flagged - mean * self._by_block("one")) / self.total
        if self.units.equal:
            return mean, None
        crossed = sum(sign * self.sum(f"{name} cross") for name, sign in shares.items())
        return mean, root(crossed * (1 - 2 * mean) + mean**2 * self._squares) / self.total

    def lower_share_test(self, rest: Sums, name: str) -> float:
        """One-sided p-value of a smaller share of flagged rows than in the rest of the rows.

        As `compare._evidence.segment_test`, from sums.
        """
        fewer, sides = min(self.units.count, rest.units.count), (self, rest)
        (share, change), (other, other_change) = (side.share({name: 1.0}) for side in sides)
        if change is None or other_change is None:
            missed = [
                round((1 - one) * side.units.rows)
                for one, side in zip((share, other), sides, strict=True)
            ]
            return hypergeometric_tail(
                missed[0], self.units.rows, sum(missed), self.units.rows + rest.units.rows
            )
        if fewer < 2:
            return nan
        change = change - other_change if self.blocked else np.append(change, other_change)
        overall = (share * self.total + other * rest.total) / (self.total + rest.total)
        independent = overall * (1 - overall) * sum(side._squares / side.total**2 for side in sides)
        error = sqrt(max(float(np.dot(change, change)) * fewer / (fewer - 1), independent))
        return one_sided_t_test(other - share, error, fewer - 1, size=1.0)

    def changes(self, i: int, model: StreamedModel) -> Changes:
        """Influence of the blocks, or of single rows, on each statistic of a model."""
        if self.blocked:
            one = self._by_block("one")
            names = [f"{i} {name}" for name in NUMBERS[1:]]
            numbers = [self._by_block(name) if name in self._table else 0 * one for name in names]
            return changes_of(np.stack([one, *numbers]), model.forms)
        found = {
            name: self._root(f"form {i} {name}", self._mean_form(i, model, name))
            * abs(_unit(model, name))
            for name in model.forms
            if name not in SHARES
        }
        shares = {
            name: self.share({f"{i} {name}": 1.0})[1] for name in SHARES if not self.units.equal
        }
        return found | {name: change for name, change in shares.items() if change is not None}

    def pairs(self, models: Sequence[StreamedModel]) -> dict[str, dict[tuple[int, int], Array]]:
        """Influence of independent rows on the differences of two models; those of blocks follow from `changes`."""
        found: dict[str, dict[tuple[int, int], Array]] = {name: {} for name in _tested(models)}
        for name, pair in product(found, combinations(range(len(models)), 2)):
            first, second = (self._mean_form(i, models[i], name) for i in pair)
            mean = first - second * _ratio(models, pair, name)
            size = models[pair[0]].value_of(name) * abs(_unit(models[pair[0]], name))
            found[name][pair] = self._root(f"form {pair[0]} {pair[1]} {name}", mean) * size
        return found

    def _mean_form(self, i: int, model: StreamedModel, name: str) -> float:
        """Mean of a form over all rows, which the bins know."""
        if name == "wis":
            return self.mean(f"{i} wis")
        return float(model.forms[name][1:] @ model.means[1:]) / _unit(model, name)

    def _root(self, name: str, mean: float) -> Array:
        """Root of the sum of squared influences of independent rows on a form with a known mean."""
        crossed = self.sum(f"{name} cross") if self.weighted else mean * self.units.rows
        return root(self.sum(name) - 2 * mean * crossed + mean**2 * self._squares) / self.total

    @property
    def _squares(self) -> float:
        """Sum of the squared weights."""
        return self.sum("squares") if self.weighted else float(self.units.rows)

    def _by_block(self, name: str) -> Array:
        return sums_by(self._block[self._chosen], self._table[name][self._chosen], self._blocks)


def _blocks(table: Table) -> Indices:
    """Number of the block of each group of rows."""
    labels = table["block"].tolist()
    missing = np.array([label is None or label != label for label in labels])  # noqa: PLR0124  # NaN is no label
    if missing.any():
        rows = table["rows"]
        raise ValueError(sentence(labelled("block"), int(rows[missing].sum()), int(rows.sum())))
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([number[label] for label in labels], np.intp)


# ---- levels


def level_columns(rows: Frame, model: StreamedModel) -> Columns:
    """On which side of each level an observation is missed, which bounds cross, and the WIS with its three parts."""
    if not model.levels:
        return {}
    y, median = col("y_true"), col(f"y_pred_{model.place}")
    found = {"on the median": flag(rows, y == median)}
    found |= {
        "below the median": flag(rows, y < median),
        "above the median": flag(rows, y > median),
    }
    bounds = [(col(f"lower_{place}"), col(f"upper_{place}")) for place in model.levels.values()]
    for k, (lower, upper) in enumerate(bounds):
        found |= {f"over {k}": flag(rows, y > upper), f"under {k}": flag(rows, y < lower)}
    for k, (inner, outer) in enumerate(pairwise(bounds)):
        found[f"lower crossing {k}"] = flag(rows, inner[0] < outer[0])
        found[f"upper crossing {k}"] = flag(rows, inner[1] > outer[1])
    share = 1 / (len(bounds) + 0.5)
    tails = [float(miss_rate_of(level) / 2) for level in model.levels]
    terms = [(upper - lower) * tail for tail, (lower, upper) in zip(tails, bounds, strict=True)]
    late = [_positive(y - median) * 0.5, *(_positive(y - upper) for _, upper in bounds)]
    early = [_positive(median - y) * 0.5, *(_positive(lower - y) for lower, _ in bounds)]
    parts = [reduce(add, one) * share for one in (terms, late, early)]
    return found | dict(zip(WIS_PARTS, parts, strict=True)) | {"wis": reduce(add, parts)}


def _positive(value: nw.Expr) -> nw.Expr:
    return (value + value.abs()) * 0.5


def level_fields(i: int, model: StreamedModel, sums: Sums) -> dict[str, Any]:
    """Coverage of each level of a model, their weighted interval score (Bracher and others 2021) and PIT histogram."""
    if not model.levels:
        return {}
    _refuse_crossing(i, model, sums)
    levels = tuple(
        _level(f"{i} {{}} {k}", level, model, sums) for k, level in enumerate(model.levels)
    )
    parts = {name: sums.mean(f"{i} {name}") / model.size for name in WIS_PARTS}
    return {"levels": levels, "pit": _pit(i, model, sums), **parts}


def _refuse_crossing(i: int, model: StreamedModel, sums: Sums) -> None:
    for k in range(len(model.levels) - 1):
        for side in ("lower", "upper"):
            if crossing := round(sums.sum(f"{i} {side} crossing {k}")):
                must, hint = f"be nested in their {side} bounds", "sort crossing quantiles first"
                rule = Rule("levels", must, ("is not", "are not"), hint)
                raise ValueError(f"{model.name}: {sentence(rule, crossing, sums.units.rows)}")


def _level(name: str, level: float, model: StreamedModel, sums: Sums) -> LevelRow:
    over, under, own = name.format("over"), name.format("under"), model.level_answers[level]
    missed, change = sums.share({over: 1.0, under: 1.0})
    low, high = sums.units.share_ends(1 - missed, change, model.settings.confidence_level)
    fields = {"coverage": 1 - missed, "coverage_low": low, "coverage_high": high}
    fields |= {"missed_above": sums.mean(over), "missed_below": sums.mean(under)}
    fields |= {
        "scale": own.place_for_new_rows(level).value,
        "half_width": own.binned.half_width / model.size,
    }
    return LevelRow(model=model.name, level=level, promise=promise_of(fields, level), **fields)


def _pit(i: int, model: StreamedModel, sums: Sums) -> PIT:
    """Count observations between the quantiles of the levels, as `compare.calibration.pit`."""
    tails = [miss_rate_of(one) / 2 for one in model.levels]
    edges = (
        0.0,
        *(float(tail) for tail in reversed(tails)),
        0.5,
        *(float(1 - tail) for tail in tails),
        1.0,
    )
    sides = []
    for outside, inside in (("under", "below the median"), ("over", "above the median")):
        beyond = [f"{i} {outside} {k}" for k in reversed(range(len(tails)))] + [f"{i} {inside}"]
        sides.append(
            [{beyond[0]: 1.0}, *({inner: 1.0, outer: -1.0} for outer, inner in pairwise(beyond))]
        )
        sides[-1][-1][f"{i} on the median"] = 1.0
    each, bins = model.settings.confidence_level ** (1 / (len(edges) - 1)), []
    for width, flags in zip(np.diff(edges).tolist(), sides[0] + sides[1][::-1], strict=True):
        share, change = sums.share(flags)
        effective = sums.units.effective_rows(share, change, each) if sums.units.count > 1 else nan
        tied = sums.mean(f"{i} on the median") / 2 if f"{i} on the median" in flags else 0.0
        bins.append(((share - tied) / width, *pit_band(effective, width, each)))
    return PIT(edges, *(tuple(map(float, column)) for column in zip(*bins, strict=True)))
