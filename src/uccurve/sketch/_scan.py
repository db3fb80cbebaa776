"""Scan: which columns of a frame hold the intervals of all models, and the rows as its engine reads them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.typing import IntoFrame

from uccurve import _door as door
from uccurve import _refusals as checks
from uccurve._door import opened
from uccurve._refusals import Rule
from uccurve.intervals import Missing

from ._bins import OVERFLOW, SUMS, checked

Table = dict[str, npt.NDArray[Any]]
ROLES = ("y_pred", "lower", "upper")
TINY, HUGE = 2.0**-900, 2.0**900  # what stands for zero and infinity, which have no leading bits
# Rows that Polars takes at a time, of which a pass makes up to a hundred columns: they stay in the cache.
CHUNK = 20_000
col, lit = nw.col, nw.lit


Frame = nw.LazyFrame[Any]
EXACT = 2**53  # integers up to here fit float64
WIDE = (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128)
HELD = {nw.String: "text", nw.Categorical: "text", nw.Enum: "text", nw.Boolean: "booleans"}
ONE_SIDED = "streams judge both bounds; load the rows to judge one of them"
NESTED = (
    "labels of `by` and `block` must be text, numbers or dates; some hold several values. "
    "Hint: join them into one label per row."
)


class FrameRequest(NamedTuple):
    """Columns of a frame that all models share, and how its rows are read; as in `assess_frame`."""

    y_true: str
    weight: str | None
    block: str | None
    features: Sequence[
        tuple[str, ...]
    ]  # columns of labels, each of which makes segments with the others of its tuple
    min_band: float | str | None
    missing: Missing
    resolution: int

    @property
    def by(self) -> list[str]:
        """Columns that hold labels of segments."""
        return list(dict.fromkeys(name for feature in self.features for name in feature))


class IntervalColumns(NamedTuple):
    """Columns of the intervals of a model, at one level or as delivered, and the histograms that its rows go into.

    `lower` and `upper` are None where the intervals lie between those at two other places, by a `share` of the way.
    """

    model: str
    y_pred: str
    lower: str | None
    upper: str | None
    histograms: tuple[str, ...] = tuple(SUMS)
    # Places of the inner intervals (None: the prediction) and of the outer ones, and the share.
    between: tuple[int | None, int, float] = (None, 0, 1.0)


@dataclass(frozen=True)
class Scan:
    """Rows of a frame with the columns y_true, weight, labels, and y_pred_i, lower_i and upper_i of intervals i."""

    rows: Frame
    intervals: Sequence[IntervalColumns]
    numbers: Sequence[str]  # columns that must be finite
    wide: Sequence[str]  # columns that say whether an integer does not fit float64
    groups: Sequence[str]
    min_band: float | str | None
    drop: bool
    resolution: int

    @classmethod
    def of(
        cls, frame: IntoFrame, intervals: Sequence[IntervalColumns], request: FrameRequest
    ) -> Self:
        """Choose columns of a frame."""
        checks.choice("missing", request.missing, ("raise", "drop"))
        roles = [
            (i, interval, role, getattr(interval, role))
            for i, interval in enumerate(intervals)
            for role in ROLES
        ]
        by = [
            (f"by[{i}]" if len(request.by) > 1 else "by", name) for i, name in enumerate(request.by)
        ]
        shared = [(role, getattr(request, role)) for role in ("y_true", "weight", "block")]
        named = [
            (f"models[{interval.model!r}]" if interval.model else role, name)
            for _, interval, role, name in roles
        ]
        _refuse_patterns([name for _, name in (*shared, *by, *named) if name is not None])
        native = opened(frame, [*shared, *by, *named])
        schema = native.collect_schema()
        groups = {f"by_{i}": name for i, name in enumerate(request.by)}
        labels = groups | ({} if request.block is None else {"block": request.block})
        refuse_nested(schema, labels.values())
        given = dict(shared[:2]) | {f"{role}_{i}": name for i, _, role, name in roles}
        numbers = {new: name for new, name in given.items() if name is not None}
        columns = floats(native, numbers)
        keys = {key: named_column(native, name) for key, name in labels.items()}
        rows = native.select(**columns, **keys).lazy()
        wide, drop = [name for name in columns if name not in numbers], request.missing == "drop"
        return cls(
            rows,
            intervals,
            [*numbers],
            wide,
            [*groups],
            request.min_band,
            drop,
            checked(request.resolution),
        )

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return "weight" in self.numbers

    @cached_property
    def histograms(self) -> list[tuple[int, str]]:
        """Intervals and names of all histograms to fill; equal predictions share that of their errors."""
        every = [
            (i, name) for i, interval in enumerate(self.intervals) for name in interval.histograms
        ]
        return [(i, name) for i, name in every if name != "errors" or self.errors_of(i) == i]

    def errors_of(self, i: int) -> int:
        """First intervals around the same predictions that have a histogram of errors."""
        same = (
            j
            for j, interval in enumerate(self.intervals)
            if interval.y_pred == self.intervals[i].y_pred
        )
        return next(j for j in same if "errors" in self.intervals[j].histograms)

    @property
    def kept(self) -> Frame:
        """Rows that are not dropped."""
        return self.rows.filter(all_finite(self.numbers)) if self.drop else self.rows

    def given(self, places: Iterable[int]) -> list[int]:
        """Return the intervals that some rest on and whose bounds are columns."""
        needed = dict[int, None]()
        for i in places:
            interval = self.intervals[i]
            sources = (i,) if interval.lower is not None else interval.between[:2]
            needed |= {place: None for place in sources if place is not None}
        return list(needed)

    def refuse(self) -> None:
        """Refuse the first intervals with rows that `Intervals` would refuse, in its words."""
        several = len({interval.model for interval in self.intervals}) > 1
        for i in self.given(range(len(self.intervals))):
            interval = self.intervals[i]
            refusal = broken_rule(
                self.kept, [*self.numbers, *self.wide], f"_{i}", floored=self.min_band is not None
            )
            if refusal is not None:
                raise checks.prefixed(f"{interval.model}: ", refusal) if several else refusal

    @cached_property
    def floors(self) -> list[float | None]:
        """Minimum band of each of the intervals; a share of the mean half-width takes an extra pass over the rows."""
        fixed = None if self.min_band is None else checks.floor(self.min_band, 0.0)
        if not isinstance(self.min_band, str):
            return [fixed] * len(self.intervals)
        weight = col("weight") if self.weighted else lit(1.0)
        places = self.given(range(len(self.intervals)))
        halves = {
            f"half_{i}": (col(f"upper_{i}") / 2 - col(f"lower_{i}") / 2) * weight for i in places
        }
        rows = self.kept.select(**halves, weight=weight + 0 * col(f"upper_{places[0]}"))
        table = collected(rows.select(nw.all().sum()))
        sums = {name: float(values[0]) for name, values in table.items()}
        total = sums.pop("weight")
        if not (all(0 <= value < np.inf for value in sums.values()) and np.isfinite(total)):
            self.refuse()
            raise ValueError(OVERFLOW)
        floors = [fixed] * len(self.intervals)
        for i in places:
            if total > 0:
                floors[i] = checks.floor(self.min_band, sums[f"half_{i}"] / total)
        return floors


def _refuse_patterns(names: Iterable[str]) -> None:
    """Refuse names that an engine reads as a pattern of several columns."""
    for name in names:
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            raise ValueError(
                f"a column must not be called {checks.shown(name)} while it is streamed: engines read it as a pattern. "
                "Hint: rename it."
            )


def collected(frame: Frame) -> Table:
    """Run the engine; only its answer comes back."""
    try:
        if frame.implementation.is_polars():
            from polars import Config

            with Config(streaming_chunk_size=CHUNK):
                answer = frame.collect(engine="streaming")
        else:
            answer = frame.collect()
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise TypeError(NESTED) from None  # Dask tells no lists from text
    table = {name: answer[name].to_numpy() for name in answer.columns}
    # Python has no type for nanoseconds.
    return {
        name: column.astype("M8[us]") if column.dtype == "M8[ns]" else column
        for name, column in table.items()
    }


# ---- checks


def named_column(frame: Any, name: str) -> nw.Expr:
    """Return a column by its name, in which Spark would read a dot as the field of a struct."""
    is_path = "." in name and frame.implementation.is_spark_like()
    return col(f"`{name}`" if is_path else name)


def floats(frame: Any, names: Mapping[str, str]) -> dict[str, nw.Expr]:
    """Columns `names` (new to old name) as float64, and flags for integers that might not fit."""
    schema = frame.collect_schema()
    columns: dict[str, nw.Expr] = {}
    for new, name in names.items():
        dtype, column = schema[name], named_column(frame, name)
        if not dtype.is_numeric():
            if dtype == nw.Unknown:
                raise ValueError(
                    f"`{new.rstrip('_0123456789')}` must hold numbers: {name} has no value at all."
                )
            held = next((word for kind, word in HELD.items() if dtype == kind), str(dtype))
            role = new.rstrip("_0123456789")  # without the number of the model
            raise TypeError(f"`{role}` must hold numbers; it holds {held}. {door.CONVERT}")
        if dtype in WIDE:
            wide = (column > EXACT) | (column < (0 if dtype in (nw.UInt64, nw.UInt128) else -EXACT))
            columns[f"wide_{new}"] = wide
            column = (
                nw.when(wide).then(nw.lit(0, dtype)).otherwise(column)
            )  # PyArrow would refuse to cast them
        columns[new] = column if dtype == nw.Float64 else column.cast(nw.Float64)
    return columns


def refuse_nested(schema: Mapping[str, Any], labels: Iterable[str]) -> None:
    """Refuse columns of labels that hold lists or structs."""
    if any(schema[name].is_nested() for name in labels):
        raise TypeError(NESTED)


def is_finite(value: nw.Expr) -> nw.Expr:
    """Whether a value is neither missing nor infinite; null where it is null.

    Engines disagree on comparing NaN, and DuckDB does not even look where the statistics of a Parquet file, which may
    leave NaN out, seem to answer a comparison; so a product is compared.
    """
    return value * 0 == 0


def is_of_common_size(value: nw.Expr) -> nw.Expr:
    """Whether a value is 0, or neither too small nor too large to calculate with."""
    size = value.abs()
    return (value == 0) | ((size >= door.SMALLEST) & (size <= door.LARGEST))


def all_finite(names: Iterable[str]) -> nw.Expr:
    """Whether all values of a row are finite; false or null otherwise."""
    return reduce(and_, (is_finite(nw.col(name)) for name in names))


def acceptable(columns: Iterable[str], of: str, *, floored: bool) -> nw.Expr:
    """Whether `Intervals` would accept the row, given that it is finite; false or null otherwise."""
    good = (
        nw.col(f"ascending{of}")
        if floored
        else (nw.col(f"below{of}") >= 0) & (nw.col(f"above{of}") >= 0)
    )
    for name in columns:
        if name == "weight":
            good &= (nw.col("weight") >= 0) & is_of_common_size(nw.col("weight"))
        elif name.startswith("wide_") and name.removeprefix("wide_") in _own(of).values():
            good &= ~nw.col(name)
    return good


def _own(of: str) -> dict[str, str]:
    """Columns of one model by role."""
    of_model = {role: role + of for role in ("y_pred", "lower", "upper")}
    return {"y_true": "y_true", **of_model, "weight": "weight"}


def broken_rule(
    rows: Frame, columns: Sequence[str], of: str, *, floored: bool
) -> checks.Refusal | None:
    """Count the rows that break each rule, in one aggregation, and return the refusal of the first; None for none."""
    rules = list(_rules(columns, _own(of), floored=floored))
    counts = {
        f"rule_{i}": nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1))
        for i, (_, good) in enumerate(rules)
    }
    flags = rows.select(**counts)
    broken = flags.select(
        nw.len().alias("total"), *(nw.col(name).sum() for name in counts)
    ).collect()
    total = int(broken["total"][0])
    for i, (rule, _) in enumerate(rules):
        if count := int(broken[f"rule_{i}"][0] or 0):
            return checks.broken(rule, count, total)
    return None


def _rules(
    columns: Sequence[str], names: Mapping[str, str], *, floored: bool
) -> Iterable[tuple[Rule, nw.Expr]]:
    """Rules in the order in which `Intervals` applies them, each with the condition that good rows meet."""
    roles = {role: name for role, name in names.items() if name in columns}
    y, p, lower, upper = (nw.col(names[role]) for role in ("y_true", "y_pred", "lower", "upper"))
    for role, flag in (
        (role, nw.col(f"wide_{name}")) for role, name in roles.items() if f"wide_{name}" in columns
    ):
        yield door.exact(role), ~flag | flag.is_null()
    for role, name in roles.items():
        rule = door.finite(role)
        if role in ("lower", "upper"):
            rule = rule._replace(hint_for_most=ONE_SIDED)
        yield rule, is_finite(nw.col(name))
    if "weight" in roles:
        weight = nw.col("weight")
        yield door.not_negative("weight"), weight >= 0
        yield door.of_common_size("weight", "all weights"), is_of_common_size(weight)
    yield door.ASCENDING, lower <= upper
    for role, column in (("y_true", y), ("y_pred", p), ("lower", lower), ("upper", upper)):
        yield door.of_common_size(role), is_of_common_size(column)
    for role, distance in (("lower", p - lower), ("upper", upper - p)):
        yield door.apart(role), is_of_common_size(distance)
    if not floored:
        yield door.CONTAINED, (lower <= p) & (p <= upper)
