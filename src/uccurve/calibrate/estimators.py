"""Estimators: any scikit-learn regressor with calibrated prediction intervals, by cross-fitting."""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import (
    _safe_indexing,
    check_array,
    check_random_state,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from uccurve import _refusals as checks
from uccurve._vocabulary import Array
from uccurve.adapters import from_estimator
from uccurve.intervals import Intervals
from uccurve.train import BandRegressor

from . import IntervalCalibrator


class IntervalRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Turn a regressor into one that also predicts calibrated intervals, by cross-fitting.

    Every row serves for everything: the regressor, the model of its errors, and the calibration.

    Parameters
    ----------
    estimator : regressor, optional
        Predicts the point; by default gradient boosting.
    band : {"area", "quantile", "own"} or regressor
        Where the bands come from. A regressor learns the absolute errors of rows that the point prediction has not
        seen, from the same features and the prediction. ``"area"`` is `uccurve.train.BandRegressor`, ``"quantile"``
        gradient boosting of the errors' quantile at the coverage. ``"own"`` takes the estimator's own intervals, from
        ``predict_interval`` or ``predict(X, return_std=True)``.
    coverage : float
        Share of new observations that should lie inside.
    cv : int, splitter or list of splits
        Folds, shuffled where a number is given. Every row must be held out exactly once; for clustered rows pass
        ``list(GroupKFold(5).split(X, y, groups))``.
    min_band : float, str or None
        Minimum band, as in `Intervals.from_bounds`: regressors may give tiny or negative bands, and a zero band cannot
        be scaled. A percentage is one of the mean half-width. None refuses negative bands.
    random_state : int, RandomState or None
        For the folds, and for those regressors whose own is None.

    Attributes
    ----------
    estimator_, band_ : fitted regressors
        Fitted on all rows; ``band_`` is None for ``"own"`` bands.
    calibrator_ : IntervalCalibrator
        Fitted on the cross-fitted intervals; its ``scale_`` is the factor on the bands.
    min_band_ : float or None
        Minimum band in units of ``y``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With k folds, k regressors predict the fold that they have not seen, which gives an honest error for every row; k
    band models predict a band for the fold whose errors they have not seen. The factor on the bands is the critical
    scale of rank ceil((n + 1) coverage) of these intervals. Then the regressor is fitted on all rows and the band model
    on all errors: 2k + 2 fits, and k + 1 for ``"own"`` bands.

    The factor belongs to models fitted on fewer rows than those that predict, so the coverage is close to the target
    but not guaranteed; it tends to lie a little above. For the guarantee of `IntervalCalibrator` keep rows apart and
    calibrate on them. Calibration counts rows alike: ``sample_weight`` goes to the regressors only.

    On the 25 real data sets of the study (docs/study.md) cross-fitted area bands, grown by tuned LightGBM, have
    the best mean rank of 15 methods.
    A Gaussian process with ``"own"`` bands leads below 500 rows, and quantiles lead on skewed counts, where bands of
    one size on both sides lose: there take `uccurve.train.QuantileForest` with ``"own"``.

    Arguments of ``fit`` go to every regressor, or where metadata routing is enabled to those that request them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 400)[:, None]
    >>> y = X[:, 0] + X[:, 0] * np.random.default_rng(0).normal(size=400)
    >>> model = IntervalRegressor(LinearRegression(), coverage=0.9, random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval([[0.1], [0.9]])
    >>> bool(
    ...     upper[1] - lower[1] > 3 * (upper[0] - lower[0])
    ... )  # the noise grows with x, and so do the intervals
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        band: Literal["area", "quantile", "own"] | Any = "area",
        coverage: float = 0.9,
        cv: Any = 5,
        min_band: float | str | None = "5%",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.band = band
        self.coverage = coverage
        self.cv = cv
        self.min_band = min_band
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the regressors and calibrate their intervals.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix of shape (n, features)
        y : array_like of shape (n,)
        **fit_params
            Such as ``sample_weight``; see the notes above.
        """
        if isinstance(self.band, str | None):
            checks.choice("band", self.band, ("area", "quantile", "own"))
        checks.miss_rate_of(self.coverage)
        validate_data(self, X, y, skip_check_array=True)
        X, y = indexable(X, check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        y = column_or_1d(y, warn=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds, models = self._folds(X, y, seed), self._models()
        params = dict.fromkeys(models, fit_params)
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **fit_params)
            params = {name: routed[name].fit for name in models}

        def fitted(name: str, features: Any, target: Array, rows: Any) -> Any:
            own = _check_method_params(features, params[name], indices=rows)
            return _seeded(clone(models[name]), seed).fit(
                _safe_indexing(features, rows), target[rows], **own
            )

        def of_unseen(
            name: str, features: Any, target: Array, predict: Callable[[Any, Any], Array] = _point
        ) -> Array:
            trained = ((fitted(name, features, target, seen), rest) for seen, rest in folds)
            parts = [predict(model, _safe_indexing(features, rest)) for model, rest in trained]
            return np.concatenate(parts)[np.argsort(np.concatenate([rest for _, rest in folds]))]

        every = np.arange(len(y))
        if "band" in models:
            y_pred = of_unseen("estimator", X, y)
            if np.array_equal(y, y_pred):
                raise ValueError(
                    f"`estimator` must leave errors for bands to learn from: it predicts all {len(y)} unseen rows "
                    "exactly. Hint: check that `X` does not hold the target, and that the target varies."
                )
            features, errors = _with_prediction(X, y_pred), np.abs(y - y_pred)
            bands = [of_unseen("band", features, errors)]
            self.band_ = fitted("band", features, errors, every)
        else:
            y_pred, *bands = of_unseen(
                "estimator", X, y, partial(_own_bands, min_band=self.min_band)
            ).T
            self.band_ = None
        self.estimator_ = fitted("estimator", X, y, every)
        half_width = max(float(np.mean(bands)), 0.0)
        self.min_band_ = None if self.min_band is None else checks.floor(self.min_band, half_width)
        unseen = Intervals.from_bands(y, y_pred, *bands, min_band=self.min_band_)
        self.calibrator_ = IntervalCalibrator(coverage=self.coverage).fit(unseen)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the point, by `estimator_`."""
        check_is_fitted(self, "calibrator_")
        return _point(self.estimator_, X)

    def predict_interval(self, X: Any) -> tuple[Array, Array]:
        """Predict the bounds.

        Returns
        -------
        lower, upper : arrays of shape (n,)
        """
        check_is_fitted(self, "calibrator_")
        if self.band_ is None:
            y_pred, *bands = _own_bands(self.estimator_, X, min_band=self.min_band_).T
        else:
            y_pred = _point(self.estimator_, X)
            bands = [_point(self.band_, _with_prediction(X, y_pred))]
        new = self.calibrator_.apply(
            Intervals.from_bands(y_pred, y_pred, *bands, min_band=self.min_band_)
        )
        return new.lower, new.upper

    def get_metadata_routing(self) -> Any:
        """Route the arguments of fit to the regressors."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(**self._models(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = [get_tags(model).input_tags for model in self._models().values()]
        tags.input_tags.sparse = all(one.sparse for one in inputs)
        tags.input_tags.allow_nan = all(one.allow_nan for one in inputs)
        return tags

    def _models(self) -> dict[str, Any]:
        """Return the regressors by name, defaults filled in."""
        named = {
            "area": BandRegressor(),
            "quantile": GradientBoostingRegressor(loss="quantile", alpha=self.coverage),
        }
        band = named.get(self.band) if isinstance(self.band, str) else self.band
        point = GradientBoostingRegressor() if self.estimator is None else self.estimator
        return {"estimator": point} if band is None else {"estimator": point, "band": band}

    def _folds(self, X: Any, y: Array, seed: int) -> list[Any]:
        """Return pairs of seen and unseen rows, in which every row is unseen once."""
        shuffled = isinstance(self.cv, Integral)
        cv = KFold(self.cv, shuffle=True, random_state=seed) if shuffled else check_cv(self.cv)
        folds = list(cv.split(X, y))
        times = np.bincount(np.concatenate([unseen for _, unseen in folds]), minlength=len(y))
        rule = checks.Rule(
            "cv", "hold every row out exactly once", ("is not", "are not"), "pass a number of folds"
        )
        checks.rows(times != 1, rule, lambda row: f"held out {times[row]} times")
        return folds


def _point(model: Any, X: Any) -> Array:
    """Return predictions as floats."""
    return np.asarray(model.predict(X), np.float64)


def _own_bands(model: Any, X: Any, *, min_band: float | str | None) -> Array:
    """Return three columns: predictions of a model and its own two bands; none negative where there is a `min_band`."""
    if (
        isinstance(X, np.ndarray) and X.dtype.kind == "O"
    ):  # Bayesian ridge takes these for the mean only
        X = X.astype(np.float64)
    intervals = from_estimator(
        model, X, np.zeros(_num_samples(X)), min_band=None if min_band is None else 0.0
    )
    return np.column_stack([intervals.y_pred, intervals.lower_band, intervals.upper_band])


def _seeded(model: Any, seed: int) -> Any:
    """Fix the randomness of the model and of its parts, where nobody has."""
    free = [
        name
        for name, value in model.get_params().items()
        if value is None and name.endswith("random_state")
    ]
    if free:  # a frozen estimator has none to set
        model.set_params(**dict.fromkeys(free, seed))
    return model


def _with_prediction(X: Any, y_pred: Array) -> Any:
    """Return the features with the prediction as one more column, in the kind of container they came in."""
    if sparse.issparse(X):
        return sparse.hstack([X, y_pred[:, None]], format="csr")
    names = list(getattr(X, "columns", []))
    if names and all(isinstance(name, str) for name in names):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        name = "y_pred"
        while name in names:
            name += "_"
        return frame.with_columns(
            nw.new_series(name, y_pred, backend=frame.implementation)
        ).to_native()
    return np.column_stack([np.asarray(X), y_pred])
