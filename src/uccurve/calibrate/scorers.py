"""Scorers: what cross-validation and searches maximise when intervals matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import Unit
from uccurve.adapters import from_estimator
from uccurve.curve import UCC
from uccurve.intervals import Intervals


def _metric(name: str, curve: UCC, *, unit: Unit = "raw") -> float:
    return float(getattr(curve.at(1.0, unit=unit), name))


# By name: the score of a curve, and whether more of it is better.
SCORES: Mapping[str, tuple[Callable[..., float], bool]] = {
    "auucc_gain": (UCC.gain, True),
    "auucc": (UCC.area, False),
    "skill": (UCC.skill, True),
    "crps": (UCC.potential_crps, False),
    "cost": (UCC.cost, False),
    "interval_score": (UCC.interval_score, False),
    **{name: (partial(_metric, name), False) for name in checks.METRICS},
}


@dataclass(repr=False, eq=False, slots=True)
class IntervalScorer:
    """A scorer ``scorer(estimator, X, y)`` for intervals; made by `make_interval_scorer`."""

    _score: str | Callable[..., float]
    _greater_is_better: bool
    _intervals: Mapping[str, Any]
    _options: Mapping[str, Any]
    _request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y_true: npt.ArrayLike, *, sample_weight: Any = None) -> float:
        """Score a fitted estimator; more is better, always."""
        intervals = from_estimator(estimator, X, y_true, weight=sample_weight, **self._intervals)
        return self._signed(intervals, sample_weight)

    def _signed(self, intervals: Intervals, sample_weight: Any = None) -> float:
        if isinstance(self._score, str):
            options = {**self._options}
            curve = UCC(intervals, vary=options.pop("vary", "scale"))
            value = SCORES[self._score][0](curve, **options)
        else:
            weight = {} if sample_weight is None else {"sample_weight": sample_weight}
            rows = (intervals.y_true, intervals.y_pred, intervals.lower, intervals.upper)
            value = float(self._score(*rows, **weight, **self._options))
        return value if self._greater_is_better else -value

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Say whether `sample_weight` is wanted, where scikit-learn's metadata routing is enabled."""
        self._request = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """What this scorer requests from scikit-learn's metadata routing."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._request)
        return request

    def _accept_sample_weight(self) -> bool:
        """Answer scikit-learn's scoring by many scorers at once."""
        return True

    def __repr__(self) -> str:
        name = self._score if isinstance(self._score, str) else getattr(self._score, "__name__", repr(self._score))
        options = "".join(f", {key}={value!r}" for key, value in self._options.items())
        return f"make_interval_scorer({name!r}{options})"


def make_interval_scorer(
    score: str | Callable[..., float],
    *,
    greater_is_better: bool | None = None,
    level: float | None = None,
    min_band: float | str | None = None,
    **options: Any,
) -> IntervalScorer:
    """Make a scorer for ``cross_validate``, ``GridSearchCV`` and the like; less of a cost becomes more of a score.

    Parameters
    ----------
    score : str or callable
        A method of `UCC` with its options: ``"skill"``; ``"crps"``, the potential CRPS; ``"auucc_gain"`` and
        ``"auucc"`` (`axes`, and ranges such as ``miss_rate=(0, 0.5)``); ``"cost"`` as delivered (`c`, `axes`);
        ``"interval_score"`` (`coverage`). Or a metric as delivered, ``"bandwidth"``,
        ``"miss_rate"``, ``"excess"``, ``"deficit"``, ``"overshoot"``. A callable is called as ``score(y_true, y_pred,
        lower, upper, **options)``.
    greater_is_better : bool
        For a callable only; the named scores know.
    level : float, optional
        As in `uccurve.adapters.from_estimator`, for estimators with a standard deviation.
    min_band : float or str, optional
        As in `Intervals.from_bounds`, for estimators whose prediction may lie outside its interval.
    **options
        For the score, and `vary` for the curve. They are checked here, on three made-up rows, rather than in the middle
        of a search.

    Returns
    -------
    IntervalScorer
        For estimators that `uccurve.adapters.from_estimator` takes: with ``predict_interval`` or ``return_std``, alone
        or at the end of a pipeline.

    Examples
    --------
    >>> make_interval_scorer("auucc_gain", axes=("bandwidth", "deficit"))
    make_interval_scorer('auucc_gain', axes=('bandwidth', 'deficit'))
    """
    if isinstance(score, str):
        checks.choice("score", score, tuple(SCORES))
        if greater_is_better is not None:
            raise ValueError(f"`greater_is_better` goes with a callable; {score!r} knows what is better.")
        better = SCORES[score][1]
    elif greater_is_better is None:
        raise ValueError("`greater_is_better` must be given for a callable.")
    else:
        better = greater_is_better
    scorer = IntervalScorer(score, better, {"level": level, "min_band": min_band}, options)
    scorer._signed(Intervals.from_bands(np.array([0.0, 1.0, 3.0]), np.zeros(3), np.array([1.0, 2.0, 2.0])))
    return scorer
