"""Scorers: what cross-validation and searches maximise when intervals matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE
from uccurve.adapters import from_estimator
from uccurve.curve import UCC
from uccurve.intervals import Intervals


def _at(name: str) -> Callable[..., float]:
    def score(intervals: Intervals, *, unit: str | float = "raw") -> float:
        return float(getattr(UCC(intervals).at(1.0, unit=unit), name))

    return score


def _curve(method: str) -> Callable[..., float]:
    def score(intervals: Intervals, *, vary: Any = "scale", **options: Any) -> float:
        return float(getattr(UCC(intervals, vary=vary), method)(**options))

    return score


def _priced(method: str) -> Callable[..., float]:
    def score(intervals: Intervals, *, c: float, axes: Any = HEADLINE, unit: Any = "raw", vary: Any = "scale") -> float:
        found = getattr(UCC(intervals, vary=vary), method)(c, axes=axes, unit=unit)
        return float(found if method == "cost" else found.cost)

    return score


def _interval_score(intervals: Intervals, *, alpha: float) -> float:
    alpha = checks.real("alpha", alpha, 0, 1)
    if alpha == 0:
        raise ValueError("`alpha` must be above 0: it is the share of observations that the intervals may miss.")
    point = UCC(intervals).at(1.0)
    return 2 * point.bandwidth + 2 / alpha * point.deficit


SCORES: Mapping[str, tuple[Callable[..., float], bool]] = {
    "auucc_gain": (_curve("gain"), True),
    "auucc": (_curve("area"), False),
    "skill": (_curve("skill"), True),
    "crps": (_curve("potential_crps"), False),
    "cost": (_priced("cost"), False),
    "cheapest": (_priced("cheapest"), False),
    "interval_score": (_interval_score, False),
    **{name: (_at(name), False) for name in checks.METRICS},
}
"""By name: the score of intervals, and whether more of it is better."""


class IntervalScorer:
    """A scorer ``scorer(estimator, X, y)`` for intervals; made by `make_interval_scorer`."""

    def __init__(
        self, score: str | Callable[..., float], greater_is_better: bool, min_band: Any, options: dict[str, Any]
    ) -> None:
        self._score, self._greater_is_better = score, greater_is_better
        self._min_band, self._options = min_band, options

    def __call__(self, estimator: Any, X: Any, y_true: npt.ArrayLike, *, sample_weight: Any = None) -> float:
        """Score a fitted estimator; more is better, always."""
        intervals = from_estimator(estimator, X, y_true, weight=sample_weight, min_band=self._min_band)
        return self._signed(intervals, sample_weight)

    def _signed(self, intervals: Intervals, sample_weight: Any = None) -> float:
        if isinstance(self._score, str):
            value = SCORES[self._score][0](intervals, **self._options)
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
        request.score.add_request(param="sample_weight", alias=getattr(self, "_request", None))
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
    min_band: float | str | None = None,
    **options: Any,
) -> IntervalScorer:
    """Make a scorer for ``cross_validate``, ``GridSearchCV`` and the like; less of a cost becomes more of a score.

    Parameters
    ----------
    score : str or callable
        ``"skill"`` and ``"crps"``, the potential CRPS (`vary`); ``"auucc_gain"``, ``"auucc"`` (`axes`, `vary`,
        `unit`, and ranges such as ``miss_rate=(0, 0.5)``); ``"cost"`` as
        delivered and ``"cheapest"`` on the curve (`c`, `axes`, `unit`, `vary`); ``"interval_score"`` (`alpha`); or a
        metric as delivered, ``"bandwidth"``, ``"miss_rate"``, ``"excess"``, ``"deficit"``, ``"overshoot"`` (`unit`).
        A callable is called as ``score(y_true, y_pred, lower, upper, **options)``.
    greater_is_better : bool
        For a callable only; the named scores know.
    min_band : float or str, optional
        As in `Intervals.from_bounds`, for estimators whose prediction may lie outside its interval.
    **options
        For the score. They are checked here, on three made-up rows, rather than in the middle of a search.

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
    scorer = IntervalScorer(score, better, min_band, options)
    scorer._signed(Intervals.from_bands(np.array([0.0, 1.0, 3.0]), np.zeros(3), np.array([1.0, 2.0, 2.0])))
    return scorer
