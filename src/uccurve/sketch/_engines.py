"""Engines: the bins of sketches from any data frame, by one aggregation that narwhals passes to the frame's engine.

Every step is plain arithmetic, so all engines assign a row to the same bin. A row goes into up to three histograms of
each model, so it is repeated, each time with the number that is binned, and all are grouped once. The key of a group is
one float: its leading bits mark the bin, later ones say which histogram of which model it belongs to. Rows that
`Intervals` would refuse get a huge number instead of a critical scale, or make a sum infinite or NaN; only where there
are any does a second aggregation count them by rule.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from uccurve import _door as door
from uccurve._vocabulary import DroppedRowsWarning

from ._bins import SUMS, Histogram, SketchState, bins, bits, mark, tidy
from ._scan import (
    HUGE,
    ROLES,
    TINY,
    Frame,
    Scan,
    Table,
    acceptable,
    all_finite,
    col,
    collected,
    is_finite,
    lit,
)

Group = tuple[Any, ...]
# Codes in place of the critical scale of rows that have none.
REFUSED, MISSING, WEIGHTLESS = 2.0**950, 2.0**951, 2.0**952
MOST_LABELS = 1_000  # number of segments of one feature that is refused where there are more
# Critical scale of an error equal to its band where the observation is outside its bound nevertheless, by rounding.
NEXT = 1 + 2.0**-52
STEP = (
    2.0**-20
)  # by what share of its mark a key is larger than that of the same bin in the histogram before
# Engines that would read the rows again for each repetition, so these come from a join.
SQL = {
    getattr(nw.Implementation, name)
    for name in ("DUCKDB", "IBIS", "PYSPARK", "PYSPARK_CONNECT", "SQLFRAME")
}
when = nw.when


def states(
    scan: Scan, features: Mapping[str, Sequence[str]] | None = None
) -> list[dict[Group, SketchState]]:
    """Return the states of all intervals by group; under the empty tuple where there are no groups.

    `features` are the columns of labels that will make segments.
    """
    places = range(len(scan.intervals))
    if scan.rows.implementation in SQL:
        tables = [collected(_summed(_joined(scan, i), scan)) for i in places]
    else:
        tables = [collected(_summed(_stacked(scan), scan))]
    parts = {
        place: part
        for table in tables
        for place, part in _by_histogram(table, scan)
        if len(part["rows"])
    }
    _check(parts, scan)
    for feature, names in (features or {}).items():
        labels = (parts[0, "critical"][name].tolist() for name in names)
        if (count := len({*zip(*labels, strict=True)})) > MOST_LABELS:
            many = f"at most {MOST_LABELS:,} labels: {feature} has {count:,}"
            raise ValueError(f"`by` must have {many}. Hint: join labels of few rows into one.")
    return [_states(scan, parts, i) for i in places]


# ---- rows


def bands(scan: Scan, rows: Frame, places: Sequence[int]) -> Frame:
    """Add the error, the bands below, above and on its side, and the width of each row, for some intervals.

    All intervals in few steps: engines pass every column from step to step. Small bands are raised first; intervals
    between two others lie between their bands.
    """
    given = scan.given(places)
    y = col("y_true")
    distances = dict[str, nw.Expr]()
    for i in given:
        p, lower, upper = (col(f"{name}_{i}") for name in ROLES)
        distances |= {f"below_{i}": p - lower, f"above_{i}": upper - p}
    rows = rows.with_columns(**distances)
    if scan.min_band is not None:
        raised = dict[str, nw.Expr]()
        for i in given:
            raised |= _raised(scan.floors[i], i)
        rows = rows.with_columns(**raised)
    inside = [i for i in places if i not in given]
    if inside:
        between = dict[str, nw.Expr]()
        for i in inside:
            between |= _between(scan, i)
        rows = rows.with_columns(**between)
    columns = dict[str, nw.Expr]()
    for i in places:
        below, above = col(f"below_{i}"), col(f"above_{i}")
        error = y - col(f"y_pred_{i}")
        columns[f"active_{i}"] = _active(rows, error, below, above)
        columns[f"width_{i}"] = below + above
        columns[f"error_{i}"] = error.abs()
    return rows.with_columns(**columns)


def _between(scan: Scan, i: int) -> dict[str, nw.Expr]:
    """Bands on straight lines from those of the inner intervals, or from none, to the outer ones."""
    inner, outer, share = scan.intervals[i].between
    columns = dict[str, nw.Expr]()
    for name in ("below", "above"):
        wide = col(f"{name}_{outer}")
        narrow = None if inner is None else col(f"{name}_{inner}")
        columns[f"{name}_{i}"] = (
            wide * share if narrow is None else narrow + (wide - narrow) * share
        )
    if scan.min_band is not None:
        columns[f"raised_{i}"] = col(f"raised_{outer}")
        columns[f"ascending_{i}"] = col(f"ascending_{outer}")
        if inner is not None:
            columns[f"ascending_{i}"] &= col(f"ascending_{inner}")
    return columns


def sides_missed(scan: Scan, i: int) -> tuple[nw.Expr, nw.Expr]:
    """Whether an observation lies above its interval, and whether below: by the bounds, or by bands that were moved."""
    y = col("y_true")
    error = y - col(f"y_pred_{i}")
    over, under = error > col(f"above_{i}"), -error > col(f"below_{i}")
    if scan.intervals[i].lower is None:
        return over, under
    above, below = y > col(f"upper_{i}"), y < col(f"lower_{i}")
    if scan.min_band is None:
        return above, below
    return (
        when(col(f"high_{i}")).then(over).otherwise(above),
        when(col(f"low_{i}")).then(under).otherwise(below),
    )


def _active(rows: Frame, error: nw.Expr, below: nw.Expr, above: nw.Expr) -> nw.Expr:
    """Band on the side of the error."""
    if rows.implementation in SQL:  # in DuckDB arithmetic is faster than a choice per row
        up = (error >= 0).cast(nw.Float64)
        return above * up + below * (1 - up)
    active = when(error >= 0).then(above).otherwise(below)
    # Polars would multiply by the inverse of a constant column.
    return active + 0 * error if rows.implementation.is_polars() else active


def flag(rows: Frame, condition: nw.Expr) -> nw.Expr:
    """Return 1 where a condition holds and 0 elsewhere, in the way that is fastest for an engine."""
    if rows.implementation.is_polars():
        return when(condition).then(lit(1.0)).otherwise(lit(0.0))
    return condition.cast(nw.Float64)


def _raised(floor: float | None, i: int) -> dict[str, nw.Expr]:
    """Small bands raised, which of them were, and how many."""
    value = lit(floor)
    low, high = col(f"below_{i}") < value, col(f"above_{i}") < value
    return {
        f"ascending_{i}": col(f"lower_{i}") <= col(f"upper_{i}"),
        f"raised_{i}": low.cast(nw.Float64) + high.cast(nw.Float64),
        f"low_{i}": low,
        f"high_{i}": high,
        f"below_{i}": when(low).then(value).otherwise(col(f"below_{i}")),
        f"above_{i}": when(high).then(value).otherwise(col(f"above_{i}")),
    }


def _with_criticals(scan: Scan, models: Sequence[int]) -> Frame:
    """Add the errors, bands and critical scales of some models."""
    rows = scan.rows.with_columns(complete=all_finite(scan.numbers)) if scan.drop else scan.rows
    rows = bands(scan, rows, models)
    return rows.with_columns(**{f"critical_{i}": _critical(scan, i) for i in models})


def _critical(scan: Scan, i: int) -> nw.Expr:
    """Critical scale of each row, or the code of rows that have none."""
    names = "below", "above", "error", "active", "width"
    below, above, error, active, width = (col(f"{name}_{i}") for name in names)
    over, under = sides_missed(scan, i)
    outside = over | under
    rare = when(outside).then(lit(NEXT)).otherwise(lit(1.0))
    rare = (
        when(active > 0).then(rare).otherwise(when(error > 0).then(lit(HUGE)).otherwise(lit(TINY)))
    )
    fine = acceptable(
        [*scan.wide, *(["weight"] if scan.weighted else [])],
        f"_{i}",
        floored=scan.min_band is not None,
    )
    size = width + error
    if scan.weighted:  # the width of rows without weight does not matter
        size = when(col("weight") == 0).then(below / 4 + above / 4 + error / 4).otherwise(size)
    good = fine & is_finite(size) & ((active == 0) | (active >= door.SMALLEST))
    if scan.drop:
        good &= col("complete")
    usual = (
        (good if scan.drop else fine) & (error != active) & (active >= door.SMALLEST)
    )  # sums show NaN
    if scan.weighted:
        rare = when(col("weight") == 0).then(lit(WEIGHTLESS)).otherwise(rare)
        usual &= col("weight") != 0
    other = (
        when(col("complete")).then(lit(REFUSED)).otherwise(lit(MISSING))
        if scan.drop
        else lit(REFUSED)
    )
    return when(usual).then(error / active + TINY).otherwise(when(good).then(rare).otherwise(other))


# ---- repetitions


def _gap(i: int) -> nw.Expr:
    return col(f"active_{i}") + col(f"active_{i}") - col(f"width_{i}")


def _values(scan: Scan, i: int, name: str) -> dict[str, nw.Expr]:
    """Return the number by which a histogram bins the rows of intervals i, and what it sums that others do not."""
    y, error, active, width = (
        col("y_true"),
        *(col(f"{part}_{i}") for part in ("error", "active", "width")),
    )
    columns = {
        "critical": {"number": col(f"critical_{i}"), "active": active, "width": width},
        "crossover": {
            "number": (error + error) / _gap(i) + TINY,
            "active": _gap(i),
            "width": width,
        },
        "errors": {"number": error + TINY, "active": y, "width": y * y},
    }[name]
    if scan.min_band is not None:
        columns["raised"] = col(f"raised_{i}") if name == "critical" else lit(0.0)
    return columns


def _used(scan: Scan, i: int, name: str) -> nw.Expr | None:
    """Return what is positive where a histogram takes a row; None for all, as the first does to find the refused."""
    accepted = REFUSED - col(f"critical_{i}") if scan.weighted or scan.drop else None
    if name != "crossover":
        return None if name == "critical" else accepted
    crosses = _gap(i) * HUGE - (col(f"error_{i}") + col(f"error_{i}"))
    return crosses if accepted is None else when(accepted > 0).then(crosses).otherwise(lit(0.0))


def _stacked(scan: Scan) -> Frame:
    """Rows of all histograms of all intervals.

    Polars would run several groupings one after the other and keep all rows in memory for them; stacked rows stream.
    """
    rows, parts = _with_criticals(scan, range(len(scan.intervals))), []
    for place, (i, name) in enumerate(scan.histograms):
        used, values = _used(scan, i, name), _values(scan, i, name)
        chosen = rows if used is None else rows.filter(used > 0)
        parts.append(
            _prepared(
                chosen.with_columns(number=values.pop("number")), scan, i, values, 1 + place * STEP
            )
        )
    return nw.concat(parts)


def _joined(scan: Scan, i: int) -> Frame:
    """Rows of some intervals, repeated for their histograms."""
    rows, which = _with_criticals(scan, [i]), col("histogram")
    places = {name: place for place, (j, name) in enumerate(scan.histograms) if j == i}
    first = scan.rows.head(1)
    factors = [
        first.select(lit(k, nw.Int8).alias("histogram"), lit(1 + place * STEP).alias("factor"))
        for k, place in enumerate(places.values())
    ]
    rows, values = rows.join(nw.concat(factors), how="cross"), _values(scan, i, "critical")
    for k, name in enumerate(places):
        used = _used(scan, i, name)
        if used is not None:  # DuckDB takes longer over alternatives
            rows = rows.filter(when(which == k).then(used).otherwise(lit(1.0)) > 0)
        for slot, value in _values(scan, i, name).items():
            if k and not (name == "crossover" and slot == "width"):
                values[slot] = when(which == k).then(value).otherwise(values[slot])
    return _prepared(rows.with_columns(number=values.pop("number")), scan, i, values, col("factor"))


def _prepared(rows: Frame, scan: Scan, i: int, values: Mapping[str, nw.Expr], factor: Any) -> Frame:
    """Rows with the key of their group and what is summed."""
    number, error = col("number"), col(f"error_{i}")
    sums = {"scale": number, "error": error, "product": error * number, **values}
    if scan.weighted:
        sums = {
            name: value if name == "raised" else value * col("weight")
            for name, value in sums.items()
        }
        sums["weight"] = col("weight")
        sums["squares"] = col("weight") * col("weight")
    key = mark(number, scan.resolution)
    return rows.select(
        *scan.groups,
        "number",
        key=key if isinstance(factor, float) and factor == 1 else key * factor,
        **sums,
    )


def _summed(rows: Frame, scan: Scan) -> Frame:
    """Count and sum the rows of each bin."""
    names = ["scale", "active", "error", "width", "product"]
    names += ["raised"] * (scan.min_band is not None)
    extremes = [col("number").max().alias("maximum")]
    if scan.weighted:
        names += ["weight", "squares"]
        extremes += [col("weight").min().alias("lightest"), col("weight").max().alias("heaviest")]
    sums = [*extremes, *(col(name).sum() for name in names)]
    return rows.group_by(*scan.groups, "key").agg(nw.len().alias("rows"), *sums)


# ---- answers


def _by_histogram(table: Table, scan: Scan) -> Iterator[tuple[tuple[int, str], Table]]:
    """Split an answer by what the keys say, with zero and infinity in place of what stood for them."""
    head = np.frexp(np.where(np.isfinite(table["key"]), table["key"], 1.0))[0] * 2 ** bits(
        scan.resolution
    )
    place = np.rint((head / np.floor(head) - 1) / STEP)
    ends = [table["maximum"] <= TINY, (table["maximum"] >= HUGE) & (table["maximum"] < REFUSED)]
    table["maximum"] = np.select(ends, [0.0, np.inf], table["maximum"])
    table |= {name: np.where(ends[0], 0.0, table[name]) for name in ("scale", "product")}
    for i, histogram in enumerate(scan.histograms):
        yield histogram, {name: column[place == i] for name, column in table.items()}


def _check(parts: Mapping[tuple[int, str], Table], scan: Scan) -> None:
    """Refuse rows that `Intervals` would refuse; warn of rows that were dropped."""
    if not parts:
        raise ValueError(
            "`y_true` must hold at least one row: `frame` has none. Hint: check earlier filters."
        )
    suspicious = False
    for table in (parts[i, "critical"] for i in range(len(scan.intervals))):
        suspicious |= _is_suspicious(table)
    rows, code = (parts[0, "critical"][name] for name in ("rows", "maximum"))
    dropped, weightless = (int(rows[code == which].sum()) for which in (MISSING, WEIGHTLESS))
    _accept(scan, int(rows.sum()), dropped, weightless, suspicious=suspicious)


def _is_suspicious(table: Table) -> bool:
    """Whether a row was refused, or sums are so large that some row may have to be."""
    accepted = ~_is_code(table)
    if np.any(table["maximum"] == REFUSED) or not np.isfinite(table["key"][accepted]).all():
        return True
    sums = [table[name][accepted] for name in ("active", "width", "error")]
    return not all(bool(np.all(values <= door.LARGEST)) for values in sums)


def _accept(scan: Scan, total: int, dropped: int, weightless: int, *, suspicious: bool) -> None:
    """Raise where rows are refused or none is left; warn of dropped rows."""
    if suspicious:
        scan.refuse()
    if dropped == total:
        raise ValueError(
            f"`missing` must leave at least one row: all {total} have a missing or infinite value. "
            "Hint: look at the columns first."
        )
    if dropped + weightless == total:
        raise ValueError(
            f"`weight` must not be zero in every row: all {total} are. Hint: leave `weight` out to weight rows equally."
        )
    if dropped:
        message = f"dropped {dropped} of {total} rows: a value is missing or infinite"
        warnings.warn(message, DroppedRowsWarning, stacklevel=door.outside())


def _is_code(table: Table) -> npt.NDArray[np.bool_]:
    """Whether what is binned is a code, not a number."""
    return np.isin(table["maximum"], (REFUSED, MISSING, WEIGHTLESS))


def _states(scan: Scan, parts: Mapping[tuple[int, str], Table], i: int) -> dict[Group, SketchState]:
    """States of some intervals by group."""
    places = {
        name: (scan.errors_of(i) if name == "errors" else i, name)
        for name in scan.intervals[i].histograms
    }
    split = {
        name: _by_group(parts[place], scan.groups)
        for name, place in places.items()
        if place in parts
    }
    return {
        group: _state(
            scan, {name: tables[group] for name, tables in split.items() if group in tables}
        )
        for group in split["critical"]
    }


def _by_group(table: Table, groups: Sequence[str]) -> dict[Group, Table]:
    """Split an answer by its keys; a missing key is None."""
    places: dict[Group, list[int]] = {}
    labels = [table[name].tolist() for name in groups]
    for i in range(len(table["rows"])):
        key = tuple(None if one[i] != one[i] else one[i] for one in labels)  # NaN is not a value
        places.setdefault(key, []).append(i)
    return {
        key: {name: column[rows] for name, column in table.items()} for key, rows in places.items()
    }


def _state(scan: Scan, parts: Mapping[str, Table]) -> SketchState:
    """State of one group of rows."""
    fields: dict[str, Any] = {name: _histogram(scan, name, table) for name, table in parts.items()}
    critical, missing = parts["critical"], parts["critical"]["maximum"] == MISSING
    fields["dropped"] = int(critical["rows"][missing].sum())
    fields["raised"] = int(critical["raised"][~missing].sum()) if "raised" in critical else 0
    fields |= _weights(critical)
    if "errors" in parts:
        y, squares = (float(parts["errors"][slot].sum()) for slot in ("active", "width"))
        fields |= {"y_sum": y, "y_squares": squares}
    return SketchState(weighted=scan.weighted, resolution=scan.resolution, **fields)


def _weights(table: Table) -> dict[str, float]:
    """What is known of the weights of rows that have any."""
    good = ~_is_code(table)
    rows = table["rows"][good]
    if "weight" not in table:
        return {
            "weight_squares": float(rows.sum()),
            "lightest": 1.0 if rows.any() else np.inf,
            "heaviest": 1.0 if rows.any() else 0.0,
        }
    return {
        "weight_squares": float(table["squares"][good].sum()),
        "lightest": float(table["lightest"][good].min(initial=np.inf)),
        "heaviest": float(table["heaviest"][good].max(initial=0.0)),
    }


def _histogram(scan: Scan, name: str, table: Table) -> Histogram:
    good = ~_is_code(table)
    rows, maximum = table["rows"][good].astype(np.int64), table["maximum"][good]
    columns = {"gap": table["active"], "weight": table["rows"].astype(np.float64)} | table
    sums = {key: columns[key][good] for key in SUMS[name]}
    return tidy(Histogram.grouped(bins(maximum, scan.resolution), rows, maximum, sums))
