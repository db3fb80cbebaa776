"""Cross-validated intervals on a table of features, and the two readings of them: the housing and the wine data."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils.parallel import Parallel, delayed

from uccurve import UCC, Intervals

from .bands import BM, ED, FLOOR, all_models, banded, models_of, repaired, with_constant
from .experiment import FIRST, SECOND, Parts, Reading, Settings
from .figures import canvas, draw_curves
from .findings import Cells, Claims, Findings, Floats, Models
from .store import Arrays
from .summary import COST_FACTOR, squared_error, summary_cells, tuned
from .trees import Data, EarlierBoosting, Sets, area_bands, bounds, half_widths, quantile_models

Index = np.ndarray[Any, np.dtype[np.intp]]
Scaled = tuple[Models, dict[str, float]]
"""Test intervals, and the scale at which the cost of each is taken."""
Judge = Callable[[Models, Cells, float, int], Claims]
"""Return the claims that the models of a reading, its cells, its unit and a seed bear out; may add cells."""

MODELS = ("GBR", "GBR-Weak", "Meta")
PERIODS = ("held out", "test")
TIES = "earlier ties"
FEW_ROWS = 2000  # their folds are done before other processes have started


# ---- folds


def splits(n: int, settings: Settings, *, seed: int) -> Iterator[tuple[Index, Index, Index]]:
    """Yield the training, held-out and test rows of each fold of each repetition."""
    for repetition in range(settings["repetitions"]):
        state = 1000 * seed + repetition
        for rest, test in KFold(settings["folds"], shuffle=True, random_state=state).split(np.arange(n)):
            train, held_out = train_test_split(rest, test_size=settings["held_out"], random_state=state)
            yield train, held_out, test


def intervals(train: Data, new: Sets, settings: Settings, *, seed: int) -> Arrays:
    """Return one fold's intervals of each of the paper's models, all around one prediction."""
    found = quantile_models(train, new, settings, seed=seed)
    meta = half_widths(train, new, settings["strong"], share=settings["meta_share"], seed=seed)
    for key, band in meta.items():
        y_true, y_pred, *_ = found[f"{key} GBR"]
        found[f"{key} Meta"] = banded(y_true, y_pred, band)
    return found


def earlier_bounds(train: Data, new: Sets, settings: Settings, *, seed: int) -> Arrays:
    """Return one fold's bounds of the quantile models with the ties of the paper's time."""
    return bounds(train, new, settings, seed=seed, kind=EarlierBoosting)


def trained_bands(train: Data, new: Sets, settings: Settings, *, seed: int) -> Arrays:
    """Return one fold's bands of our own models."""
    return area_bands(train, new, settings["strong"], folds=settings["cross_fits"], seed=seed)


def pooled(load: Callable[[], Data], fold: Callable[..., Arrays], seed: int, settings: Settings) -> Arrays:
    """Return what `fold` finds, one fold after the other; `settings["rows"]` takes only the first rows (quick runs)."""
    X, y = (array[: settings["rows"]] for array in load())
    chosen = [[(X[rows], y[rows]) for rows in split] for split in splits(len(y), settings, seed=seed)]
    jobs = Parallel(n_jobs=-1 if len(y) > FEW_ROWS else 1)
    folds = jobs(
        delayed(fold)(train, dict(zip(PERIODS, new, strict=True)), settings, seed=seed) for train, *new in chosen
    )
    found = {name: np.concatenate([one[name] for one in folds], axis=-1) for name in folds[0]}
    for place, period in enumerate(PERIODS, start=1):
        found[f"{period} fold"] = np.repeat(np.arange(len(chosen)), [len(sets[place][1]) for sets in chosen])
    row = np.concatenate([test for *_, test in splits(len(y), settings, seed=seed)])
    return {"unit": np.array(y.std()), "test row": row, **found}


# ---- readings


def calibrated_by_fold(rows: Mapping[str, Floats], fold: Mapping[str, Floats], unit: float) -> Intervals:
    """Return test intervals with the scale or shift of each fold that is cheapest on its held-out rows."""
    found = []
    for number in np.unique(fold["test"]):
        held_out, test = (repaired(rows[period][:, fold[period] == number]) for period in PERIODS)
        points = [UCC(held_out, vary=vary).cheapest(COST_FACTOR, axes=ED, unit=unit) for vary in ("scale", "shift")]
        best = min(points, key=lambda point: point.cost or 0.0)
        found.append(test.calibrated(scale=best.scale, shift=best.shift))
    whole = Intervals.join(found)
    return Intervals.from_bands(whole.y_true, whole.y_pred, whole.lower_band, whole.upper_band, min_band=FLOOR)


def first_reading(parts: Parts) -> Scaled:
    """Return the test intervals as they are, with the scales that are cheapest on BM on the held-out rows."""
    test, held_out = (all_models(parts, MODELS, period) for period in ("test", "held out"))
    return test, tuned(held_out, BM, float(parts["intervals"]["unit"]))


def second_reading(parts: Parts) -> Scaled:
    """Return the test intervals calibrated by fold; only the constant band still has a scale to be tuned."""
    first, ties = parts["intervals"], parts[TIES]
    unit, fold = float(first["unit"]), {period: ties[f"{period} fold"] for period in PERIODS}
    found = {}
    for name in MODELS:
        source = first if name == "Meta" else ties
        keys = {period: f"{period} {name}" for period in PERIODS}
        rows = {period: np.concatenate([first[key][:2], source[key][-2:]]) for period, key in keys.items()}
        found[name] = calibrated_by_fold(rows, fold, unit)
    constant = {"Constant": models_of(first, MODELS, "held out")["Constant"]}
    return with_constant(found), dict.fromkeys(MODELS, 1.0) | tuned(constant, ED, unit)


def findings(
    reading: Callable[[Parts], Scaled], judge: Judge, order: tuple[str, ...], parts: Parts, seed: int
) -> Findings:
    """Return what a reading says; rows that are tested more than once are one block."""
    unit, tested = float(parts["intervals"]["unit"]), parts[TIES]["test row"]
    test, scales = reading(parts)
    cells = summary_cells(test, scales, squared_error, unit=unit)
    claims = judge({name: test[name] for name in order}, cells, unit, seed)
    block = tested if len(np.unique(tested)) < len(tested) else None
    return Findings(cells, claims, test, unit, block, (order,))


def readings(load: Callable[[], Data], judge: Judge, order: tuple[str, ...]) -> dict[str, Reading]:
    """Return both readings of a data set; `order` is the paper's ranking by the BM area."""
    more = {TIES: partial(pooled, load, earlier_bounds), "area bands": partial(pooled, load, trained_bands)}
    return {
        FIRST: Reading({"intervals": partial(pooled, load, intervals)}, partial(findings, first_reading, judge, order)),
        SECOND: Reading(more, partial(findings, second_reading, judge, order)),
    }


def draw(name: str, parts: Parts) -> dict[str, Figure]:
    """Return the curves on both pairs of axes, the first reading above the second."""
    figure, panels = canvas(2, rows=2, sharex="col")
    shown = [(f"{FIRST} reading", *first_reading(parts)), (f"{SECOND} reading", *second_reading(parts))]
    for place, ax in enumerate(panels):
        title, test, scales = shown[place // 2]
        models = {model: test[model] for model in ("Constant", *MODELS)}
        draw_curves(ax, models, (ED, BM)[place % 2], unit="std", scales=scales)
        ax.set_title(title, fontsize="medium")
    return {name: figure}
