"""MAPIE's regressors come through as they are."""

import numpy as np
import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import from_estimator

pytest.importorskip("mapie")
from mapie.regression import (  # after the skip
    ConformalizedQuantileRegressor,
    CrossConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    SplitConformalRegressor,
)
from sklearn.linear_model import LinearRegression, QuantileRegressor

X, X_new, y, y_new = diabetes()
SPLIT = SplitConformalRegressor(LinearRegression(), confidence_level=[0.8, 0.9], prefit=False)
SPLIT.fit(X[:150], y[:150]).conformalize(X[150:], y[150:])


def test_one_level_of_every_regressor_is_the_output_of_mapie() -> None:
    split = SplitConformalRegressor(LinearRegression(), confidence_level=0.9, prefit=False)
    split.fit(X[:150], y[:150]).conformalize(X[150:], y[150:])
    cross = CrossConformalRegressor(
        LinearRegression(), confidence_level=0.9, cv=3
    ).fit_conformalize(X, y)
    jackknife = JackknifeAfterBootstrapRegressor(
        LinearRegression(), confidence_level=0.9, resampling=30
    )
    jackknife.fit_conformalize(X, y)
    for regressor in (split, cross, jackknife):
        y_pred, y_pis = regressor.predict_interval(X_new)
        assert_same(
            from_estimator(regressor, X_new, y_new), y_new, y_pred, y_pis[:, 0, 0], y_pis[:, 1, 0]
        )


def test_all_levels_make_a_curve() -> None:
    y_pred, y_pis = SPLIT.predict_interval(X_new)
    found = {
        level: ucc.Intervals.from_bounds(y_new, y_pred, *y_pis[:, :, i].T)
        for i, level in enumerate([0.8, 0.9])
    }
    assert (
        ucc.UCC.from_levels(found).at(level=0.8).miss_rate == ucc.UCC(found[0.8]).at(1.0).miss_rate
    )


def test_a_quantile_regressor_s_point_may_lie_outside_and_then_needs_a_floor() -> None:
    regressor = ConformalizedQuantileRegressor(QuantileRegressor(alpha=0), confidence_level=0.5)
    regressor.fit(X[:150], y[:150]).conformalize(X[150:], y[150:])
    y_pred, y_pis = regressor.predict_interval(X_new)
    outside = (y_pred < y_pis[:, 0, 0]) | (y_pred > y_pis[:, 1, 0])
    assert outside.any()
    with pytest.raises(
        ValueError, match=r"`y_pred` must lie between `lower` and `upper`.*min_band"
    ):
        from_estimator(regressor, X_new, y_new)
    assert from_estimator(regressor, X_new, y_new, min_band="5%").raised >= outside.sum()


def test_several_levels_at_once_are_not_guessed() -> None:
    sentence = r"SplitConformalRegressor must predict one lower and one upper bound per row; .* shape \(142, 2, 2\)"
    with pytest.raises(ValueError, match=sentence):
        from_estimator(SPLIT, X_new, y_new)


def test_an_unfitted_regressor_says_so_itself() -> None:
    with pytest.raises(ValueError, match="conformalize before calling predict_interval"):
        from_estimator(
            SplitConformalRegressor(LinearRegression(), prefit=False), X_new, np.asarray(y_new)
        )
