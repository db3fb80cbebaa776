"""Every table and figure of the paper, recomputed: data, models, intervals, curves, tests, scores, figures and a page.

Nothing here is imported by `import uccurve`; the libraries behind it come with ``pip install "uccurve[experiments]"``.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ._names import NAMES, Progress, load

if TYPE_CHECKING:
    from .results import Result

__all__ = ["NAMES", "load", "run"]


def run(
    names: Iterable[str] = NAMES,
    *,
    quick: bool = False,
    seeds: int | None = None,
    out: str | Path = "paper",
    progress: Progress | None = None,
) -> "dict[str, Result]":
    """Run experiments end to end and write ``NAME.json``, the figures and ``index.html`` to a folder.

    Finished parts are kept in the cache folder, so that an interrupted run resumes where it stopped.

    Parameters
    ----------
    names : iterable of str
        Experiments to run; ``"all"`` is all of them.
    quick : bool
        Small data, small models and few seeds: minutes instead of an hour, to see the structure, not the values.
    seeds : int, optional
        Number of seeds, instead of the experiment's own.
    out : path
        Folder to write to.
    progress : callable, optional
        Called as ``progress(label, done, total)`` before each step and after the last.

    Returns
    -------
    dict
        Result by experiment, as in the JSON files.

    Examples
    --------
    >>> run(["winee"])
    Traceback (most recent call last):
        ...
    ValueError: `names` must be among concepts, synthetic, ... or all; got 'winee'. Did you mean 'wine'?
    """
    wanted = list(names)
    found = [load(name) for name in (NAMES if "all" in wanted else wanted)]
    if seeds is not None and seeds < 1:
        raise ValueError(f"`seeds` must be at least 1; got {seeds}.")
    from .runner import run_all

    return run_all(found, quick=quick, seeds=seeds, folder=Path(out), progress=progress or (lambda *_: None))
