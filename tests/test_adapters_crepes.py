"""crepes' intervals and percentiles come through as they are."""

import numpy as np
import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import from_crepes, from_quantiles

pytest.importorskip("crepes")
from crepes import WrapRegressor  # after the skip
from crepes.extras import DifficultyEstimator
from sklearn.linear_model import LinearRegression

X, X_new, y, y_new = diabetes()


def wrapped(**options: object) -> WrapRegressor:
    regressor = WrapRegressor(LinearRegression())
    regressor.fit(X[:150], y[:150])
    regressor.calibrate(X[150:], y[150:], **options)
    return regressor


def test_intervals_are_the_output_of_crepes() -> None:
    difficulty = DifficultyEstimator()
    difficulty.fit(X[:150], y=y[:150], scaler=True)
    for regressor in (wrapped(), wrapped(de=difficulty), wrapped(cps=True, seed=0)):
        y_pred, bounds = regressor.predict(X_new), regressor.predict_int(X_new, confidence=0.9)
        assert_same(from_crepes(y_new, y_pred, bounds), y_new, y_pred, bounds[:, 0], bounds[:, 1])


def test_levels_come_by_confidence() -> None:
    regressor = wrapped()
    y_pred, bounds = regressor.predict(X_new), {c: regressor.predict_int(X_new, confidence=c) for c in (0.5, 0.9)}
    found = {level: from_crepes(y_new, y_pred, one) for level, one in bounds.items()}
    for level, iv in found.items():
        assert_same(iv, y_new, y_pred, bounds[level][:, 0], bounds[level][:, 1])
    assert ucc.UCC.from_levels(found).levels == (0.5, 0.9)


def test_percentiles_of_a_predictive_system_are_quantiles_on_the_last_axis() -> None:
    regressor = wrapped(cps=True, seed=0)
    found = regressor.predict_percentiles(X_new, lower_percentiles=[5, 50], higher_percentiles=[95])
    iv = from_quantiles(y_new, found, levels=[0.05, 0.5, 0.95], axis=-1)
    assert_same(iv, y_new, found[:, 1], found[:, 0], found[:, 2])


def test_too_few_calibration_rows_are_explained() -> None:
    regressor = wrapped()
    with pytest.warns(UserWarning, match="too small"):
        bounds = regressor.predict_int(X_new, confidence=0.999)
    with pytest.raises(ValueError, match="crepes gave infinite bounds in 142 of 142 rows"):
        from_crepes(y_new, regressor.predict(X_new), bounds)


def test_one_column_is_refused() -> None:
    with pytest.raises(ValueError, match=r"intervals of crepes must be two columns, lower and upper; .* \(3,\)"):
        from_crepes([1, 2, 3], [1, 2, 3], np.ones(3))
