"""crepes' intervals and percentiles come through as they are."""

import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import levels_from_quantiles

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


def test_intervals_of_several_confidences_make_a_curve() -> None:
    difficulty = DifficultyEstimator()
    difficulty.fit(X[:150], y=y[:150], scaler=True)
    for regressor in (wrapped(), wrapped(de=difficulty), wrapped(cps=True, seed=0)):
        y_pred, bounds = (
            regressor.predict(X_new),
            {c: regressor.predict_int(X_new, confidence=c) for c in (0.5, 0.9)},
        )
        found = {
            level: ucc.Intervals.from_bounds(y_new, y_pred, *one.T) for level, one in bounds.items()
        }
        assert ucc.UCC.from_levels(found).levels == (0.5, 0.9)


def test_percentiles_of_a_predictive_system_are_quantiles_on_the_last_axis() -> None:
    regressor = wrapped(cps=True, seed=0)
    found = regressor.predict_percentiles(X_new, lower_percentiles=[5, 50], higher_percentiles=[95])
    levels = levels_from_quantiles(y_new, dict(zip([0.05, 0.5, 0.95], found.T, strict=True)))
    assert_same(levels[0.9], y_new, found[:, 1], found[:, 0], found[:, 2])


def test_too_few_calibration_rows_are_refused() -> None:
    regressor = wrapped()
    with pytest.warns(UserWarning, match="too small"):
        bounds = regressor.predict_int(X_new, confidence=0.999)
    with pytest.raises(ValueError, match="must not both be infinite: there is no bound to judge"):
        ucc.Intervals.from_bounds(y_new, regressor.predict(X_new), *bounds.T)
