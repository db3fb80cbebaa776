"""Engine checks: what `Intervals` refuses, tested and counted by the engine that holds the rows.

Columns are named after their role, those of model i with ``_i`` at the end.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import narwhals as nw

from uccurve import _door as door
from uccurve import _refusals as checks
from uccurve._refusals import Rule

Frame = nw.LazyFrame[Any]
EXACT = 2**53  # integers up to here fit float64
WIDE = (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128)
HELD = {nw.String: "text", nw.Categorical: "text", nw.Enum: "text", nw.Boolean: "booleans"}
ONE_SIDED = "streams judge both bounds; load the rows to judge one of them"
NESTED = (
    "labels of `by` and `block` must be text, numbers or dates; some hold several values. "
    "Hint: join them into one label per row."
)


def floats(schema: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, nw.Expr]:
    """Columns `names` (new to old name) as float64, and flags for integers that might not fit."""
    columns: dict[str, nw.Expr] = {}
    for new, name in names.items():
        dtype, column = schema[name], nw.col(name)
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
