"""Every table and figure of the paper, recomputed: data, models, intervals, curves, tests, scores, figures and a page.

Run from a checkout with ``make paper`` and ``make study``; no part of the installed package. The libraries behind it
are the dependency group ``paper``: ``pip install --group paper``.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from uccurve import _refusals as checks

__all__ = ["NAMES", "load", "run", "study"]

Progress = Callable[
    [str, int, int], None
]  # called with a label, how much is done and how much there is
NAMES = ("concepts", "synthetic", "gap", "bnn", "housing", "wine", "traffic")


def load(name: str) -> Any:
    """Return one experiment by name."""
    checks.choice("names", name, NAMES)
    try:
        return import_module(f".{name}", __package__).EXPERIMENT
    except ImportError as error:
        raise ImportError(f"experiments need {error.name}: pip install --group paper") from error


def run(
    names: Iterable[str] = NAMES,
    *,
    quick: bool = False,
    seeds: int | None = None,
    out: str | Path = "build/paper",
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:
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
    ValueError: `names` must be one of concepts, synthetic, ...; got 'winee'. Did you mean 'wine'?
    """
    wanted = list(names)
    chosen = [load(name) for name in (NAMES if "all" in wanted else wanted)]
    from .results import run_one, write_page

    asked = _asked(quick, seeds, progress)
    found = {one.name: run_one(one, Path(out), **asked) for one in chosen}
    write_page(Path(out))
    return found


def study(
    *,
    methods: Iterable[str] | None = None,
    own: Mapping[str, Any] | None = None,
    data: Iterable[str] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    out: str | Path = ".",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compare methods that predict intervals on many data sets, and write the page ``study.md`` that says which to use.

    Finished parts are kept, as for `run`, but not those of your own methods.

    Parameters
    ----------
    methods, data : iterable of str, optional
        Methods and data sets by name, by default all; a quick run has four small data sets by default.
    own : mapping, optional
        Methods of your own by name: an object with ``fit(X, y)`` and ``predict_interval(X, coverage=)``, which returns
        lower and upper bounds, or a list of three to choose from inside the training rows. Each is copied before it is
        fitted, and calibrated as all others are.
    quick : bool
        At most 240 rows and one fold: less than a minute, to see the structure, not the values.
    jobs : int, optional
        Number of processes, by default one for each core; each fits on one thread.
    out : path
        Folder for ``study.md``, and ``study/study.json`` and the figures beside it.
    progress : callable, optional
        As for `run`.

    Returns
    -------
    dict
        The content of the JSON file.

    Examples
    --------
    >>> study(methods=["CV"])
    Traceback (most recent call last):
        ...
    ValueError: `methods` must be one of Constant, CV+, ...; got 'CV'. Did you mean 'CV+'?
    """
    try:
        from ._study import run_study
    except ImportError as error:
        raise ImportError(f"the study needs {error.name}: pip install --group paper") from error
    told = progress or (lambda *_: None)
    return run_study(methods, own or {}, data, Path(out), quick=quick, jobs=jobs, progress=told)


def _asked(quick: bool, seeds: int | None, progress: Progress | None) -> dict[str, Any]:
    """Return the options of `run`, checked."""
    if seeds is not None and seeds < 1:
        raise ValueError(f"`seeds` must be at least 1; got {seeds}.")
    return {"quick": quick, "seeds": seeds, "progress": progress or (lambda *_: None)}
