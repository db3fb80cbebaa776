"""Folds: what choosing among models on the same rows costs, from a choice that is made again without each fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from uccurve._arrays import Indices
from uccurve._paths import Path
from uccurve._scoring import conformal_t, quantiles
from uccurve._vocabulary import Array
from uccurve.evidence.units import Blocks

FOLDS = 10
SEED = 0  # folds are the same in every call


class Winner(NamedTuple):
    """The model that is best without one fold, and its factor (or shift) there."""

    place: int
    t: float


@dataclass(frozen=True, slots=True)
class NestedChoice:
    """What the choice among models does to new rows.

    `multiplier` multiplies the factor of the model that is chosen (is added to its shift), `score` is what rows score
    that neither the choice nor the factor has seen.
    """

    multiplier: float
    score: float
    folds: int


def fold_of_rows(blocks: Blocks) -> Indices:
    """Fold of each row: whole blocks, dealt at random into folds of equal size."""
    folds = min(FOLDS, blocks.count)
    dealt = np.arange(blocks.count) % folds
    np.random.default_rng(SEED).shuffle(dealt)
    of_row: Indices = dealt[blocks.of_row]
    return of_row


def nested_choice(paths: Sequence[Path], blocks: Blocks, alpha: Fraction) -> NestedChoice | None:
    """Choose again without each fold, and see how the winner does on the fold; None where that is impossible.

    Notes
    -----
    On nine of ten folds the winner and its conformal factor k are found; the rows of the tenth have critical scales k_i.
    The conformal quantile of all ``k_i / k`` multiplies the factor of the model that is chosen on all rows, which then
    covers new rows as promised although it was chosen. On shifts differences take the place of ratios.
    """
    if len({path.vary for path in paths}) > 1 or blocks.count < 2:
        return None
    fold = fold_of_rows(blocks)
    winners = [_winner(paths, fold != number, alpha) for number in range(int(fold.max()) + 1)]
    additive = paths[0].vary == "shift"
    if not all(isfinite(winner.t) and (additive or winner.t > 0) for winner in winners):
        return None
    relative = _relative(paths, fold, winners, additive=additive)
    multiplier = _conformal(paths[0], relative, 1 - alpha)
    if not isfinite(multiplier):
        return None
    score = _held_out_score(paths, fold, winners, multiplier, alpha)
    return NestedChoice(multiplier, score, len(winners))


def moved(t: float, multiplier: float, *, additive: bool) -> float:
    """Return a factor times the multiplier; a shift plus it."""
    return t + multiplier if additive else t * multiplier


def _winner(paths: Sequence[Path], chosen: np.ndarray, alpha: Fraction) -> Winner:
    """Best model on some of the rows, by its score at its own conformal factor there."""
    rows = np.flatnonzero(chosen)
    best = Winner(0, inf)
    smallest = inf
    for place, path in enumerate(paths):
        part = path.subset(rows)
        t = conformal_t(part, alpha)
        if not isfinite(t):
            continue
        score = part.mean(part.score_rows(t, float(alpha)))
        if score < smallest:
            smallest = score
            best = Winner(place, t)
    return best


def _relative(
    paths: Sequence[Path], fold: Indices, winners: Sequence[Winner], *, additive: bool
) -> Array:
    """Critical t of each row under the winner of its fold, relative to that winner's t."""
    out = np.empty(len(fold))
    for number, winner in enumerate(winners):
        rows = np.flatnonzero(fold == number)
        critical = paths[winner.place].critical[rows]
        out[rows] = critical - winner.t if additive else critical / winner.t
    return out


def _conformal(path: Path, values: Array, q: Fraction) -> float:
    """Conformal quantile of one value per row; with unequal weights the smallest that reaches q."""
    n = len(values)
    share = Fraction(-((-(n + 1) * q) // 1), n) if path.equally_weighted else q
    return quantiles(values, path.weight, share)[0]


def _held_out_score(
    paths: Sequence[Path],
    fold: Indices,
    winners: Sequence[Winner],
    multiplier: float,
    alpha: Fraction,
) -> float:
    """Mean score of all rows, each under the winner of its fold at its factor times the multiplier."""
    out = np.empty(len(fold))
    for number, winner in enumerate(winners):
        rows = np.flatnonzero(fold == number)
        path = paths[winner.place]
        t = moved(winner.t, multiplier, additive=path.vary == "shift")
        out[rows] = path.subset(rows).score_rows(t, float(alpha))
    return paths[0].mean(out)
