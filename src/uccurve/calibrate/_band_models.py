"""Band models: three ways for scikit-learn regressors to say how wide an interval is, before any calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from uccurve import _checks as checks
from uccurve._checks import Array
from uccurve.intervals import Intervals

PARTS: Mapping[str, tuple[str, ...]] = {
    "meta": ("estimator", "band_estimator"),
    "quantile": ("estimator", "lower_estimator", "upper_estimator"),
    "std": ("estimator",),
}
"""Which regressors each method fits."""

Rows = npt.NDArray[np.intp]


def default_part(part: str, method: str, miss_rate: float) -> Any:
    """Return the regressor that stands in where none was given."""
    quantiles = {
        "band_estimator": 1 - miss_rate,
        "lower_estimator": miss_rate / 2,
        "upper_estimator": 1 - miss_rate / 2,
    }
    if part in quantiles:
        return GradientBoostingRegressor(loss="quantile", alpha=quantiles[part])
    return BayesianRidge() if method == "std" else GradientBoostingRegressor()


@dataclass(frozen=True, slots=True)
class Data:
    """Features, target and what goes to each regressor's fit, to be taken by row numbers."""

    X: Any
    y: Array
    params: Mapping[str, Mapping[str, Any]]
    seed: int

    def features(self, rows: Rows) -> Any:
        """Features of some rows."""
        return _safe_indexing(self.X, rows)

    def fit(self, part: str, model: Any, rows: Rows, *, X: Any = None, y: Array | None = None) -> Any:
        """Return a clone of `model` fitted on some rows, by default with their own features and target."""
        X, y = self.features(rows) if X is None else X, self.y[rows] if y is None else y
        params = {name: self._taken(value, rows) for name, value in self.params.get(part, {}).items()}
        return _seeded(clone(model), self.seed).fit(X, y, **params)

    def _taken(self, value: Any, rows: Rows) -> Any:
        whole = hasattr(value, "__len__") and not isinstance(value, (str, dict)) and len(value) == len(self.y)
        return _safe_indexing(value, rows) if whole else value


@dataclass(frozen=True, slots=True)
class BandModel:
    """Fitted regressors by name, and the smallest band they may give."""

    method: str
    parts: Mapping[str, Any]
    least: float | None = None

    @classmethod
    def fitted(
        cls, method: str, models: Mapping[str, Any], data: Data, rows: Rows, *, size: float, min_band: Any
    ) -> BandModel:
        """Fit all regressors of a method on some rows; a percentage as floor is one of their mean half-width."""
        parts = _meta(models, data, rows, size) if method == "meta" else {}
        parts = parts or {part: data.fit(part, model, rows) for part, model in models.items()}
        self = cls(method, parts)
        if min_band is None:
            return self
        _, below, above = self.raw(data.features(rows))
        return cls(method, parts, checks.floor(min_band, max(float(np.mean(below + above)) / 2, 0.0)))

    def raw(self, X: Any) -> tuple[Array, Array, Array]:
        """Predictions and both bands as the regressors give them, negative ones too."""
        if self.method == "std":
            if isinstance(X, np.ndarray) and X.dtype.kind == "O":  # Bayesian ridge takes these for the mean only
                X = np.asarray(X, np.float64)
            y_pred, std = self.parts["estimator"].predict(X, return_std=True)
            return np.asarray(y_pred, np.float64), np.asarray(std, np.float64), np.asarray(std, np.float64)
        y_pred = np.asarray(self.parts["estimator"].predict(X), np.float64)
        if self.method == "meta":
            band = np.asarray(self.parts["band_estimator"].predict(with_prediction(X, y_pred)), np.float64)
            return y_pred, band, band
        lower, upper = (
            np.asarray(self.parts[f"{side}_estimator"].predict(X), np.float64) for side in ("lower", "upper")
        )
        return y_pred, y_pred - lower, upper - y_pred

    def intervals(self, X: Any, y_true: Array | None = None) -> Intervals:
        """Uncalibrated intervals; rows without an observation are given their prediction for one."""
        y_pred, below, above = self.raw(X)
        bands = (below,) if below is above else (below, above)
        return Intervals.from_bands(y_pred if y_true is None else y_true, y_pred, *bands, min_band=self.least)


def _meta(models: Mapping[str, Any], data: Data, rows: Rows, size: float) -> dict[str, Any]:
    """Fit the regressor on a part, and its absolute errors on the part it has not seen."""
    seen, unseen = train_test_split(rows, test_size=size, random_state=data.seed)
    base = data.fit("estimator", models["estimator"], seen)
    X = data.features(unseen)
    y_pred = np.asarray(base.predict(X), np.float64)
    errors = np.abs(data.y[unseen] - y_pred)
    band = data.fit("band_estimator", models["band_estimator"], unseen, X=with_prediction(X, y_pred), y=errors)
    return {"estimator": base, "band_estimator": band}


def _seeded(model: Any, seed: int) -> Any:
    """Fix the randomness of the model and of what it is made of, where nobody has."""
    free = [
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    if free:
        model.set_params(**dict.fromkeys(free, seed))
    return model


def with_prediction(X: Any, y_pred: Array) -> Any:
    """Return the features with the prediction as one more column, in the kind of container they came in."""
    from scipy import sparse

    if sparse.issparse(X):
        return sparse.hstack([X, y_pred[:, None]], format="csr")
    names = list(getattr(X, "columns", []))
    if names and all(isinstance(name, str) for name in names):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        name = "y_pred"
        while name in names:
            name += "_"
        return frame.with_columns(nw.new_series(name, y_pred, backend=frame.implementation)).to_native()
    return np.column_stack([np.asarray(X), y_pred])
