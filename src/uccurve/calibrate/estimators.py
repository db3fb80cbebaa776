"""Estimators: any scikit-learn regressor with calibrated prediction intervals."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.model_selection import check_cv, train_test_split
from sklearn.utils import check_array, check_random_state, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from uccurve import _checks as checks
from uccurve._checks import Array, Vary
from uccurve.intervals import Intervals

from ._band_models import PARTS, BandModel, Data, Rows, default_part
from .calibrator import IntervalCalibrator


class IntervalRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Turn regressors into one that also predicts calibrated intervals.

    Parameters
    ----------
    estimator : regressor, optional
        Predicts the point. By default gradient boosting; Bayesian ridge for ``method="std"``.
    method : {"meta", "quantile", "std"}
        Where the bands come from. ``"meta"``: a second regressor of the first one's absolute errors, on rows that the
        first has not seen and with its prediction as one more feature; works with any regressor. ``"quantile"``: two
        quantile regressors. ``"std"``: the estimator's own ``predict(X, return_std=True)``.
    band_estimator : regressor, optional
        For ``"meta"``; by default gradient boosting of the quantile ``1 - miss_rate`` of the absolute errors.
    band_size : float or int
        For ``"meta"``: share (or number) of the training rows kept from `estimator` to train `band_estimator`.
    lower_estimator, upper_estimator : regressor, optional
        For ``"quantile"``; by default gradient boosting of the quantiles ``miss_rate / 2`` and ``1 - miss_rate / 2``.
    miss_rate : float or None
        Share of new observations that may lie outside. None leaves the bands as the regressors give them.
    vary, conformal
        As in `IntervalCalibrator`. ``vary="shift"`` with ``method="quantile"`` is conformalised quantile regression.
    cv : int, splitter or None
        Cross-validation that gives the calibration its unseen rows; all regressors are then fitted again on all rows.
        None holds `calibration_size` of the rows out instead.
    calibration_size : float or int
        With ``cv=None``: share (or number) of the rows that only calibrate.
    min_band : float, str or None
        Least band, as in `Intervals.from_bounds`: regressors may give tiny or negative bands, and a zero band can not
        be scaled. A percentage is one of the mean half-width on the training rows. None refuses negative bands.
    random_state : int, RandomState or None
        For the splits, and for those regressors whose own is None.

    Attributes
    ----------
    estimator_, band_estimator_, lower_estimator_, upper_estimator_ : fitted regressors
        Those that the method has.
    calibrator_ : IntervalCalibrator or None
    min_band_ : float or None
        Least band in units of ``y``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With ``cv=None`` and ``conformal=True`` the guarantee of `IntervalCalibrator` holds: new rows exchangeable with the
    training rows are missed with a probability of at most `miss_rate`, whatever the regressors are. Cross-validation
    uses all rows for everything and in practice comes close to the target, but calibrates models that were fitted on
    fewer rows than the one that predicts, so nothing is guaranteed. Calibration counts rows alike: ``sample_weight``
    goes to the regressors only.

    Arguments of ``fit`` go to every regressor, or where metadata routing is enabled to those that request them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 400)[:, None]
    >>> y = X[:, 0] + X[:, 0] * np.random.default_rng(0).normal(size=400)
    >>> model = IntervalRegressor(LinearRegression(), miss_rate=0.1, random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval([[0.1], [0.9]])
    >>> bool(upper[1] - lower[1] > 3 * (upper[0] - lower[0]))  # the noise grows with x, and so do the intervals
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: Literal["meta", "quantile", "std"] = "meta",
        band_estimator: Any = None,
        band_size: float = 0.2,
        lower_estimator: Any = None,
        upper_estimator: Any = None,
        miss_rate: float | None = 0.1,
        vary: Vary = "scale",
        conformal: bool = True,
        cv: Any = 5,
        calibration_size: float = 0.2,
        min_band: float | str | None = "5%",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.band_estimator = band_estimator
        self.band_size = band_size
        self.lower_estimator = lower_estimator
        self.upper_estimator = upper_estimator
        self.miss_rate = miss_rate
        self.vary = vary
        self.conformal = conformal
        self.cv = cv
        self.calibration_size = calibration_size
        self.min_band = min_band
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the regressors and calibrate their intervals on rows they have not seen.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix of shape (n, features)
        y : array_like of shape (n,)
        **fit_params
            Such as ``sample_weight``; see the notes above.
        """
        data, calibrator = self._checked(X, y, fit_params)
        rows: Rows = np.arange(len(data.y))
        if calibrator is None:
            self._keep(self._fitted(data, rows))
        elif self.cv is None:
            rows, held_out = train_test_split(rows, test_size=self.calibration_size, random_state=data.seed)
            self._keep(self._fitted(data, rows))
            calibrator.fit(self._model.intervals(data.features(held_out), data.y[held_out]))
        else:
            folds = list(check_cv(self.cv).split(data.X, data.y))
            unseen = [self._fitted(data, seen).intervals(data.features(out), data.y[out]) for seen, out in folds]
            calibrator.fit(_together(unseen))
            self._keep(self._fitted(data, rows))
        self.calibrator_ = calibrator
        return self

    def predict(self, X: Any) -> Array:
        """Predict the point, by `estimator_`."""
        check_is_fitted(self)
        y_pred: Array = np.asarray(self.estimator_.predict(X))
        return y_pred

    def predict_interval(self, X: Any) -> tuple[Array, Array]:
        """Predict the bounds.

        Returns
        -------
        lower, upper : arrays of shape (n,)
        """
        check_is_fitted(self)
        intervals = self._model.intervals(X)
        if self.calibrator_ is not None:
            intervals = self.calibrator_.apply(intervals)
        return intervals.lower, intervals.upper

    def get_metadata_routing(self) -> Any:
        """Route the arguments of fit to the regressors of the method."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(**self._models(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.method in PARTS:
            inputs = [get_tags(model).input_tags for model in self._models().values()]
            tags.input_tags.sparse = all(one.sparse for one in inputs)
            tags.input_tags.allow_nan = all(one.allow_nan for one in inputs)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibrator_")

    def _models(self) -> dict[str, Any]:
        """Regressors of the method by name, defaults filled in."""
        miss_rate = 0.1 if self.miss_rate is None else self.miss_rate
        given = {part: getattr(self, part) for part in PARTS[self.method]}
        return {
            part: default_part(part, self.method, miss_rate) if model is None else model
            for part, model in given.items()
        }

    def _fitted(self, data: Data, rows: Rows) -> BandModel:
        return BandModel.fitted(self.method, self._models(), data, rows, size=self.band_size, min_band=self.min_band)

    def _keep(self, model: BandModel) -> None:
        self._model, self.min_band_ = model, model.least
        for part, regressor in model.parts.items():
            setattr(self, f"{part}_", regressor)

    def _checked(self, X: Any, y: Any, fit_params: dict[str, Any]) -> tuple[Data, IntervalCalibrator | None]:
        checks.choice("method", self.method, tuple(PARTS))
        for part in ("band_estimator", "lower_estimator", "upper_estimator"):
            if getattr(self, part) is not None and part not in PARTS[self.method]:
                raise ValueError(f"`{part}` does not go with method={self.method!r}.")
        calibrator = None
        if self.miss_rate is not None:
            calibrator = IntervalCalibrator(miss_rate=self.miss_rate, vary=self.vary, conformal=self.conformal)
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X, target = indexable(X, check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        validate_data(self, X, skip_check_array=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Data(X, column_or_1d(target, warn=True), self._routed(fit_params), seed), calibrator

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        parts = PARTS[self.method]
        if not get_config()["enable_metadata_routing"]:
            return dict.fromkeys(parts, fit_params)
        routed = process_routing(self, "fit", **fit_params)
        return {part: routed[part].fit for part in parts}


def _together(parts: list[Intervals]) -> Intervals:
    """All folds' intervals as one set."""
    names = ("y_true", "y_pred", "lower_band", "upper_band")
    columns: list[npt.ArrayLike] = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    return Intervals.from_bands(*columns)
