"""The study: every method on every data set, tuned and calibrated alike, judged by what it would ship."""

import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from uccurve import _refusals as checks

from ._study_bench import LEVELS, Bench, alone
from ._study_data import ABOUT, DATA, QUICK, REAL, Trial, few_values, trials
from ._study_judge import MAIN, SMALL, as_json, group, measured
from ._study_methods import METHODS, Method, of_objects
from ._study_page import write
from .results import Progress, Result
from .store import Arrays, finished, part_path, versions, write_json

RECIPE = 1  # raised where the code of a method or a data set changes, so that kept parts are computed anew
OWN = {"package": "uccurve", "words": "a method of your own"}
TABLES = ("shipped", "plain")


def run_study(
    methods: Iterable[str] | None, own: Mapping[str, Any], data: Iterable[str] | None, folder: Path,
    *, quick: bool, jobs: int | None, progress: Progress,
) -> Result:  # fmt: skip
    """Compute what is missing, judge, rank, draw, and write the JSON file, the figures and the page."""
    chosen = selected("methods", methods, METHODS)
    for name, model in own.items():
        checked_own(name, model)
    sets = list(selected("data", QUICK if quick and data is None else data, DATA))
    said = {name: ABOUT["methods"][name] for name in chosen} | dict.fromkeys(own, OWN)
    packages = loaded(said | {name: ABOUT["data"][name] for name in sets})
    jobs = jobs or (1 if quick else os.cpu_count() or 1)
    compute(sets, list(chosen), quick=quick, jobs=jobs, progress=progress)
    judged = {name: judge(name, list(chosen), own, quick=quick) for name in sets}
    result = {
        "experiment": "study",
        "quick": quick,
        "levels": list(LEVELS),
        "versions": {"python": platform.python_version()}
        | versions(sorted({"uccurve", "numpy"} | packages)),
        "methods": said,
        "data": judged,
        "groups": grouped(judged),
    }
    write_json(folder / "study" / "study.json", result)
    write(result, folder)
    return result


