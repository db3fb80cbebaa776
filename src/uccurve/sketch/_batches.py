"""Batches: the bins of rows that Polars hands over a batch at a time, from one compiled loop over each batch.

Grouping costs an engine 15 ns per row and histogram, the loop 7. Only Polars hands rows over from all its threads at
once; other engines, and Polars without numba, group the rows themselves (`_engines`).
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from math import nan
from queue import SimpleQueue
from typing import Any

import numpy as np

from uccurve._checks import Array

from ._bins import Histogram, last, splitting
from ._scan import HUGE, NEXT, ROLES, Scan
from ._state import SUMS, State, tidy

BATCH = 1_000_000  # numbers, which take 8 MB
WORTH = 16  # batches that take about as long to group as the loop takes to load
MOST_THREADS = 16  # of which each holds a batch; reading does not keep more of them busy
# What is counted for each of the intervals.
COUNTS = ("rows", "dropped", "refused", "weightless", "raised", "y_sum", "y_squares")
COLUMNS = 2 + max(map(len, SUMS.values()))  # of a table: number of rows, maximum, sums


def worth(scan: Scan) -> int:
    """Return from how many batches on the loop is worth loading; 0 for never."""
    able = scan.rows.implementation.is_polars() and not scan.groups and find_spec("numba") is not None
    return WORTH if able else 0


def batches(scan: Scan) -> Iterator[Any]:
    """Hand over the numbers of a scan, as frames of Polars."""
    names = [name for name in scan.rows.collect_schema().names() if name != "block"]
    rows = scan.rows.select(*names).to_native()
    return iter(rows.collect_batches(chunk_size=max(BATCH // len(names), 1), maintain_order=False))


def binned(scan: Scan, parts: Iterable[Any]) -> tuple[list[int], list[State]]:
    """Return the numbers of rows, dropped ones, refused ones and those without weight, and the states of all intervals.

    As many threads as there are processors take the batches, each into tables of its own; no batch is read before one
    of them is free.
    """
    loop, free, jobs = compiled(), SimpleQueue[tuple[Array, Array]](), []
    count, floors = len(scan.intervals), [nan if floor is None else float(floor) for floor in scan.floors]
    shape = count, len(SUMS), 2 * last(scan.resolution) + 3, COLUMNS
    threads = [(np.zeros(shape), np.zeros((count, len(COUNTS)))) for _ in range(min(os.cpu_count() or 1, MOST_THREADS))]
    for own in threads:
        free.put(own)

    def take(batch: Any, own: tuple[Array, Array]) -> None:
        try:
            _add(scan, batch, floors, loop, own)
        finally:
            free.put(own)

    with ThreadPoolExecutor(len(threads)) as pool:
        for batch in parts:
            own = free.get()
            if own[1][:, 2].any():
                break  # they will be refused
            jobs.append(pool.submit(take, batch, own))
    for job in jobs:
        job.result()
    tables, counts = (np.sum(every, axis=0) for every in zip(*threads, strict=True))
    tables[..., 1] = np.max([one[..., 1] for one, _ in threads], axis=0)
    counts[:, 2] += not np.isfinite(tables[..., 2:6]).all()
    states = () if counts[:, 2].any() else range(count)
    return counts[:, :4].max(axis=0).astype(int).tolist(), [_state(scan, i, tables, counts) for i in states]


def _add(scan: Scan, batch: Any, floors: list[float], loop: Callable[..., None], own: tuple[Array, Array]) -> None:
    """Add the rows of a batch to the tables and counts of a thread."""
    tables, counts = own
    columns = {name: batch[name].to_numpy() for name in batch.columns if name not in scan.wide}
    counts[:, 0] += len(batch)
    counts[:, 2] += any(batch[name].any() for name in scan.wide)
    if scan.drop:
        complete = np.logical_and.reduce([np.isfinite(columns[name]) for name in scan.numbers])
        columns = {name: column[complete] for name, column in columns.items()}
        counts[:, 1] += np.count_nonzero(~complete)
    bins, weight = splitting(scan.resolution), columns.get("weight", columns["y_true"])
    for i, floor in enumerate(floors):
        rows = (columns["y_true"], *(columns[f"{role}_{i}"] for role in ROLES), weight)
        wanted = tuple((i, name) in scan.histograms for name in SUMS)
        loop(rows, scan.weighted, floor, wanted, bins, tables[i], counts[i])


def _state(scan: Scan, i: int, tables: Array, counts: Array) -> State:
    """State of some intervals."""
    found: dict[str, Any] = {}
    for kind, (name, sums) in enumerate(SUMS.items()):
        if name in scan.intervals[i].histograms:
            place = scan.errors_of(i) if name == "errors" else i
            at = np.flatnonzero(tables[place, kind, :, 0])
            rows, maximum, *columns = tables[place, kind, at].T.copy()
            parts = dict(zip(sums, columns, strict=False))
            found[name] = tidy(Histogram(at - last(scan.resolution) - 1, rows.astype(np.int64), maximum, parts))
            found |= dict(zip(COUNTS[5:], counts[place, 5:].tolist(), strict=True)) if name == "errors" else {}
    found |= {"dropped": int(counts[i, 1]), "raised": int(counts[i, 4])}
    return State(weighted=scan.weighted, resolution=scan.resolution, **found)


@cache
def compiled() -> Callable[..., None]:
    """Compile the loop; later processes find it in numba's cache, where numba can write one."""
    from numba import njit
    from numba.extending import register_jitable

    for part in (_critical, _place):
        register_jitable(part)
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(bin_rows)
    except RuntimeError:
        return njit(nogil=True, error_model="numpy")(bin_rows)


