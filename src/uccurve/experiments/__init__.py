"""Every table and figure of the paper, recomputed: data, models, intervals, curves, tests, figures and a page.

Nothing here is imported by `import uccurve`; the libraries behind it come with ``pip install "uccurve[experiments]"``.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment
    from .results import Result

NAMES = ("concepts", "synthetic", "gap", "bnn", "housing", "wine", "traffic")
Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps are done and how many there are."""

__all__ = ["NAMES", "load", "run"]


def load(name: str) -> "Experiment":
    """One experiment by name."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f" ({near[0]}?)" if near else ""
        raise ValueError(f"`names` must be among {', '.join(NAMES)} or all; {name!r} is none of them{hint}.")
    try:
        found: Experiment = import_module(f".{name}", __name__).EXPERIMENT
    except ImportError as error:
        raise ImportError(f'experiments need {error.name}: pip install "uccurve[experiments]"') from error
    return found


def run(
    names: Iterable[str] = NAMES,
    *,
    quick: bool = False,
    seeds: int | None = None,
    out: str | Path = "paper",
    progress: Progress | None = None,
) -> "dict[str, Result]":
    """Run experiments end to end and write ``NAME.json``, the figures and ``index.html`` to a folder.

    Finished parts are kept in the cache folder, so that a run that was stopped goes on where it was.

    Parameters
    ----------
    names : iterable of str
        Experiments to run; ``"all"`` is all of them.
    quick : bool
        Small data, small models and few seeds: minutes instead of an hour, for the structure rather than the values.
    seeds : int, optional
        How many seeds, instead of the experiment's own number.
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
    ValueError: `names` must be among concepts, synthetic, ... or all; 'winee' is none of them (wine?).
    """
    wanted = list(names)
    found = [load(name) for name in (NAMES if "all" in wanted else wanted)]
    if seeds is not None and seeds < 1:
        raise ValueError(f"`seeds` must be at least 1; got {seeds}.")
    from .runner import run_all

    return run_all(found, quick=quick, seeds=seeds, folder=Path(out), progress=progress or (lambda *_: None))