def selected(
    argument: str, names: Iterable[str] | None, known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return entries by name, by default all of them."""
    wanted = list(known if names is None else names)
    for name in wanted:
        checks.choice(argument, name, tuple(known))
    return {name: known[name] for name in wanted}


def checked_own(name: str, models: Any) -> None:
    """Refuse an object that is no method."""
    if name in METHODS:
        raise ValueError(f"`own` must not use a name of the study: {name!r} is one of its methods.")
    listed = models if isinstance(models, list | tuple) else [models] * 3
    if len(listed) != 3:
        raise ValueError(f"`own` must hold one object or three: {name!r} has {len(listed)}.")
    for model in listed:
        for call in ("fit", "predict_interval"):
            if not callable(getattr(model, call, None)):
                raise TypeError(
                    f"`own` must hold objects with fit and predict_interval: {name!r} has no {call}."
                )


def loaded(asked: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Import all packages before the first fit: none is found missing later, and their threads can be limited."""
    for name, about in asked.items():
        module = about["package"].replace("scikit-learn", "sklearn").replace("-", "_")
        try:
            import_module(module)
        except ImportError as error:
            raise ImportError(
                f"{name!r} of the study needs {about['package']}: pip install --group paper"
            ) from error
    return {about["package"] for about in asked.values()}


# ---- parts


def compute(
    sets: list[str], methods: list[str], *, quick: bool, jobs: int, progress: Progress
) -> None:
    """Compute the parts that are missing, a process per core; small sets first."""
    waiting = []
    for name in sets:
        for trial in trials(name, quick=quick):
            missing = [m for m in methods if runs(m, trial) and not part_of(trial, m).exists()]
            if missing:
                waiting.append((len(trial.y), name, trial.fold, missing))
    waiting.sort(key=lambda job: job[0])
    for done, label in enumerate(finished_jobs(waiting, quick=quick, jobs=jobs), start=1):
        progress(f"study: {label}", done, len(waiting))
    progress("study: done", len(waiting), len(waiting))


def finished_jobs(
    waiting: list[tuple[int, str, int, list[str]]], *, quick: bool, jobs: int
) -> Iterator[str]:
    """Yield the label of each job that is done."""
    if jobs == 1:
        for _, name, fold, missing in waiting:
            yield run_trial(name, fold, missing, quick)
        return
    fresh = get_context("spawn")  # polars hangs in a forked process
    with ProcessPoolExecutor(jobs, mp_context=fresh) as pool:
        running = [
            pool.submit(run_trial, name, fold, missing, quick) for _, name, fold, missing in waiting
        ]
        for future in as_completed(running):
            yield future.result()


def run_trial(name: str, fold: int, methods: list[str], quick: bool) -> str:
    """Compute some methods on one trial, and keep each as a part."""
    trial = trials(name, quick=quick)[fold]
    bench = bench_of(trial)
    for method in methods:
        finished(part_of(trial, method), partial(forecasts, bench, METHODS[method]))
    return f"{name}, fold {fold + 1}"


def bench_of(trial: Trial) -> Bench:
    """Return the bench of a trial: it does not hold the targets of the test rows."""
    return Bench(trial.X, trial.y, trial.group, trial.X_test)


def runs(method: str, trial: Trial) -> bool:
    """Whether a method takes part in a trial."""
    about = ABOUT["methods"][method]
    if about.get("after") and trial.data not in REAL:
        return False
    return bool(about.get("least_rows", 0) <= len(trial.y) <= about.get("most_rows", np.inf))


def part_of(trial: Trial, method: str) -> Path:
    """Return the file of a method's forecasts in a trial."""
    about = ABOUT["methods"][method], ABOUT["data"][trial.data]
    packages = {"numpy", "scikit-learn", *(entry["package"] for entry in about)}
    depends = {
        "data": trial.data,
        "method": method,
        "fold": trial.fold,
        "quick": trial.quick,
        "recipe": RECIPE,
        "versions": versions(sorted(packages)),
    }
    return part_path("study", f"{trial.data} {method} fold{trial.fold}", depends)


def forecasts(bench: Bench, method: Method) -> Arrays:
    """Return a method's forecasts of the test rows, its setting, and the CPU seconds of everything it fitted."""
    bench.seconds = 0.0
    with alone():
        answer = method(bench)
    found = {"plain": answer.plain, "shipped": answer.shipped}
    return found | {"setting": np.array(answer.setting), "seconds": np.array(bench.seconds)}


# ---- judgement


def judge(name: str, methods: list[str], own: Mapping[str, Any], *, quick: bool) -> dict[str, Any]:
    """Return one data set's size and kind, and what is measured of each method on all its test rows."""
    cases = trials(name, quick=quick)
    X = np.concatenate([trial.X_test for trial in cases])
    y = np.concatenate([trial.y_test for trial in cases])
    parts: dict[str, list[Arrays]] = {}
    for method in methods:
        if all(runs(method, trial) for trial in cases):
            parts[method] = [
                finished(
                    part_of(trial, method),
                    partial(forecasts, bench_of(trial), METHODS[method]),
                )
                for trial in cases
            ]
    for method, models in own.items():
        fit = of_objects(models)
        parts[method] = [forecasts(bench_of(trial), fit) for trial in cases]
    results: dict[str, Any] = {}
    for method, found in parts.items():
        both = {
            table: asdict(measured(X, y, np.concatenate([part[table] for part in found], axis=1)))
            for table in TABLES
        }
        seconds = float(np.mean([part["seconds"] for part in found]))
        settings = [int(part["setting"]) for part in found]
        results[method] = both | {"seconds": round(seconds, 3), "settings": settings}
    size = round(np.mean([len(trial.y) for trial in cases]))
    about: dict[str, Any] = ABOUT["data"][name]
    shape = {"rows": len(y), "features": X.shape[1], "training_rows": size}
    kind = {"few_values": few_values(y), "folds": len(cases)}
    return about | shape | kind | {"results": results}


def grouped(judged: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of each group of data sets that is not empty; synthetic sets are in none but their own."""
    real = {name: about for name, about in judged.items() if name in REAL}
    parts = {
        "real": real,
        "small": {k: v for k, v in real.items() if v["training_rows"] < SMALL},
        "large": {k: v for k, v in real.items() if v["training_rows"] >= SMALL},
        "continuous": {k: v for k, v in real.items() if not v["few_values"]},
        "few values": {k: v for k, v in real.items() if v["few_values"]},
    }
    found: dict[str, Any] = {}
    for name, among in parts.items():
        if among:
            found[name] = as_json(group(scores_of(among), origins_of(among)))
    if real:
        found["plain"] = as_json(group(scores_of(real, table="plain"), origins_of(real)))
        for place, level in enumerate(LEVELS):
            if place != MAIN:
                scores = scores_of(real, place=place)
                found[f"{100 * level:.0f}%"] = as_json(group(scores, origins_of(real)))
    return found


def scores_of(
    judged: Mapping[str, Any], *, table: str = "shipped", place: int = MAIN
) -> dict[str, dict[str, float]]:
    """Return the score of each method on each data set, but for those that were added after the run."""
    scores: dict[str, dict[str, float]] = {}
    for name, about in judged.items():
        ranked = [method for method in about["results"] if not added_later(method)]
        scores[name] = {
            method: about["results"][method][table]["score"][place] for method in ranked
        }
    return scores


def added_later(method: str) -> bool:
    """Whether a method was added after the run."""
    return bool(ABOUT["methods"].get(method, OWN).get("after"))


def origins_of(judged: Mapping[str, Any]) -> dict[str, str]:
    """Return who measured each data set."""
    return {name: about["origin"] for name, about in judged.items()}
