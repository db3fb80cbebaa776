"""Batches: the bins of rows that Polars reads a batch at a time, from one compiled loop over each batch.

Grouping costs an engine 15 ns per row and histogram, the loop 7. Polars reads on all its threads while batches are
binned; DuckDB would fetch rows on one thread only. Other engines, and Polars without numba, group the rows themselves
(`_engines`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from math import nan
from queue import SimpleQueue
from typing import Any

import numpy as np

from uccurve._vocabulary import Array

from ._bins import Histogram, Splitting, last
from ._scan import ROLES, Scan
from ._state import SUMS, State, tidy

BATCH = 1_000_000  # numbers, which take 8 MB
WORTH = 16  # batches that take about as long to group as the loop takes to load
MOST_THREADS = 16  # each holds a batch; more would wait for the reader
POLARS = [1, 38]  # earlier versions lack batches, or hang where they are not read to the end
# Critical scale of an error equal to its band where the observation is outside its bound nevertheless, by rounding.
NEXT = 1 + 2.0**-52
# What is counted for each of the intervals, beside the tables of its histograms.
ROWS, DROPPED, REFUSED, WEIGHTLESS, RAISED, Y_SUM, Y_SQUARES = range(7)
WIDTH = 2 + max(map(len, SUMS.values()))  # columns of a table: number of rows, maximum, sums
Loop = Callable[..., None]
Counted = tuple[Array, Array]  # tables and counts of one thread


def worth(scan: Scan) -> int:
    """Return the number of batches from which the loop pays off; 0 where it cannot be used."""
    if not scan.rows.implementation.is_polars() or scan.groups or find_spec("numba") is None:
        return 0
    from polars import __version__ as version

    return WORTH if [int(part) for part in version.split(".")[:2]] >= POLARS else 0


def batches(scan: Scan) -> Iterator[Any]:
    """Batches of the numeric columns, as frames of Polars."""
    names = [name for name in scan.rows.collect_schema().names() if name != "block"]
    rows = scan.rows.select(*names).to_native()
    return iter(rows.collect_batches(chunk_size=BATCH // len(names), maintain_order=False, engine="streaming"))


def binned(
    scan: Scan, floors: Sequence[float | None], parts: Iterable[Any], loop: Loop
) -> tuple[list[int], list[State]]:
    """Row counts (all, dropped, refused, weightless) and the states of all intervals.

    Each thread has tables of its own; at most one batch waits while all threads are busy.
    """
    from polars import thread_pool_size

    count, free, jobs = len(scan.intervals), SimpleQueue[Counted](), []
    shape, bins = (count, len(SUMS), 2 * last(scan.resolution) + 3, WIDTH), Splitting.at(scan.resolution)
    every = [(np.zeros(shape), np.zeros((count, 7))) for _ in range(min(thread_pool_size(), MOST_THREADS))]
    lowest = [nan if floor is None else float(floor) for floor in floors]
    wanted = [tuple((i, name) in scan.histograms for name in ("crossover", "errors")) for i in range(count)]
    options = [(scan.weighted, *one, bins) for one in zip(lowest, wanted, strict=True)]
    for own in every:
        free.put(own)

    def take(batch: Any, own: Counted) -> None:
        try:
            _add(scan, batch, options, loop, own)
        except BaseException:
            own[1][:, REFUSED] += 1  # no need to read on
            raise
        finally:
            free.put(own)

    with ThreadPoolExecutor(len(every)) as pool:
        for batch in parts:
            own = free.get()
            if own[1][:, REFUSED].any():
                break
            jobs.append(pool.submit(take, batch, own))
    for job in jobs:
        job.result()
    tables, counts = every[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for more, others in every[1:]:
            maximum = np.maximum(tables[..., 1], more[..., 1])
            tables += more
            tables[..., 1] = maximum
            counts += others
    counts[:, REFUSED] += not np.isfinite(tables[..., 2:6]).all()
    states = () if counts[:, REFUSED].any() else range(count)
    return counts[:, :RAISED].max(axis=0).astype(int).tolist(), [_state(scan, i, tables, counts) for i in states]


def _add(scan: Scan, batch: Any, options: Sequence[tuple[Any, ...]], loop: Loop, own: Counted) -> None:
    """Add the rows of a batch to what a thread has counted."""
    tables, counts = own
    columns = {name: batch[name].to_numpy() for name in batch.columns if name not in scan.wide}
    wide = [batch[name].fill_null(value=False).to_numpy() for name in scan.wide]
    counts[:, ROWS] += len(batch)
    if scan.drop:
        complete = np.logical_and.reduce([np.isfinite(columns[name]) for name in scan.numbers])
        columns = {name: column[complete] for name, column in columns.items()}
        wide = [flags[complete] for flags in wide]
        counts[:, DROPPED] += np.count_nonzero(~complete)
    counts[:, REFUSED] += any(flags.any() for flags in wide)
    for column in columns.values():
        column.setflags(write=False)  # Polars' columns are in part, and each mixture would be compiled
    y_true = columns["y_true"]
    for i, chosen in enumerate(options):
        rows = (y_true, *(columns[f"{role}_{i}"] for role in ROLES), columns.get("weight", y_true))
        loop(rows, *chosen, tables[i], counts[i])


def _state(scan: Scan, i: int, tables: Array, counts: Array) -> State:
    """State of some intervals."""
    found: dict[str, Any] = {"dropped": int(counts[i, DROPPED]), "raised": int(counts[i, RAISED])}
    for kind, (name, sums) in enumerate(SUMS.items()):
        if name in scan.intervals[i].histograms:
            place = scan.errors_of(i) if name == "errors" else i
            at = np.flatnonzero(tables[place, kind, :, 0])
            rows, maximum, *columns = tables[place, kind, at].T.copy()
            parts = dict(zip(sums, columns, strict=False))
            found[name] = tidy(Histogram(at - last(scan.resolution) - 1, rows.astype(np.int64), maximum, parts))
    if "errors" in found:
        found["y_sum"], found["y_squares"] = counts[scan.errors_of(i), Y_SUM:].tolist()
    return State(weighted=scan.weighted, resolution=scan.resolution, **found)


@cache
def compiled() -> Loop | None:
    """Return the loop for numba to compile, or to find in its cache, at the first call; None where numba fails."""
    try:
        from numba import njit
        from numba.extending import register_jitable
    except ImportError:  # as where numba does not know the version of numpy yet
        return None
    for part in (_critical, _place):
        register_jitable(part)
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(bin_rows)
    except RuntimeError:  # there is no folder that numba could write to
        return njit(nogil=True, error_model="numpy")(bin_rows)


# ---- compiled


def bin_rows(  # noqa: PLR0917  # compiled functions take no keywords
    rows: tuple[Array, ...],
    weighted: bool,
    floor: float,
    wanted: tuple[bool, bool],
    bins: Splitting,
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
            below, low, counts[RAISED] = floor, y, counts[RAISED] + 1
        if above < floor:
            above, high, counts[RAISED] = floor, y, counts[RAISED] + 1
        active, width, error = above if error >= 0 else below, below + above, abs(error)
        size = width + error if w > 0 else below / 4 + above / 4 + error / 4
        number = _critical(error, active, y > high or y < low)
        overflows = number == np.inf and active > 0 and w > 0
        if overflows or not (fine and w >= 0 and w * 0 == 0 and size * 0 == 0):
            counts[REFUSED] += 1
            continue
        if w == 0:
            counts[WEIGHTLESS] += 1
            continue
        row = tables[0, _place(number, bins)]
        row[0], row[1] = row[0] + 1, max(row[1], number)
        row[2] += w
        row[3] += w * active
        row[4] += w * width
        row[5] += w * error
        row[6] += w * number
        row[7] += w * (error * number)
        gap = active + active - width
        number = (error + error) / gap if gap > 0 else np.inf
        if wanted[0] and number < np.inf:
            row = tables[1, _place(number, bins)]
            row[0], row[1] = row[0] + 1, max(row[1], number)
            row[2] += w * gap
            row[3] += w * error
            row[4] += w * (error * number)
        if wanted[1]:
            row = tables[2, _place(error, bins)]
            row[0], row[1] = row[0] + 1, max(row[1], error)
            row[2] += w
            row[3] += w * error
            row[4] += w * (error * error)
            total, squares = total + w * y, squares + w * (y * y)
    counts[Y_SUM] += total
    counts[Y_SQUARES] += squares


def _critical(error: float, active: float, outside: bool) -> float:
    """Critical scale, which rounding must not make 1 where the observation is outside its bound."""
    if active == 0:
        return np.inf if error > 0 else 0.0
    if error == active:
        return NEXT if outside else 1.0
    return error / active


def _place(number: float, bins: Splitting) -> int:
    """Place of a number's bin as `_bins.mark` finds it, read off the leading bits of the float that marks it."""
    if number == np.inf:
        return bins.end
    moved = number * bins.scaling
    product = moved * bins.split
    marked = np.float64(product - (product - moved))
    found = int(marked.view(np.int64) >> bins.shift) - bins.below
    return min(max(found, 1 if marked > 0 else 0), bins.end - 1)
