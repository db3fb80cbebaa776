"""Progress: a bar on the terminal for long work, from a plain callback that the work itself calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic

import numpy as np

from ._checks import shown

Tick = Callable[[int, int], None]
Progress = bool | Tick | None
PATIENCE = 1.0
"""Seconds of work before a bar appears."""


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
    if callable(progress):
        yield progress
        return
    if not (progress is None or isinstance(progress, bool | np.bool_)):
        raise TypeError(f"`progress` must be None, True, False or a callable of two integers; got {shown(progress)}.")
    if progress is None:
        progress = sys.stderr.isatty() and find_spec("rich") is not None
    if not progress:
        yield None
        return
    bar = _Bar(label)
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    """Bar of rich on the error stream that appears once the work has taken a second."""

    def __init__(self, label: str) -> None:
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            raise ImportError('progress bars need rich: pip install "uccurve[cli]"') from None
        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(label, total=None)
        self._begin, self._shown = monotonic(), False

    def __call__(self, done: int, total: int) -> None:
        if not self._shown and monotonic() - self._begin > PATIENCE:
            self._bar.start()
            self._shown = True
        self._bar.update(self._task, completed=done, total=total)

    def close(self) -> None:
        if self._shown:
            self._bar.stop()
