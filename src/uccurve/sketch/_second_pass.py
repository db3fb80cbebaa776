"""Second pass: sums of the influence of the rows at the scales that the first pass found.

With blocks the engine sums the influence within each of them. Without, it sums squares, also those of the differences
between models, which give the variances of independent rows. The rows were checked in the first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import nan
from typing import Any

import narwhals as nw
import numpy as np

from uccurve._arrays import Indices
from uccurve._checks import Array
from uccurve.compare._model import promise_of
from uccurve.compare.calibration import LevelRow

from ._bins import NOTHING, sums_by
from ._engine_checks import Frame
from ._engines import Table, bands, col, collected, lit, when
from ._findings import pairs_of
from ._forms import BlockSums, Form, Mix
from ._model import StreamedModel
from ._rows import State
from ._units import Coverages, Evidence, Units, root, squares

MOST_GROUPS = 1_000_000
"""Number of combinations of blocks and labels that is refused where there are more."""


class RowNumbers:
    """Columns of one model's rows, as expressions; `of` ends their names."""

    one = 1.0

    def __init__(self, of: str) -> None:
        self.error, self._active, self.critical = (col(f"{name}{of}") for name in ("error", "active", "critical"))
        self.half_width, self._of = col(f"width{of}") * 0.5, of
        self.product, self.square = self.error * self.critical, self.error * self.error

    def added(self, rows: Frame) -> Frame:
        """Rows with their critical scale, which all expressions but scores need."""
        ratio = when(self.error > 0).then(self.error / self._active).otherwise(lit(0.0))
        return rows.with_columns(ratio.alias(f"critical{self._of}"))

    def deficits(self, mix: Mix) -> nw.Expr:
        """Shares of the deficit at some scales."""
        moments = sum(t * share for t, share in zip(mix.scales, mix.shares, strict=True))
        line = self.error * (sum(mix.shares) / 2) - self._active * (moments / 2)
        return _with_distances(line, mix, lambda t: self.error - self._active * t)

    def flat_deficits(self, mix: Mix) -> nw.Expr:
        """Shares of the deficit in constant bands."""
        moments = sum(t * share for t, share in zip(mix.scales, mix.shares, strict=True))
        line = self.error * (sum(mix.shares) / 2) - moments / 2
        return _with_distances(line, mix, lambda t: self.error - t)

    def covered(self, t: float) -> nw.Expr:
        """Whether scale t covers the row; by the quotient, as bins do."""
        return (self.critical <= t).cast(nw.Float64)

    @property
    def missed_above(self) -> nw.Expr:
        """Whether the observation lies above the delivered interval."""
        return ((col("y_true") > col(f"y_pred{self._of}")) & (self.critical > 1)).cast(nw.Float64)


def _with_distances(line: nw.Expr, mix: Mix, distance: Callable[[float], nw.Expr]) -> nw.Expr:
    """Sum of positive parts, each half the distance plus half its size; the former add up to a line."""
    for t, share in zip(mix.scales, mix.shares, strict=True):
        line = line + distance(t).abs() * (share / 2)
    return line


