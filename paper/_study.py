"""The study: every method on every data set and seed, judged by scores, skills and gains, and ranked over data sets."""

import logging
import platform
import time
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from threadpoolctl import threadpool_limits

from uccurve import UCC, Intervals, assess, coverage_score, interval_score
from uccurve import _refusals as checks

from ._study_data import DATA, QUICK, Trial, trial
from ._study_methods import COVERAGE, METHODS, Method, of_object
from ._study_page import write
from .bands import BM, ED, FLOOR
from .results import Progress, Result, finite, ours
from .store import Arrays, finished, part_path, versions, write_json

RECIPE = 1  # raised where the code of a method or a data set changes, so that kept parts are computed anew
SMALL = 500  # training rows below which a data set counts as small
# What methods are ranked by; 1 where small values are good.
RANKED = {"score": 1, "best_score": 1, "skill": -1, "gain_BM": -1, "gain_BD": -1, "gain_ED": -1}
DIGITS = 12  # decimals of all numbers, so that the constant band's gain is 0 and not the rounding of the machine
ABOUT = tomllib.loads(Path(__file__).with_name("study.toml").read_text(encoding="utf-8"))
OWN = {"package": "uccurve", "words": "a method of your own"}


def run_study(
    methods: Iterable[str] | None, own: Mapping[str, Any], data: Iterable[str] | None, folder: Path,
    *, quick: bool, seeds: int | None, progress: Progress,
) -> Result:  # fmt: skip
    """Compute what is missing, judge, rank, draw, and write the JSON file, the figures and the page."""
    seeds = seeds or (1 if quick else 5)
    chosen = selected("methods", methods, METHODS) | {
        name: own_method(name, one) for name, one in own.items()
    }
    sets = selected("data", QUICK if quick and data is None else data, DATA)
    said = {name: ABOUT["methods"].get(name, OWN) for name in chosen}
    packages = loaded(said | {name: ABOUT["data"][name] for name in sets})
    total = len(sets) * seeds * len(chosen)
    steps = iter(range(total))
    judged: dict[str, Any] = {}
    for name in sets:
        trials = [trial(name, seed, quick=quick) for seed in range(seeds)]
        parts: dict[str, list[Arrays]] = defaultdict(list)
        for (method, fit), one in product(chosen.items(), trials):
            progress(f"study: {method} on {name}, seed {one.seed}", next(steps), total)
            if len(one.folds[0][0]) <= said[method].get("most_rows", np.inf):
                predicted = intervals if method in own else finished_part
                parts[method].append(predicted(one, method, fit))
        judged[name] = ABOUT["data"][name] | judge(trials, parts)
    progress("study: done", total, total)
    groups = {
        "all": list(judged),
        "large": [name for name, one in judged.items() if one["training_rows"] >= SMALL],
        "small": [name for name, one in judged.items() if one["training_rows"] < SMALL],
        "real": [name for name, one in judged.items() if "synthetic" not in one],
    }
    result = {
        "experiment": "study",
        "quick": quick,
        "seeds": list(range(seeds)),
        "coverage": COVERAGE,
        "versions": {"python": platform.python_version()}
        | versions(sorted({"uccurve", "numpy"} | packages)),
        "methods": said,
        "data": judged,
        "ranks": {name: ranks(judged, among) for name, among in groups.items()},
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


def own_method(name: str, model: Any) -> Method:
    """Return a reader's object as a method; it is copied before each fit."""
    if name in METHODS:
        raise ValueError(f"`own` must not use a name of the study: {name!r} is one of its methods.")
    missing = [
        call for call in ("fit", "predict_interval") if not callable(getattr(model, call, None))
    ]
    if missing:
        raise TypeError(
            f"`own` must hold objects with fit and predict_interval: {name!r} has no {missing[0]}."
        )
    return of_object(lambda _: deepcopy(model))


def loaded(asked: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Import all packages before the first fit: none is found missing later, and their threads can be limited."""
    for name, one in asked.items():
        try:
            import_module(one["package"].replace("scikit-learn", "sklearn"))
        except ImportError as error:
            package = one["package"]
            raise ImportError(
                f"{name!r} of the study needs {package}: pip install --group paper"
            ) from error
    return {one["package"] for one in asked.values()}


@contextmanager
def alone() -> Iterator[None]:
    """Run on one thread, without the warnings and log messages of other libraries."""
    logging.disable(logging.INFO)  # MAPIE turns its own on
    try:
        with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(logging.NOTSET)


def finished_part(one: Trial, method: str, fit: Method) -> Arrays:
    """Return what a method predicts in a trial, kept from an earlier run or computed now."""
    said = ABOUT["methods"][method], ABOUT["data"][one.data]
    packages = ("numpy", "scikit-learn", *(entry["package"] for entry in said))
    depends = {
        "data": one.data,
        "method": method,
        "seed": one.seed,
        "quick": one.quick,
        "recipe": RECIPE,
    }
    path = part_path(
        "study", f"{one.data} {method} seed{one.seed}", depends | {"versions": versions(packages)}
    )
    return finished(path, partial(intervals, one, method, fit))


def intervals(one: Trial, method: str, fit: Method) -> Arrays:
    """Return predictions and ordered bounds of the test rows, and the CPU seconds of fit and predict, on one thread."""
    rows, seconds = [], []
    for train, test in one.folds:
        with alone():
            times = [time.process_time()]
            predict = fit(one.X[train], one.y[train], one.seed)
            times.append(time.process_time())
            found = predict(one.X[test])
            times.append(time.process_time())
        n = len(test)
        if (
            {np.shape(column) for column in found} != {(n,)}
            or len(found) != 3
            or not np.isfinite(found).all()
        ):
            raise ValueError(
                f"predict_interval of {method!r} must return lower and upper bounds, {n} finite numbers each."
            )
        y_pred, *bounds = np.asarray(found, float)
        rows.append(np.stack([y_pred, *np.sort(bounds, axis=0)]))
        seconds.append(np.diff(times))
    return {"rows": np.concatenate(rows, axis=1), "seconds": np.mean(seconds, axis=0)}


def judge(trials: list[Trial], parts: Mapping[str, list[Arrays]]) -> dict[str, Any]:
    """Return one data set's size, and what each method measures: by seed, and over all seeds with intervals."""
    size = len(trials[0].folds[0][0])
    if not parts:
        raise ValueError(
            f"`methods` must hold one for many rows: {trials[0].data!r} has {size} training rows."
        )
    models = {method: list(map(repaired, trials, found)) for method, found in parts.items()}
    label = np.concatenate([one.label[one.test] for one in trials])
    pooled = assess(models, coverage=COVERAGE, block=label, progress=False)
    results: dict[str, dict[str, Any]] = {}
    for method, found in models.items():
        seeds, row = list(map(measures, trials, parts[method], found)), pooled[method]
        skill = {
            "skill_pooled": row.crps_skill.value,
            "skill_low": row.crps_skill.low,
            "skill_high": row.crps_skill.high,
        }
        results[method] = {key: ours([one[key] for one in seeds]) for key in seeds[0]}
        results[method] |= {key: finite(round(value, DIGITS)) for key, value in skill.items()}
    rows, features = trials[0].X.shape
    return {"rows": rows, "features": features, "training_rows": size, "results": results}


def repaired(one: Trial, part: Arrays) -> Intervals:
    """Return a method's intervals with bands of at least 5% of the mean half-width, as in the paper's tables."""
    return Intervals.from_bounds(one.y[one.test], *part["rows"], min_band=FLOOR)


def measures(one: Trial, part: Arrays, iv: Intervals) -> dict[str, float]:
    """Return what the tables show of one seed; scores are in standard deviations of y."""
    curve, unit, (_, *bounds) = UCC(iv), float(one.y.std()), part["rows"]
    fit_seconds, predict_seconds = part["seconds"]
    split = curve.decompose(coverage=COVERAGE)
    found = {
        "score": interval_score(iv.y_true, *bounds, coverage=COVERAGE) / unit,
        "best_score": split.best / unit,
        "constant_score": split.constant / unit,
        "skill": curve.skill(),
        "gain_BM": curve.gain(axes=BM),
        "gain_BD": curve.gain(axes=("bandwidth", "deficit")),
        "gain_ED": curve.gain(axes=ED),
        "coverage": coverage_score(iv.y_true, *bounds),
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
    }
    return {name: round(float(value), DIGITS) for name, value in found.items()}


def ranks(judged: Mapping[str, Any], among: list[str]) -> dict[str, Any]:
    """Return mean ranks over data sets of the methods that ran on all, Friedman's p and Nemenyi's critical difference.

    Two methods whose mean ranks differ by more are significantly different at 5%, all pairs considered.
    """
    results = [judged[name]["results"] for name in among]
    common = (
        [method for method in results[0] if all(method in one for one in results)]
        if results
        else []
    )
    k, n = len(common), len(results)
    critical = (
        studentized_range.ppf(0.95, k, np.inf) * np.sqrt(k * (k + 1) / (12 * n)) if k > 1 else 0.0
    )
    found: dict[str, Any] = {"data": among, "critical_difference": finite(critical), "measures": {}}
    for measure, sign in RANKED.items() if common else ():
        values = np.array([[one[method][measure]["mean"] for method in common] for one in results])
        mean = rankdata(sign * values, axis=1).mean(axis=0)
        p = friedmanchisquare(*values.T).pvalue if k > 2 and n > 1 else np.nan
        named = dict(zip(common, map(finite, mean), strict=True))
        found["measures"][measure] = {"friedman_pvalue": finite(p), "mean_ranks": named}
    return found
