"""The bench that all methods of the study share: folds, three settings each, calibration, and a clock."""

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from threadpoolctl import threadpool_limits

from uccurve import UCC, Intervals, interval_score
from uccurve._arrays import Indices

from .experiment import Floats

LEVELS = (0.8, 0.9, 0.95)
SETTINGS = 3
FOLDS = 5
TUNED_ON = 2  # folds on which settings are compared
FLOOR = 0.05  # smallest band as a share of the mean one: a zero band cannot be scaled

Predict = Callable[[Floats, Floats], Floats]  # of features and their point predictions: a forecast


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Training rows: features, target, and predictions of the target by a model that has not seen the row."""

    X: Floats
    y: Floats
    y_pred: Floats

    def at(self, index: Indices) -> "Rows":
        """Return some of the rows."""
        return Rows(self.X[index], self.y[index], self.y_pred[index])


Fit = Callable[[Rows, int, int], Predict]  # of rows, one of three settings, and a seed


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """A recipe with its chosen setting: forecasts of unseen training rows, a model per fold, and one of all rows."""

    setting: int
    unseen: Floats
    models: list[Predict]
    final: Predict


@dataclass(slots=True, eq=False)
class Bench:
    """One trial's training rows and test features, with everything that has been tuned so far.

    What several methods share is fitted once, and its CPU time counts for each of them.
    """

    X: Floats
    y: Floats
    group: Indices
    X_test: Floats
    seed: int = 0
    seconds: float = 0.0
    folds: list[tuple[Indices, Indices]] = field(init=False)
    fold_of_row: Indices = field(init=False)
    _known: dict[str, tuple[Tuned, float]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        shuffled = GroupKFold(FOLDS, shuffle=True, random_state=self.seed)
        self.folds = list(shuffled.split(self.X, groups=self.group))
        self.fold_of_row = np.zeros(len(self.y), dtype=np.intp)
        for number, (_, rest) in enumerate(self.folds):
            self.fold_of_row[rest] = number

    def rows(self, centre: Tuned | None = None) -> Rows:
        """Return the training rows around the predictions of a tuned model."""
        y_pred = np.zeros(len(self.y)) if centre is None else centre.unseen[0]
        return Rows(self.X, self.y, y_pred)

    def tuned(self, name: str, fit: Fit, centre: Tuned | None = None) -> Tuned:
        """Return a recipe with the setting that scores best on two of five folds, and cross-fit it on all five."""
        if name not in self._known:
            start = time.process_time()
            found = self._tune(fit, self.rows(centre))
            self._known[name] = (found, time.process_time() - start)
        found, seconds = self._known[name]
        self.seconds += seconds
        return found

    def _tune(self, fit: Fit, rows: Rows) -> Tuned:
        tried = [
            [self._fold(fit, rows, setting, number) for number in range(TUNED_ON)]
            for setting in range(SETTINGS)
        ]
        held_out = np.concatenate([rest for _, rest in self.folds[:TUNED_ON]])
        losses = []
        for parts in tried:
            forecast = np.concatenate([part for _, part in parts], axis=1)
            losses.append(self.loss(rows.y[held_out], forecast))
        setting = int(np.argmin(losses))
        chosen = tried[setting]
        chosen += [self._fold(fit, rows, setting, number) for number in range(TUNED_ON, FOLDS)]
        unseen = np.empty((7, len(rows.y)))
        for (_, rest), (_, part) in zip(self.folds, chosen, strict=True):
            unseen[:, rest] = part
        models = [model for model, _ in chosen]
        return Tuned(setting, unseen, models, fit(rows, setting, self.seed))

    def _fold(self, fit: Fit, rows: Rows, setting: int, number: int) -> tuple[Predict, Floats]:
        """Return a model that has not seen a fold, and its forecast of the fold."""
        seen, rest = self.folds[number]
        model = fit(rows.at(seen), setting, self.seed)
        return model, model(rows.X[rest], rows.y_pred[rest])

    def loss(self, y: Floats, forecast: Floats) -> float:
        """Return what settings are compared by: the mean shipped score of the levels, each times its miss rate."""
        shipped = scaled_by(y, forecast, forecast)
        scores = score_of(y, shipped)
        return float(np.mean([(1 - level) * s for level, s in zip(LEVELS, scores, strict=True)]))

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the CPU time of what a method fits by itself."""
        start = time.process_time()
        yield
        self.seconds += time.process_time() - start

    def split(self, share: float) -> tuple[Indices, Indices]:
        """Return training rows and held-out rows; groups stay together."""
        splitter = GroupShuffleSplit(1, test_size=share, random_state=self.seed)
        seen, held_out = next(splitter.split(self.X, groups=self.group))
        return seen, held_out


def scaled_by(y: Floats, unseen: Floats, plain: Floats) -> Floats:
    """Return a forecast whose intervals are scaled around their middle, by each level's conformal factor.

    The factor is that of unseen rows. Around the middle, because a model of its own for each bound need not have the
    point prediction between its bounds.
    """
    shipped = plain.copy()
    for place in range(len(LEVELS)):
        known, known_half = middle_and_half(unseen, place)
        new, new_half = middle_and_half(plain, place)
        smallest = FLOOR * float(known_half.mean())
        if smallest == 0:
            continue
        bands = np.maximum(known_half, smallest)
        intervals = Intervals.from_bands(y, known, bands)
        factor = float(UCC(intervals).find(coverage=LEVELS[place], conformal=True).scale)
        width = factor * np.maximum(new_half, smallest)
        shipped[1 + place] = new - width
        shipped[4 + place] = new + width
    return shipped


def shifted_by(y: Floats, unseen: Floats, plain: Floats) -> Floats:
    """Return a forecast whose bounds are moved by each level's conformal amount, that of unseen rows."""
    moved = plain.copy()
    for place, level in enumerate(LEVELS):
        low, high = 1 + place, 4 + place
        outside = np.maximum(unseen[low] - y, y - unseen[high])
        rank = min(int(np.ceil(level * (len(y) + 1))), len(y))
        amount = np.sort(outside)[rank - 1]
        middle, _ = middle_and_half(plain, place)
        moved[low] = np.minimum(plain[low] - amount, middle)
        moved[high] = np.maximum(plain[high] + amount, middle)
    return moved


def middle_and_half(forecast: Floats, place: int) -> tuple[Floats, Floats]:
    """Return the middle and the half-width of a level's intervals."""
    lower, upper = forecast[1 + place], forecast[4 + place]
    return (lower + upper) / 2, (upper - lower) / 2


def score_of(y: Floats, forecast: Floats) -> list[float]:
    """Return the interval score of each level."""
    return [
        float(interval_score(y, forecast[1 + place], forecast[4 + place], coverage=level))
        for place, level in enumerate(LEVELS)
    ]


@contextmanager
def alone() -> Iterator[None]:
    """Run on one thread, without the warnings and log messages of other libraries."""
    logging.disable(logging.INFO)
    try:
        with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(logging.NOTSET)