def second_pass(
    rows: Frame,
    models: Sequence[StreamedModel],
    floors: Sequence[float | None],
    *,
    keys: Sequence[str],
    levels: Sequence[int],
) -> Sums:
    """Sum what the influence functions of all models need, for each combination of the `keys`: block and labels.

    `rows` have the columns y_true, weight if there are weights, the keys, and for model i y_pred_i, lower_i, upper_i
    and, for each of its `levels` k, lower_i_k and upper_i_k.
    """
    values: dict[str, nw.Expr] = {}
    weighted, summed = "weight" in rows.collect_schema().names(), "block" in keys
    weight: Any = col("weight") if weighted else 1.0
    size = weight if summed else weight * weight
    for i, (model, floor) in enumerate(zip(models, floors, strict=True)):
        x = RowNumbers(f"_{i}")
        rows = x.added(bands(rows, floor, f"_{i}"))
        found = {f"{i} {name}": one for name, one in model.forms.logarithms(x).items()}
        rows = rows.with_columns(**{name: _influence(one, weighted=weighted) for name, one in found.items()})
        values |= {name: col(name) if summed else col(name) * col(name) for name in found}
        if summed or weighted:
            shares = {f"{i} {name}": one.value for name, one in model.forms.shares(x).items()}
            values |= {name: one * size for name, one in shares.items()} if weighted else shares
        plain = {"above": x.missed_above}
        for k in range(levels[i]):
            plain |= {"late": _positive(col("y_true") - col(f"y_pred_{i}"))} | _level(i, k)
        values |= {f"{i} {name}": one * weight if weighted else one for name, one in plain.items()}
    if weighted:
        values |= {"weight": size} | ({"squares": weight * weight} if summed else {})
    if not summed:
        values |= _differences(models)
    rows = rows.select(*keys, **values)
    sums = [col(name).sum() for name in values]
    if not keys:
        return Sums(collected(rows.select(*sums)), models[0].state)
    table = collected(rows.group_by(*keys).agg(nw.len().alias("rows"), *sums).head(MOST_GROUPS + 1))
    if len(table["rows"]) > MOST_GROUPS:
        raise ValueError(
            f"`block` and `by` must have at most {MOST_GROUPS:,} combinations of labels: there are more. "
            "Hint: use coarser blocks, such as days or weeks."
        )
    return Sums(table, models[0].state)


def _level(i: int, k: int) -> dict[str, nw.Expr]:
    """One level of a model: its width, on which side the observation is missed, and by how much."""
    y, lower, upper = col("y_true"), col(f"lower_{i}_{k}"), col(f"upper_{i}_{k}")
    above, below = _positive(y - upper), _positive(lower - y)
    counts = {f"over {k}": (y > upper).cast(nw.Float64), f"under {k}": (y < lower).cast(nw.Float64)}
    return {f"width {k}": upper - lower, f"above {k}": above, f"below {k}": below, **counts}


def _positive(value: nw.Expr) -> nw.Expr:
    return (value + value.abs()) * 0.5


def _influence(form: Form, *, weighted: bool) -> nw.Expr:
    """Influence of a row; without weights its mean need not be taken off, as it is known."""
    found: nw.Expr = (form.value - form.mean) * col("weight") if weighted else form.value
    return found


def _differences(models: Sequence[StreamedModel]) -> dict[str, nw.Expr]:
    """Squared differences of what ranks the models: the influence on its logarithm times its value."""
    name, found = models[0].settings.ranked_by, {}
    for (i, one), (j, two) in combinations(enumerate(models), 2):
        first, second = col(f"{i} {name}") * one.ranked_value, col(f"{j} {name}") * two.ranked_value
        found[f"{i} {j}"] = (first - second) * (first - second)
    return found


