"""Resampling, for those who ask: how often rows are drawn, which are swapped, and a bar while it takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import Any

import numpy as np

from uccurve._arrays import Indices, blocks
from uccurve._refusals import shown
from uccurve._vocabulary import Array
from uccurve.evidence.units import Blocks, generator
from uccurve.intervals import Intervals

Tick = Callable[..., None]  # called with how much is done, how much there is, and perhaps a label
Progress = bool | Tick | None
PATIENCE = 1.0  # seconds of work before a bar appears
Seed = int | np.random.Generator | None
# Units that are drawn or swapped one by one; more are first put into this many groups at random.
MOST = 1 << 12
GROUPS = 200  # groups of units that are left out in turn
BATCH = 64  # resamples at a time
TIE = 1e-12  # share of a statistic below which two of its values are treated as equal


class DrawnUnits:
    """Rows that are drawn or swapped together: blocks, or random groups of them where they are many.

    Groups make the variance of a resampled sum off by a random factor with a standard deviation of
    ``sqrt(2 / MOST)``, 2.2%. That moves the ends of an interval by less than thousands of resamples leave them
    uncertain, and the effort does not grow with the rows. Swapping whole groups is as valid as swapping rows.

    `of_row` is the unit of each flattened row of positive weight. `what` needs at least two blocks.
    """

    def __init__(
        self, intervals: Intervals, block: Any, seed: Seed, *, what: str = "resampling"
    ) -> None:
        self.blocks = Blocks.of(intervals, block)
        self.blocks.require_two(what)
        self._rng = generator(seed)
        self.of_row = self.blocks.of_row
        self.count = self.blocks.count
        if self.count > MOST:
            group = self._rng.permutation(np.arange(self.count, dtype=np.intp) % MOST)
            self.of_row = group[self.of_row]
            self.count = MOST

    def of_data(self) -> tuple[Indices, Indices]:
        """Rows of the data that have weight, and the unit of each."""
        row, first = np.unique(self.blocks.row, return_index=True)
        return row, self.of_row[first]

    def resamples(self, count: int, tick: Tick | None) -> Iterator[Array]:
        """Yield the `counts` of so many resamples, some at a time."""
        return (self.counts(part.stop - part.start) for part in batches(count, tick))

    def counts(self, count: int) -> Array:
        """How often each unit is drawn with replacement: (resamples, units)."""
        drawn = self._rng.integers(0, self.count, size=(count, self.count))
        drawn += self.count * np.arange(count)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size)
        return times.reshape(drawn.shape).astype(np.float64)

    def left_out(self) -> Array:
        """All units but those of one group, for each of at most `GROUPS` random groups."""
        group = self._rng.permutation(self.count) % GROUPS
        return np.not_equal.outer(np.unique(group), group).astype(np.float64)

    def swaps(self, count: int | None, tick: Tick | None) -> Iterator[Array]:
        """Yield whether each unit is swapped (1) or not (0), for some random swaps at a time: (swaps, units).

        None: every way to swap them once.
        """
        if count is None:
            for part in batches(2**self.count, tick):
                numbers = np.arange(part.start, part.stop)[:, None]
                yield (numbers >> np.arange(self.count) & 1).astype(np.float64)
            return
        for part in batches(count, tick):
            shape = part.stop - part.start, self.count
            yield self._rng.integers(0, 2, size=shape, dtype=np.bool_).astype(np.float64)


def batches(total: int, tick: Tick | None = None) -> Iterator[slice]:
    """Slices of `total` resamples."""
    for part in blocks(total, BATCH):
        yield part
        if tick:
            tick(part.stop, total)


# ---- progress


@contextmanager
def watched(progress: Progress, label: str) -> Iterator[Tick | None]:
    """Return what long work calls with how much is done and how much there is; None where nobody watches.

    ``None`` shows a bar where a terminal watches and rich is installed, ``True`` always, ``False`` never; a callable
    is called itself.

    Examples
    --------
    >>> with watched("yes", "resamples"):
    ...     pass
    Traceback (most recent call last):
    TypeError: `progress` must be None, True, False or a callable of two integers; got 'yes'.
    """
    if progress is None:
        progress = sys.stderr.isatty() and find_spec("rich") is not None
    elif not (callable(progress) or isinstance(progress, bool | np.bool_)):
        raise TypeError(
            f"`progress` must be None, True, False or a callable of two integers; got {shown(progress)}."
        )
    if callable(progress) or not progress:
        yield progress if callable(progress) else None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress as Bar
    except ImportError:
        raise ImportError('progress bars need rich: pip install "uccurve[cli]"') from None
    bar = Bar(console=Console(stderr=True), transient=True)
    begin = monotonic()
    task = bar.add_task(label, total=None)

    def tick(done: int, total: int, label: str = label) -> None:
        if monotonic() - begin > PATIENCE:
            bar.start()
        bar.update(task, completed=done, total=total, description=label)

    try:
        yield tick
    finally:
        if bar.live.is_started:
            bar.stop()
