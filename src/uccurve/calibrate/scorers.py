"""Scorers: what cross-validation and searches maximise when intervals matter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._vocabulary import METRICS, Unit
from uccurve.adapters import from_estimator
from uccurve.curve import UCC
from uccurve.intervals import Intervals


def _metric(name: str, curve: UCC, *, unit: Unit = "raw") -> float:
    return float(getattr(curve.at(1.0, unit=unit), name))


SCORES: Mapping[str, Callable[..., float]] = {
    "auucc_gain": UCC.gain,
    "auucc": UCC.area,
    "skill": UCC.skill,
    "crps": UCC.potential_crps,
    "cost": UCC.cost,
    "interval_score": UCC.interval_score,
    **{name: partial(_metric, name) for name in METRICS},
}
GREATER_IS_BETTER = ("auucc_gain", "skill")


@dataclass(repr=False, eq=False, slots=True)
class IntervalScorer:
    """A scorer ``scorer(estimator, X, y)`` for intervals; made by `make_interval_scorer`."""

    _score: str
    _intervals: Mapping[str, Any]
    _options: Mapping[str, Any]
    _request: bool | str | None = None

    def __call__(
        self, estimator: Any, X: Any, y_true: npt.ArrayLike, *, sample_weight: Any = None
    ) -> float:
        """Score a fitted estimator; more is better, always."""
        return self._signed(
            from_estimator(estimator, X, y_true, weight=sample_weight, **self._intervals)
        )

    def _signed(self, intervals: Intervals) -> float:
        options = {"vary": "scale", **self._options}
        value = SCORES[self._score](UCC(intervals, vary=options.pop("vary")), **options)
        return value if self._score in GREATER_IS_BETTER else -value

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
        options = "".join(f", {key}={value!r}" for key, value in self._options.items())
        return f"make_interval_scorer({self._score!r}{options})"


def make_interval_scorer(
    score: str, *, level: float | None = None, min_band: float | str | None = None, **options: Any
) -> IntervalScorer:
    """Make a scorer for ``cross_validate``, ``GridSearchCV`` and the like; less of a cost becomes more of a score.

    Parameters
    ----------
    score : str
        A method of `UCC` with its options: ``"skill"``; ``"crps"``, the potential CRPS; ``"auucc_gain"`` and
        ``"auucc"`` (`axes`, and ranges such as ``miss_rate=(0, 0.5)``); ``"cost"`` as delivered (`c`, `axes`);
        ``"interval_score"`` (`coverage`). Or a metric as delivered, ``"bandwidth"``,
        ``"miss_rate"``, ``"excess"``, ``"deficit"``, ``"overshoot"``.
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

    Notes
    -----
    A score of your own needs no such helper: scikit-learn takes any function of an estimator, X and y, and
    `uccurve.adapters.from_estimator` gives it the intervals.

    Examples
    --------
    >>> make_interval_scorer("auucc_gain", axes=("bandwidth", "deficit"))
    make_interval_scorer('auucc_gain', axes=('bandwidth', 'deficit'))
    """
    checks.choice("score", score, tuple(SCORES))
    scorer = IntervalScorer(score, {"level": level, "min_band": min_band}, options)
    scorer._signed(
        Intervals.from_bands(np.array([0.0, 1.0, 3.0]), np.zeros(3), np.array([1.0, 2.0, 2.0]))
    )
    return scorer
