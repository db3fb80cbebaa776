"""MAPIE's regressors come through as they are."""

import numpy as np
import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import from_estimator, from_mapie, levels_from_mapie

pytest.importorskip("mapie")
from mapie.regression import (  # after the skip
    ConformalizedQuantileRegressor,
    CrossConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    SplitConformalRegressor,
    TimeSeriesRegressor,
)
from sklearn.linear_model import LinearRegression, QuantileRegressor

X, X_new, y, y_new = diabetes()
SPLIT = SplitConformalRegressor(LinearRegression(), confidence_level=[0.8, 0.9], prefit=False)
SPLIT.fit(X[:150], y[:150]).conformalize(X[150:], y[150:])


def test_one_level_of_every_regressor_is_the_output_of_mapie() -> None:
    split = SplitConformalRegressor(LinearRegression(), confidence_level=0.9, prefit=False)
    split.fit(X[:150], y[:150]).conformalize(X[150:], y[150:])
    cross = CrossConformalRegressor(LinearRegression(), confidence_level=0.9, cv=3).fit_conformalize(X, y)
    jackknife = JackknifeAfterBootstrapRegressor(LinearRegression(), confidence_level=0.9, resampling=30)
    jackknife.fit_conformalize(X, y)
    for regressor in (split, cross, jackknife):
        y_pred, y_pis = regressor.predict_interval(X_new)
        assert_same(from_mapie(y_new, (y_pred, y_pis)), y_new, y_pred, y_pis[:, 0, 0], y_pis[:, 1, 0])
        assert_same(from_estimator(regressor, X_new, y_new), y_new, y_pred, y_pis[:, 0, 0], y_pis[:, 1, 0])


def test_time_series_predictions_come_through() -> None:
    y_pred, y_pis = TimeSeriesRegressor(LinearRegression()).fit(X, y).predict(X_new, confidence_level=0.9)
    assert_same(from_mapie(y_new, (y_pred, y_pis)), y_new, y_pred, y_pis[:, 0, 0], y_pis[:, 1, 0])


def test_all_levels_come_by_name_and_make_a_curve() -> None:
    y_pred, y_pis = SPLIT.predict_interval(X_new)
    found = levels_from_mapie(y_new, (y_pred, y_pis), levels=[0.8, 0.9])
    assert list(found) == [0.8, 0.9]
    for i, level in enumerate(found):
        assert_same(found[level], y_new, y_pred, y_pis[:, 0, i], y_pis[:, 1, i])
    assert ucc.UCC.from_levels(found).at(level=0.8).miss_rate == ucc.UCC(found[0.8]).at(1.0).miss_rate


def test_a_quantile_regressor_s_point_may_lie_outside_and_then_needs_a_floor() -> None:
    regressor = ConformalizedQuantileRegressor(QuantileRegressor(alpha=0), confidence_level=0.5)
    y_pred, y_pis = regressor.fit(X[:150], y[:150]).conformalize(X[150:], y[150:]).predict_interval(X_new)
    outside = (y_pred < y_pis[:, 0, 0]) | (y_pred > y_pis[:, 1, 0])
    assert outside.any()
    with pytest.raises(ValueError, match=r"`y_pred` must lie between `lower` and `upper`.*min_band"):
        from_mapie(y_new, (y_pred, y_pis))
    assert from_mapie(y_new, (y_pred, y_pis), min_band="5%").raised >= outside.sum()


def test_several_levels_at_once_are_not_guessed() -> None:
    prediction = SPLIT.predict_interval(X_new)
    with pytest.raises(ValueError, match=r"must hold one confidence level; it holds 2. Hint: levels_from_mapie"):
        from_mapie(y_new, prediction)
    with pytest.raises(ValueError, match=r"name each of the 2 confidence levels .* once; got \[0.9\]"):
        levels_from_mapie(y_new, prediction, levels=[0.9])
    with pytest.raises(ValueError, match=r"Hint: 90% is 0.9"):
        levels_from_mapie(y_new, prediction, levels=[80, 90])


def test_points_alone_and_other_shapes_are_refused() -> None:
    y_pred, y_pis = SPLIT.predict_interval(X_new)
    with pytest.raises(TypeError, match=r"got ndarray. Hint: `predict` gives points only"):
        from_mapie(y_new, SPLIT.predict(X_new))
    with pytest.raises(ValueError, match=r"intervals of shape \(n, 2, levels\); got \(142,\) and \(142, 2\)"):
        from_mapie(y_new, (y_pred, y_pis[:, :, 0]))
    with pytest.raises(ValueError, match="must have the shape of `y_true`"):
        from_mapie(y_new[:-1], (y_pred, y_pis[:, :, :1]))


def test_infinite_bounds_are_explained() -> None:
    few = CrossConformalRegressor(LinearRegression(), confidence_level=0.95, cv=3).fit_conformalize(X[:12], y[:12])
    sentence = "MAPIE gave infinite bounds in 142 of 142 rows: its calibration rows are too few"
    with pytest.raises(ValueError, match=sentence):
        from_mapie(y_new, few.predict_interval(X_new, allow_infinite_bounds=True))


def test_an_unfitted_regressor_says_so_itself() -> None:
    with pytest.raises(ValueError, match="conformalize before calling predict_interval"):
        from_estimator(SplitConformalRegressor(LinearRegression(), prefit=False), X_new, np.asarray(y_new))
