"""Engine checks: what `Intervals` refuses, tested and counted by the engine that holds the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw

from uccurve import _arrays as arrays
from uccurve import _checks as checks
from uccurve._checks import Rule

from ._rows import OVERFLOW

Frame = nw.LazyFrame[Any]
EXACT = 2**53
"""Integers up to here fit float64."""
WIDE = (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128)
HELD = {nw.String: "text", nw.Categorical: "text", nw.Enum: "text", nw.Boolean: "booleans"}


def floats(schema: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, nw.Expr]:
    """Columns `names` (role to column name) as float64 by role, and flags for integers that might not fit."""
    columns: dict[str, nw.Expr] = {}
    for role, name in names.items():
        dtype, column = schema[name], nw.col(name)
        if not dtype.is_numeric():
            held = next((word for kind, word in HELD.items() if dtype == kind), str(dtype))
            raise TypeError(f"`{role}` must hold numbers; it holds {held}. {arrays.CONVERT}")
        if dtype in WIDE:
            wide = (column > EXACT) | (column < (0 if dtype in (nw.UInt64, nw.UInt128) else -EXACT))
            columns[f"wide_{role}"] = wide
            column = nw.when(wide).then(nw.lit(0, dtype)).otherwise(column)  # PyArrow would refuse to cast them
        columns[role] = column if dtype == nw.Float64 else column.cast(nw.Float64)
    return columns


NESTED = (
    "labels of `by` and `block` must be text, numbers or dates; some hold several values. "
    "Hint: join them into one label per row."
)


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


def all_finite(names: Iterable[str]) -> nw.Expr:
    """Whether all values of a row are finite; false or null otherwise."""
    first, *others = (is_finite(nw.col(name)) for name in names)
    for other in others:
        first = first & other
    return first


def acceptable(roles: Iterable[str], columns: Iterable[str], *, floored: bool) -> nw.Expr:
    """Whether `Intervals` would accept the row, given that it is finite; false or null otherwise."""
    good = nw.col("ascending") if floored else (nw.col("below") >= 0) & (nw.col("above") >= 0)
    if "weight" in roles:
        good &= (nw.col("weight") >= 0) & is_finite(nw.col("weight"))
    for name in columns:
        if name.startswith("wide_"):
            good &= ~nw.col(name)
    return good


def refuse(rows: Frame, roles: Sequence[str], *, floored: bool) -> None:
    """Count the rows that break each rule, in one aggregation, and raise for the first rule that is broken."""
    rules = list(_rules(rows.collect_schema().names(), roles, floored=floored))
    counts = {f"rule_{i}": nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1)) for i, (_, good) in enumerate(rules)}
    flags = rows.select(**counts)
    sums = flags.select(nw.len().alias("total"), *(nw.col(name).sum() for name in counts))
    found = sums.collect()
    total = int(found["total"][0])
    for i, (rule, _) in enumerate(rules):
        if count := int(found[f"rule_{i}"][0] or 0):
            raise ValueError(checks.sentence(rule, count, total))
    raise ValueError(OVERFLOW)


def _rules(columns: list[str], roles: Sequence[str], *, floored: bool) -> Iterable[tuple[Rule, nw.Expr]]:
    """Rules in the order in which `Intervals` applies them, each with the condition that good rows meet."""
    y, p, lower, upper = (nw.col(name) for name in ("y_true", "y_pred", "lower", "upper"))
    for role, flag in ((role, nw.col(f"wide_{role}")) for role in roles if f"wide_{role}" in columns):
        yield arrays.exact(role), ~flag | flag.is_null()
    yield from ((arrays.finite(role), is_finite(nw.col(role))) for role in roles)
    if "weight" in roles:
        yield arrays.not_negative("weight"), nw.col("weight") >= 0
    yield arrays.ASCENDING, lower <= upper
    for role, distance in (("y_true", y - p), ("lower", p - lower), ("upper", upper - p)):
        yield arrays.near(role, "y_pred"), is_finite(distance)
    if not floored:
        yield arrays.CONTAINED, (lower <= p) & (p <= upper)
