"""Estimators: any scikit-learn regressor with calibrated prediction intervals."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_array, check_random_state, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from uccurve import _checks as checks
from uccurve._checks import Array
from uccurve.intervals import Intervals
from uccurve.train import BandRegressor

from ._crossfitting import Data, own_bands, point, with_prediction
from .calibrator import IntervalCalibrator

BANDS = ("area", "quantile", "own")


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
        Share of new observations that shall lie inside.
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

    Arguments of ``fit`` go to every regressor, or where metadata routing is enabled to those that request them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 400)[:, None]
    >>> y = X[:, 0] + X[:, 0] * np.random.default_rng(0).normal(size=400)
    >>> model = IntervalRegressor(LinearRegression(), coverage=0.9, random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval([[0.1], [0.9]])
    >>> bool(upper[1] - lower[1] > 3 * (upper[0] - lower[0]))  # the noise grows with x, and so do the intervals
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
        if isinstance(self.band, str):
            checks.choice("band", self.band, BANDS)
        checks.miss_rate_of(self.coverage)
        calibrator, models = IntervalCalibrator(coverage=self.coverage), self._models()
        data = self._data(X, y, fit_params)
        if "band" in models:
            y_pred = data.cross_fitted("estimator", models["estimator"], point)
            errors = data.errors(y_pred)
            bands = [errors.cross_fitted("band", models["band"], point)]
            self.band_ = errors.fitted("band", models["band"])
        else:
            own = partial(own_bands, min_band=self.min_band)
            y_pred, *bands = data.cross_fitted("estimator", models["estimator"], own).T
            self.band_ = None
        self.estimator_ = data.fitted("estimator", models["estimator"])
        half_width = max(float(np.mean(bands)), 0.0)
        self.min_band_ = None if self.min_band is None else checks.floor(self.min_band, half_width)
        unseen = Intervals.from_bands(data.y, y_pred, *bands, min_band=self.min_band_)
        self.calibrator_ = calibrator.fit(unseen)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the point, by `estimator_`."""
        check_is_fitted(self, "calibrator_")
        return point(self.estimator_, X)

    def predict_interval(self, X: Any) -> tuple[Array, Array]:
        """Predict the bounds.

        Returns
        -------
        lower, upper : arrays of shape (n,)
        """
        check_is_fitted(self, "calibrator_")
        if self.band_ is None:
            y_pred, *bands = own_bands(self.estimator_, X, min_band=self.min_band_).T
        else:
            y_pred = point(self.estimator_, X)
            bands = [point(self.band_, with_prediction(X, y_pred))]
        new = self.calibrator_.apply(Intervals.from_bands(y_pred, y_pred, *bands, min_band=self.min_band_))
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
        models = {"estimator": GradientBoostingRegressor() if self.estimator is None else self.estimator}
        if not isinstance(self.band, str):
            models["band"] = self.band
        elif self.band == "quantile":
            models["band"] = GradientBoostingRegressor(loss="quantile", alpha=self.coverage)
        elif self.band == "area":
            models["band"] = BandRegressor()
        return models

    def _data(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Data:
        """Return checked rows in folds, and what goes to each regressor's fit."""
        validate_data(self, X, y, skip_check_array=True)
        X, target = indexable(X, check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        target = column_or_1d(target, warn=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Data(X, target, self._folds(X, target, seed), self._routed(fit_params), seed)

    def _folds(self, X: Any, y: Array, seed: int) -> list[Any]:
        """Return pairs of seen and unseen rows, in which every row is unseen once."""
        shuffled = isinstance(self.cv, Integral)
        cv = KFold(self.cv, shuffle=True, random_state=seed) if shuffled else check_cv(self.cv)
        folds = list(cv.split(X, y))
        times = np.bincount(np.concatenate([unseen for _, unseen in folds]), minlength=len(y))
        rule = checks.Rule("cv", "hold every row out exactly once", ("is not", "are not"), "pass a number of folds")
        checks.rows(times != 1, rule, lambda row: f"held out {times[row]} times")
        return folds

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        if not get_config()["enable_metadata_routing"]:
            return dict.fromkeys(self._models(), fit_params)
        routed = process_routing(self, "fit", **fit_params)
        return {name: routed[name].fit for name in self._models()}