class Sums:
    """What the second pass found.

    A table with the columns "i name" for model i and "i j" for a pair, "weight", and the keys: sums over the rows of
    each block and combination of labels; without blocks sums of squares over all rows, in which "weight", "covered" and
    "reached" are sums of squared weights.
    """

    def __init__(self, table: Table, state: State) -> None:
        self._table, self._state = table, state
        self._weight = table.get("weight", table.get("rows", NOTHING))  # without weights each row counts one
        self._labels: list[Any] | None = None
        self._block: Indices = np.empty(0, np.intp)
        if "block" in table:
            self._labels, self._block = _numbered(table)
        count = state.rows if self._labels is None else len(self._labels)
        self._units = Units(state.rows, count, equal=self._labels is None and not state.weighted)

    def evidence(self, models: Sequence[StreamedModel]) -> Evidence:
        """What the models' blocks, or single rows, say about chance."""
        changes, total = [self._changes(i, model) for i, model in enumerate(models)], self._state.total
        pairs = pairs_of(models, changes)
        if self._labels is None:
            means = [0.0 if self._state.weighted else model.ranked_value for model in models]
            squares_of = {(i, j): self._state.rows * (means[i] - means[j]) ** 2 for i, j in pairs}
            pairs = {(i, j): root(self._sum(f"{i} {j}") - known) / total for (i, j), known in squares_of.items()}
        above = [self._mean(f"{i} above") for i in range(len(models))]
        return Evidence(self._units, changes, pairs, above, self._labels)

    def _changes(self, i: int, model: StreamedModel) -> dict[str, Array]:
        """Influence of the blocks on each statistic; without blocks, the root of the sum of squares over rows."""
        weighted, x, found = self._state.weighted, BlockSums([model.state]), dict[str, Array]()
        for name, form in model.forms.logarithms(x).items():
            mean = 0.0 if weighted else form.mean  # that of weighted rows was taken off
            known = self._state.rows * mean**2
            found[name] = (
                self._by_block(f"{i} {name}", mean) if self._labels else root(self._sum(f"{i} {name}") - known)
            )
        for name, form in model.forms.shares(x).items():
            if self._labels:
                found[name] = self._by_block(f"{i} {name}", form.mean)
            elif weighted:
                found[name] = root(squares(float(self._weight.sum()), self._sum(f"{i} {name}"), form.mean))
        return {name: values / self._state.total for name, values in found.items()}

    def _sum(self, name: str) -> float:
        return float(self._table[name].sum())

    def _by_block(self, name: str, mean: float) -> Array:
        return sums_by(self._block, self._table[name] - mean * self._weight, self._units.count)

    def coverages(self, i: int) -> Coverages:
        """Covered rows of one model by block and label."""
        table = self._table
        labels = [table[name].tolist() for name in table if name.startswith("by_")]
        weight, covered = self._weight, table.get(f"{i} covered", NOTHING)
        block = None if self._labels is None else self._block
        return Coverages(self._units, weight, covered, table.get("squares", weight), block, labels)

    def level_fields(self, i: int, model: StreamedModel, levels: Sequence[float]) -> dict[str, Any]:
        """Coverage of each level of a model, and their weighted interval score (Bracher and others 2021)."""
        late, share = self._mean(f"{i} late"), 1 / (len(levels) + 0.5) / model.size
        width, above, below = (
            [self._mean(f"{i} {name} {k}") for k in range(len(levels))] for name in ("width", "above", "below")
        )
        parts = {
            "wis_dispersion": share * sum((1 - level) / 2 * one for level, one in zip(levels, width, strict=True)),
            "wis_underprediction": share * (late / 2 + sum(above)),
            "wis_overprediction": share * ((model.forms.means.error - late) / 2 + sum(below)),
        }
        rows = [self._level_row(f"{i} {{}} {k}", level, model) for k, level in enumerate(levels)]
        return {"levels": tuple(rows), "wis": sum(parts.values()), "wis_low": nan, "wis_high": nan, **parts}

    def _level_row(self, name: str, level: float, model: StreamedModel) -> LevelRow:
        over, under, width = (self._mean(name.format(one)) for one in ("over", "under", "width"))
        missed, ends, change = over + under, (nan, nan), None
        if self._labels:
            sums = self._by_block(name.format("over"), over) + self._by_block(name.format("under"), under)
            change = sums / self._state.total
        if self._labels or self._units.equal:
            ends = self._units.share_ends(1 - missed, change, model.settings.confidence_level)
        fields = {"coverage": 1 - missed, "coverage_low": ends[0], "coverage_high": ends[1], "scale": nan}
        fields |= {"missed_above": over, "missed_below": under, "half_width": width / 2 / model.size}
        return LevelRow(model=model.name, level=level, promise=promise_of(fields, level), **fields)

    def _mean(self, name: str) -> float:
        return self._sum(name) / self._state.total


def _numbered(table: Table) -> tuple[list[Any], Indices]:
    """Labels of the blocks, and the number of the block of each group of rows."""
    labels = table["block"].tolist()
    missing = np.array([label is None or label != label for label in labels])  # noqa: PLR0124  # NaN is no label
    if missing.any():
        rows = table["rows"]
        raise ValueError(
            f"`block` must hold a label in each row: {int(rows[missing].sum())} of {int(rows.sum())} rows have none. "
            "Hint: give such rows a label of their own."
        )
    known: dict[Any, int] = {}
    number = np.array([known.setdefault(label, len(known)) for label in labels], np.intp)
    return list(known), number
