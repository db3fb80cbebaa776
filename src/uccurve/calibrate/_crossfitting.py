"""Cross-fitting: predictions for rows that their model has not seen, and the errors that a band model learns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from uccurve._checks import Array
from uccurve.adapters import from_estimator

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Data:
    """Features, target, folds of (seen, unseen) rows, and what goes to each model's fit."""

    X: Any
    y: Array
    folds: Sequence[tuple[Rows, Rows]]
    params: Mapping[str, Mapping[str, Any]]
    seed: int

    def fitted(self, name: str, model: Any, rows: Rows | None = None) -> Any:
        """Return a clone of a model fitted on some rows, by default on all."""
        rows = np.arange(len(self.y)) if rows is None else rows
        params = _check_method_params(self.X, self.params[name], indices=rows)
        return _seeded(clone(model), self.seed).fit(_safe_indexing(self.X, rows), self.y[rows], **params)

    def cross_fitted(self, name: str, model: Any, predict: Callable[[Any, Any], Array]) -> Array:
        """Return what a model predicts for every row, from a clone fitted on the other folds."""
        parts = [predict(self.fitted(name, model, seen), _safe_indexing(self.X, unseen)) for seen, unseen in self.folds]
        predicted = np.concatenate(parts)
        found = np.empty_like(predicted)
        found[np.concatenate([unseen for _, unseen in self.folds])] = predicted
        return found

    def errors(self, y_pred: Array) -> Data:
        """Return the same rows with their absolute errors as the target, and the prediction as one more feature."""
        if np.array_equal(self.y, y_pred):
            raise ValueError(
                f"`estimator` must leave errors for bands to learn from: it predicts all {len(y_pred)} unseen rows "
                "exactly. Hint: check that `X` does not hold the target, and that the target varies."
            )
        return replace(self, X=with_prediction(self.X, y_pred), y=np.abs(self.y - y_pred))


def point(model: Any, X: Any) -> Array:
    """Return predictions as floats."""
    return np.asarray(model.predict(X), np.float64)


def own_bands(model: Any, X: Any, *, min_band: float | str | None) -> Array:
    """Return three columns: predictions of a model and its own two bands; none negative where there is a `min_band`."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":  # Bayesian ridge takes these for the mean only
        X = X.astype(np.float64)
    intervals = from_estimator(model, X, np.zeros(_num_samples(X)), min_band=None if min_band is None else 0.0)
    return np.column_stack([intervals.y_pred, intervals.lower_band, intervals.upper_band])


def _seeded(model: Any, seed: int) -> Any:
    """Fix the randomness of the model and of its parts, where nobody has."""
    free = [
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    if free:  # a frozen estimator has none to set
        model.set_params(**dict.fromkeys(free, seed))
    return model


def with_prediction(X: Any, y_pred: Array) -> Any:
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
        return frame.with_columns(nw.new_series(name, y_pred, backend=frame.implementation)).to_native()
    return np.column_stack([np.asarray(X), y_pred])
