"""Engines: the bins of a sketch from any data frame, by one aggregation that narwhals passes to the frame's engine.

Every step is plain arithmetic, so all engines assign a row to the same bin. Rows that `Intervals` would refuse get a
negative number instead of a critical scale, or make a sum infinite or NaN; only where there are any does a second
aggregation count them by rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from uccurve import _arrays as arrays
from uccurve import _checks as checks
from uccurve._checks import DroppedRowsWarning
from uccurve._frames import opened

from ._bins import Histogram, bin_of, checked, mark
from ._engine_checks import NESTED, Frame, acceptable, all_finite, floats, is_finite, refuse, refuse_nested
from ._rows import SUMS, State, tidy

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Table = dict[str, npt.NDArray[Any]]
REFUSED, MISSING, WEIGHTLESS = -1.0, -2.0, -4.0
"""Codes in place of the critical scale of rows that have none."""
NEXT = 1 + 2.0**-52
"""Critical scale of an error equal to its band where the observation is outside its bound nevertheless, by rounding."""
Y_SUMS = {"active": "y_sum", "width": "y_squares"}
"""Sums that the histogram of the errors does not need, and what it sums in their place: every sum costs time."""
SQL = {getattr(nw.Implementation, name) for name in ("DUCKDB", "IBIS", "PYSPARK", "PYSPARK_CONNECT", "SQLFRAME")}
"""Engines that would read the rows again for each grouping, so rows are repeated instead."""
col, lit, when = nw.col, nw.lit, nw.when
GAP = col("active") + col("active") - col("width")
NUMBERS = {"critical": col("critical"), "crossover": (col("error") + col("error")) / GAP, "errors": col("error")}
"""The number by which each histogram bins the rows; those without a gap have no crossover."""


@dataclass(frozen=True)
class Job:
    """What the engine is asked for; `rows` have a column per role and per group key."""

    rows: Frame
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    drop: bool
    resolution: int
    floor: float | None = None

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return "weight" in self.roles

    @property
    def kept(self) -> Frame:
        """Rows that are not dropped."""
        return self.rows.filter(all_finite(self.roles)) if self.drop else self.rows

    @property
    def sums(self) -> tuple[str, ...]:
        """What is summed for the histogram with the most sums."""
        raised = () if self.floor is None else ("raised",)
        return (*(name for name in SUMS["critical"] if self.weighted or name != "weight"), *raised)


def job(
    frame: IntoFrame,
    names: Mapping[str, str | None],
    *,
    by: Sequence[str] = (),
    min_band: float | str | None,
    missing: str,
    resolution: int,
) -> Job:
    """Return what the engine is asked for, with the columns that hold the roles and the group keys."""
    checks.choice("missing", missing, ("raise", "drop"))
    given = {role: name for role, name in names.items() if name is not None}
    native = opened(frame, given | {f"by[{i}]" if len(by) > 1 else "by": key for i, key in enumerate(by)})
    schema = native.collect_schema()
    refuse_nested(schema, by)
    columns = floats(schema, given) | {f"by_{i}": col(key) for i, key in enumerate(by)}
    keys = tuple(f"by_{i}" for i in range(len(by)))
    found = Job(native.select(**columns).lazy(), tuple(given), keys, missing == "drop", checked(resolution))
    return found if min_band is None else replace(found, floor=_floor(found, min_band))


def states(job: Job) -> dict[tuple[Any, ...], State]:
    """Return the state of each group; under the empty tuple where there are none."""
    engine = job.rows.implementation
    way = _stacked if engine.is_polars() else _repeated if engine in SQL else _apart
    table = collected(way(job, _numbers(job)))
    _check(table, job)
    return {group: _state(part, job) for group, part in _parts(table, job.groups)}


def _floor(job: Job, min_band: float | str) -> float:
    """Return the minimum band; a share of the mean half-width takes an extra pass over the rows."""
    floor = checks.floor(min_band, 0.0)
    if not isinstance(min_band, str):
        return floor
    weight = col("weight") if job.weighted else lit(1.0)
    halves = job.kept.select(half=(col("upper") / 2 - col("lower") / 2) * weight, weight=weight + 0 * col("upper"))
    sums = collected(halves.select(col("half").sum(), col("weight").sum()))
    half, total = float(sums["half"][0]), float(sums["weight"][0])
    if not (0 <= half < np.inf and np.isfinite(total)):
        refuse(job.kept, job.roles, floored=True)
    return checks.floor(min_band, half / total) if total > 0 else floor


def bands(rows: Frame, floor: float | None, of: str = "") -> Frame:
    """Add the size of the error, the band on its side and the width of each row; `of` ends the names of a model."""
    y, (p, lower, upper) = col("y_true"), (col(f"{name}{of}") for name in ("y_pred", "lower", "upper"))
    error, below, above = (col(f"{name}{of}") for name in ("error", "below", "above"))
    rows = rows.with_columns(**{f"error{of}": y - p, f"below{of}": p - lower, f"above{of}": upper - p})
    rows = rows if floor is None else _raised(rows, floor, of)
    active = when(error >= 0).then(above).otherwise(below)
    if rows.implementation.is_polars():  # it would multiply by the inverse of a constant column
        active = active + 0 * error
    elif rows.implementation in SQL:  # in DuckDB arithmetic is faster than a choice per row
        up = (error >= 0).cast(nw.Float64)
        active = above * up + below * (1 - up)
    return rows.with_columns(**{f"error{of}": error.abs(), f"active{of}": active, f"width{of}": below + above})


def _raised(rows: Frame, floor: float, of: str) -> Frame:
    """Raise small bands; the new bounds contain the observation if and only if the bands do."""
    y, low, high = col("y_true"), col(f"below{of}") < floor, col(f"above{of}") < floor
    changed = {
        "ascending": col(f"lower{of}") <= col(f"upper{of}"),
        "raised": low.cast(nw.Float64) + high.cast(nw.Float64),
        "below": when(low).then(lit(floor)).otherwise(col(f"below{of}")),
        "above": when(high).then(lit(floor)).otherwise(col(f"above{of}")),
        "lower": when(low).then(y).otherwise(col(f"lower{of}")),
        "upper": when(high).then(y).otherwise(col(f"upper{of}")),
    }
    return rows.with_columns(**{f"{name}{of}": value for name, value in changed.items()})


def _numbers(job: Job) -> Frame:
    """Errors and bands of each row, and its critical scale."""
    y, lower, upper, error, active = (col(name) for name in ("y_true", "lower", "upper", "error", "active"))
    rows = job.rows.with_columns(complete=all_finite(job.roles)) if job.drop else job.rows
    rows = bands(rows, job.floor)
    ratio, outside = error / active, (y > upper) | (y < lower)
    rare = when(active == 0).then(lit(0.0)).otherwise(when(outside).then(lit(NEXT)).otherwise(lit(1.0)))
    fine = acceptable(job.roles, rows.collect_schema().names(), floored=job.floor is not None)
    size = col("width") + error
    if job.weighted:  # the width of rows without weight does not matter
        parts = col("below") / 4 + col("above") / 4 + error / 4
        size = when(col("weight") == 0).then(parts).otherwise(size)
    good = fine & is_finite(size)
    usual = (good if job.drop else fine) & ((error - active).abs() > 0)  # NaN passes only where sums show it
    if job.weighted:
        rare = when(col("weight") == 0).then(lit(WEIGHTLESS)).otherwise(rare)
        usual &= col("weight") != 0
    other = when(col("complete")).then(lit(REFUSED)).otherwise(lit(MISSING)) if job.drop else lit(REFUSED)
    return rows.with_columns(critical=when(usual).then(ratio).otherwise(when(good).then(rare).otherwise(other)))


def _of(job: Job, numbers: Frame, i: int) -> Frame:
    """Rows of a histogram, and the number they are binned by; the first takes all, to find those that are refused."""
    rows = numbers.filter(GAP > 0) if i == 1 else numbers
    rows = rows.filter(col("critical") >= 0) if i and (job.weighted or job.drop) else rows
    return rows.with_columns(number=list(NUMBERS.values())[i])


def _stacked(job: Job, numbers: Frame) -> Frame:
    """Stack the rows of all histograms and group once.

    Polars would run several groupings one after the other and keep all rows in memory for them; stacked rows stream.
    """
    parts, groups = [], (*job.groups, "histogram")
    for i in range(len(NUMBERS)):
        rows, values = (
            _of(job, numbers, i).with_columns(lit(i, nw.Int8).alias("histogram")),
            _values(of_errors=i == 2, of_gaps=i == 1),
        )
        parts.append(_prepared(rows, groups, {one: values[one] for one in job.sums}, job))
    return _summed(nw.concat(parts), groups, job.sums)


def _apart(job: Job, numbers: Frame) -> Frame:
    """Group the rows once for each histogram; the engine reads them once for all."""
    parts = []
    for i, name in enumerate(NUMBERS):
        sums = (
            job.sums
            if i == 0
            else [one for one in job.sums if one in (*SUMS[name], *(Y_SUMS if i == 2 else ("active",)))]
        )
        values, rows = _values(of_errors=i == 2, of_gaps=i == 1), _of(job, numbers, i)
        prepared = _prepared(rows, job.groups, {one: values[one] for one in sums}, job)
        grouped = _summed(prepared, job.groups, sums)
        absent = (lit(0.0).alias(one) for one in job.sums if one not in sums)
        grouped = grouped.with_columns(lit(i, nw.Int8).alias("histogram"), *absent)
        parts.append(grouped.select(*job.groups, "histogram", "mark", "rows", "minimum", "maximum", *job.sums))
    return nw.concat(parts)


def _repeated(job: Job, numbers: Frame) -> Frame:
    """Repeat each row for each histogram and group once."""
    which, (critical, crossover, error) = col("histogram"), NUMBERS.values()
    three = nw.concat([job.rows.head(1).select(lit(i, nw.Int8).alias("histogram")) for i in range(len(NUMBERS))])
    number = when(which == 1).then(crossover).otherwise(error)
    if job.weighted or job.drop:
        number = when(critical < 0).then(critical).otherwise(number)
    number = when(which == 0).then(critical).otherwise(number)
    kept = when(which == 1).then(GAP).otherwise(lit(1.0)) > 0
    repeated = numbers.join(three, how="cross").filter(kept).with_columns(number=number)
    sums, last = _values(), _values(of_errors=True)
    sums["active"] = when(which == 1).then(GAP).otherwise(sums["active"])
    for one, errors in zip(Y_SUMS, (which == 2, which > 1), strict=True):  # DuckDB is slower if both ask the same
        sums[one] = when(errors).then(last[one]).otherwise(sums[one])
    sums = {one: sums[one] for one in job.sums}
    groups = (*job.groups, "histogram")
    return _summed(_prepared(repeated, groups, sums, job), groups, job.sums)


def _values(*, of_errors: bool = False, of_gaps: bool = False) -> dict[str, nw.Expr]:
    """What is summed over the rows of a histogram."""
    y, number = col("y_true"), col("number")
    values = {name: col(name) for name in ("weight", "active", "width", "error", "raised")}
    values |= {"scale": number, "product": col("error") * number}
    return values | {"active": y, "width": y * y} if of_errors else values | ({"active": GAP} if of_gaps else {})


def _prepared(rows: Frame, groups: tuple[str, ...], columns: dict[str, nw.Expr], job: Job) -> Frame:
    """Rows with the mark of their bin and what is summed."""
    if job.weighted:
        plain = ("weight", "raised")
        columns = {name: value if name in plain else value * col("weight") for name, value in columns.items()}
    marks = mark(col("number"), job.resolution)
    return rows.select(*groups, "number", mark=marks, **{f"of_{k}": v for k, v in columns.items()})


def _summed(prepared: Frame, groups: tuple[str, ...], sums: Iterable[str]) -> Frame:
    """Count and sum the rows of each bin."""
    return prepared.group_by(*groups, "mark").agg(
        nw.len().alias("rows"),
        col("number").min().alias("minimum"),
        col("number").max().alias("maximum"),
        *(col(f"of_{name}").sum().alias(name) for name in sums),
    )


def collected(frame: Frame) -> Table:
    """Run the engine; only its answer comes back."""
    try:
        found = frame.collect(engine="streaming") if frame.implementation.is_polars() else frame.collect()
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise TypeError(NESTED) from None  # Dask tells no lists from text
    return {name: found[name].to_numpy() for name in found.columns}


def _check(table: Table, job: Job) -> None:
    """Refuse rows that `Intervals` would refuse, in its words; warn of rows that were dropped."""
    first = table["histogram"] == 0
    total, code = int(table["rows"][first].sum()), table["minimum"]
    used = first & ~(code < 0)
    if not total:
        raise ValueError("`y_true` must hold at least one row: `frame` has none. Hint: check the filter before.")
    sums = (table[name][used] for name in ("active", "width", "error"))
    if np.any(code[first] == REFUSED) or np.isnan(code[used]).any() or not all(np.isfinite(x).all() for x in sums):
        refuse(job.kept, job.roles, floored=job.floor is not None)
    dropped, weightless = (int(table["rows"][first & (code == one)].sum()) for one in (MISSING, WEIGHTLESS))
    if dropped == total:
        raise ValueError(
            f"`missing` must leave at least one row: all {total} have a missing or infinite value. "
            "Hint: look at the columns first."
        )
    if dropped + weightless == total:
        raise ValueError(
            f"`weight` must not be zero in every row: all {total} are. Hint: leave `weight` out to count rows alike."
        )
    if dropped:
        message = f"dropped {dropped} of {total} rows: a value is missing or infinite"
        warnings.warn(message, DroppedRowsWarning, stacklevel=arrays.outside())


def _parts(table: Table, groups: tuple[str, ...]) -> Iterator[tuple[tuple[Any, ...], Table]]:
    """Rows of the table by group."""
    places: dict[tuple[Any, ...], list[int]] = {}
    if not groups:
        yield (), table
        return
    for i, group in enumerate(zip(*(table[name].tolist() for name in groups), strict=True)):
        key = tuple(None if value != value else value for value in group)  # noqa: PLR0124  # NaN is not a value
        places.setdefault(key, []).append(i)
    for key, rows in places.items():
        yield key, {name: column[rows] for name, column in table.items()}


def _state(table: Table, job: Job) -> State:
    """State of one group."""
    first = table["histogram"] == 0
    good = ~(table["minimum"] < 0)
    parts: dict[str, Any] = {"weighted": job.weighted, "resolution": job.resolution}
    for i, (name, sums) in enumerate(SUMS.items()):
        chosen = good & (table["histogram"] == i)
        rows = table["rows"][chosen].astype(np.int64)
        columns = {
            one: rows.astype(np.float64)
            if one == "weight" and one not in table
            else table["active" if one == "gap" else one][chosen]
            for one in sums
        }
        found = Histogram.grouped(
            bin_of(table["mark"][chosen], job.resolution),
            rows,
            table["minimum"][chosen],
            table["maximum"][chosen],
            columns,
        )
        parts[name] = tidy(found.where(~found.infinite) if name == "crossover" else found)
    last = good & (table["histogram"] == len(NUMBERS) - 1)
    parts |= {name: float(table[place][last].sum()) for place, name in Y_SUMS.items()}
    parts["dropped"] = int(table["rows"][first & (table["minimum"] == MISSING)].sum())
    if "raised" in table:
        parts["raised"] = int(table["raised"][first & (table["minimum"] != MISSING)].sum())
    return State(**parts)
