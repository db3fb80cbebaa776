"""Conformal: ranks of critical scales that cover new rows, on average or with a confidence."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log, log1p

import numpy as np

from . import _checks as checks
from ._checks import NO_RANK
from ._distributions import beta_rank
from ._paths import Path


def conformal_t(path: Path, target: float | Fraction, confidence: float | None = None) -> float:
    """Return the critical t of the conformal rank for a miss rate; by selection, O(n)."""
    checks.real("miss_rate", target, 0, 1)
    if not path.equally_weighted:
        raise ValueError("`conformal` counts rows, so it needs equal weights. Hint: leave `weight` out.")
    rank = conformal_rank(len(path), checks.as_written(target), confidence)
    t = path.critical_of_rank(rank)
    if np.isinf(t):
        raise ValueError(
            f"no {path.vary} reaches miss_rate={float(target):g} with conformal rank {rank} of {len(path)}: "
            "too many errors lie on the side of a zero band. Hint: raise them by `min_band`."
        )
    return t


def conformal_rank(n: int, alpha: Fraction, confidence: float | None = None) -> int:
    """Return the rank of split conformal prediction among n rows, or the one that holds with a confidence."""
    if not alpha:
        raise ValueError(NO_RANK)
    if confidence is None:
        rank, needed = ceil((n + 1) * (1 - alpha)), ceil(1 / alpha) - 1
    else:
        confidence = checks.inside_unit("confidence", confidence)
        rank = beta_rank(n, 1 - alpha, confidence) or n + 1
        needed = ceil(log1p(-confidence) / log(float(1 - alpha))) if alpha < 1 else 1
    if rank > n:
        how = "" if confidence is None else f" with confidence {confidence:g}"
        raise ValueError(
            f"`conformal` at miss_rate={float(alpha):g}{how} needs at least {needed} rows; there are {n}. "
            "Hint: use more calibration rows or a larger miss_rate."
        )
    return rank