# ---- compiled


def bin_rows(  # noqa: PLR0917  # compiled functions take no keywords
    rows: tuple[Array, ...],
    weighted: bool,
    floor: float,
    wanted: tuple[bool, ...],
    bins: tuple[float, float, int, int, int],
    tables: Array,
    counts: Array,
) -> None:
    """Add rows to the tables of the three histograms, by the rules of `_engines`; a floor of nan raises nothing."""
    y_true, y_pred, lower, upper, weight = rows
    total = squares = 0.0
    for i in range(len(y_true)):
        y, p, low, high, w = y_true[i], y_pred[i], lower[i], upper[i], weight[i] if weighted else 1.0
        error, below, above = y - p, p - low, high - p
        fine = low <= high if floor >= 0 else below >= 0 and above >= 0
        if below < floor:
            below, low, counts[4] = floor, y, counts[4] + 1
        if above < floor:
            above, high, counts[4] = floor, y, counts[4] + 1
        active, width, error = above if error >= 0 else below, below + above, abs(error)
        size = width + error if w > 0 else below / 4 + above / 4 + error / 4
        if not (fine and w >= 0 and w * 0 == 0 and size * 0 == 0):
            counts[2] += 1
            continue
        if w == 0:
            counts[3] += 1
            continue
        number = _critical(error, active, y > high or y < low)
        row = tables[0, _place(number, bins)]
        row[0], row[1] = row[0] + 1, max(row[1], number)
        row[2] += w
        row[3] += w * active
        row[4] += w * width
        row[5] += w * error
        row[6] += w * number
        row[7] += w * (error * number)
        gap = active + active - width
        if wanted[1] and gap > 0 and (error + error) / gap < np.inf:
            number = (error + error) / gap
            row = tables[1, _place(number, bins)]
            row[0], row[1] = row[0] + 1, max(row[1], number)
            row[2] += w * gap
            row[3] += w * error
            row[4] += w * (error * number)
        if wanted[2]:
            row = tables[2, _place(error, bins)]
            row[0], row[1] = row[0] + 1, max(row[1], error)
            row[2] += w
            row[3] += w * error
            row[4] += w * (error * error)
            total, squares = total + w * y, squares + w * (y * y)
    counts[5] += total
    counts[6] += squares


def _critical(error: float, active: float, outside: bool) -> float:
    """Critical scale, which rounding must not make 1 where the observation is outside its bound."""
    if error != active:
        return error / active
    return NEXT if outside else min(active * HUGE, 1.0)


def _place(number: float, bins: tuple[float, float, int, int, int]) -> int:
    """Bin of a number as `_bins.mark` finds it, read off the leading bits of the float that marks it."""
    scaling, split, shift, below, end = bins
    if number == np.inf:
        return end
    moved = number * scaling
    product = moved * split
    marked = np.float64(product - (product - moved))
    found = int(marked.view(np.int64) >> shift) - below
    return min(max(found, 1 if number > 0 else 0), end - 1)
