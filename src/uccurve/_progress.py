"""Progress: a bar on the terminal for long work, from a plain callback that the work itself calls."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic

import numpy as np

from ._refusals import shown

Tick = Callable[..., None]  # called with how much is done, how much there is, and perhaps a label
Progress = bool | Tick | None
PATIENCE = 1.0  # seconds of work before a bar appears


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
    bar, begin = Bar(console=Console(stderr=True), transient=True), monotonic()
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
