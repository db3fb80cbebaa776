"""Other libraries: fitted estimators with intervals of their own, what searches maximise, what `evaluate` takes."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import nan
from statistics import NormalDist
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._vocabulary import METRICS, Unit
from uccurve.curve import UCC
from uccurve.intervals import Intervals, Options

from ._quantiles import level_of


def from_estimator(
    estimator: Any,
    X: Any,
    y_true: npt.ArrayLike,
    *,
    level: float | None = None,
    **options: Unpack[Options],
) -> Intervals:
    """Intervals that a fitted estimator predicts for `X`.

    Parameters
    ----------
    estimator : fitted estimator
        With ``predict`` and ``predict_interval`` (`IntervalRegressor`; MAPIE's regressors), or with
        ``predict(X, return_std=True)`` (Gaussian processes, Bayesian ridge). A pipeline transforms `X` by its steps
        before the last; a fitted search stands for its best estimator.
    X : array_like
    y_true : array_like of shape (n,)
    level : float, optional
        Level of intervals from a standard deviation, which are those of a normal distribution: 0.9 by default, so that
        they stand beside other models' 90% intervals. One standard deviation would be the level 0.683. Intervals of an
        estimator's own have the level that it was given, so there `level` is refused.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 3.0, 7.0]
    >>> model = BayesianRidge().fit(X, y)
    >>> one, two = (from_estimator(model, X, y, level=level) for level in (0.6827, 0.9545))
    >>> (two.upper_band / one.upper_band).round(2).tolist()  # standard deviations
    [2.0, 2.0, 2.0, 2.0]
    """
    if hasattr(estimator, "best_estimator_"):
        return from_estimator(estimator.best_estimator_, X, y_true, level=level, **options)
    if hasattr(estimator, "steps"):
        features = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return from_estimator(estimator[-1], features, y_true, level=level, **options)
    name = type(estimator).__name__
    if not hasattr(estimator, "predict"):
        raise TypeError(f"`estimator` must have predict; {name} has none.")
    if hasattr(estimator, "predict_interval"):
        if level is not None:
            raise ValueError(
                f"`level` is for estimators with a standard deviation; {name} has intervals of its own. "
                "Hint: leave it out, and set the level where the estimator is made."
            )
        return Intervals.from_bounds(y_true, *_predicted(estimator, X), **options)
    if "return_std" in inspect.signature(estimator.predict).parameters:
        mean, std = estimator.predict(X, return_std=True)
        deviations = NormalDist().inv_cdf((1 + level_of(0.9 if level is None else level)) / 2)
        return Intervals.from_std(y_true, mean, deviations * std, **options)
    raise TypeError(
        f"`estimator` must have predict_interval, or predict with return_std; {name} has neither. "
        "Hint: wrap it, IntervalRegressor(estimator)."
    )


def _predicted(estimator: Any, X: Any) -> tuple[Any, Any, Any]:
    """Return the prediction and its two bounds, from a pair, from two columns, or from MAPIE's points and bounds."""
    found = estimator.predict_interval(X)
    levels: Any = [found if isinstance(found, tuple) else np.asarray(found).T]
    if isinstance(found, tuple) and np.ndim(found[-1]) == 3:
        y_pred, levels = found[0], np.asarray(found[1]).T
    else:
        y_pred = estimator.predict(X)
    if len(levels) != 1 or len(levels[0]) != 2:
        raise ValueError(
            f"{type(estimator).__name__} must predict one lower and one upper bound per row; it predicts bounds of "
            f"shape {np.shape(levels)[::-1]}. Hint: pass each level to Intervals.from_bounds."
        )
    return y_pred, *levels[0]


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


def interval_score(
    df: Any,
    models: list[str],
    level: int,
    *,
    id_col: str = "unique_id",
    target_col: str = "y",
    cutoff_col: str = "cutoff",
) -> Any:
    """Interval score of each model and series, for ``utilsforecast.evaluation.evaluate``; lower is better.

    Parameters
    ----------
    df : data frame
        With columns ``MODEL-lo-90`` and ``MODEL-hi-90`` for `level` 90, as Nixtla's libraries return them.
    models : list of str
    level : int
        In percent.
    id_col, target_col, cutoff_col : str
        Columns of the series, of the observations, and of the forecast origin where there is one.

    Returns
    -------
    data frame
        One row per series (and origin), one column per model.

    Examples
    --------
    >>> import polars as pl
    >>> df = pl.DataFrame({"unique_id": ["a", "a"], "y": [1.0, 5.0], "net": [0.0, 0.0]})
    >>> df = df.with_columns(pl.lit(-1.0).alias("net-lo-50"), pl.lit(4.0).alias("net-hi-50"))
    >>> interval_score(df, ["net"], level=50)["net"].item()  # width 5, and 4 times (0 + 1) / 2
    7.0
    """

    def score(iv: Intervals) -> float:
        return UCC(iv).interval_score(coverage=level / 100)

    return _by_series(df, models, level, score, (id_col, target_col, cutoff_col))


def half_width(
    df: Any,
    models: list[str],
    level: int,
    *,
    id_col: str = "unique_id",
    target_col: str = "y",
    cutoff_col: str = "cutoff",
) -> Any:
    """Half the mean width of each model's intervals in each series; the arguments are those of `interval_score`.

    Examples
    --------
    >>> import polars as pl
    >>> df = pl.DataFrame({"unique_id": ["a"], "y": [1.0], "net": [0.0]})
    >>> df = df.with_columns(pl.lit(-1.0).alias("net-lo-90"), pl.lit(4.0).alias("net-hi-90"))
    >>> half_width(df, ["net"], level=90)["net"].item()
    2.5
    """

    def width(iv: Intervals) -> float:
        return UCC(iv).at(1.0).bandwidth

    return _by_series(df, models, level, width, (id_col, target_col, cutoff_col))


def factor(
    df: Any,
    models: list[str],
    level: int,
    *,
    id_col: str = "unique_id",
    target_col: str = "y",
    cutoff_col: str = "cutoff",
) -> Any:
    """Factor that each series' bands need for `level`; nan where it has too few rows to promise that.

    The arguments are those of `interval_score`. Bands are measured from the model's own prediction.

    Examples
    --------
    >>> import polars as pl
    >>> df = pl.DataFrame({"unique_id": ["a"] * 4, "y": [1.0, 2.0, -3.0, 4.0], "net": [0.0] * 4})
    >>> df = df.with_columns(pl.lit(-1.0).alias("net-lo-50"), pl.lit(2.0).alias("net-hi-50"))
    >>> factor(df, ["net"], level=50)["net"].item()  # the third smallest of 1/2, 2/2, 3/1 and 4/2
    2.0
    """

    def needed(iv: Intervals) -> float:
        try:
            return UCC(iv).find(coverage=level / 100, conformal=True).scale
        except ValueError:  # too few rows, or errors beside a band of zero
            return nan

    return _by_series(df, models, level, needed, (id_col, target_col, cutoff_col))


def _by_series(
    df: Any,
    models: list[str],
    level: int,
    statistic: Callable[[Intervals], float],
    names: tuple[str, str, str],
) -> Any:
    """Return `statistic` of each model's intervals of a level, one row per series and origin, in a frame like `df`."""
    import narwhals as nw

    id_col, target_col, cutoff_col = names
    frame = nw.from_native(df, eager_only=True)
    keys = [name for name in (cutoff_col, id_col) if name in frame.columns]
    rows: dict[str, list[Any]] = {name: [] for name in (*keys, *models)}
    for labels, part in sorted(frame.group_by(*keys), key=lambda group: group[0]):
        for name, label in zip(keys, labels, strict=True):
            rows[name].append(label)
        for model in models:
            columns = (model, f"{model}-lo-{level}", f"{model}-hi-{level}")
            values = (part[name].to_numpy() for name in (target_col, *columns))
            rows[model].append(statistic(Intervals.from_bounds(*values)))
    return nw.from_dict(rows, backend=frame.implementation).to_native()
