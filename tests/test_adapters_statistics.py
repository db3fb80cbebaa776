"""statsmodels' frames, scipy's frozen distributions and estimators with a standard deviation come through."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import (
    from_estimator,
    from_scipy,
    from_statsmodels,
    levels_from_scipy,
)

# ---- statsmodels


def ols() -> tuple[Any, Any]:
    api = pytest.importorskip("statsmodels.api")
    X, X_new, y, y_new = diabetes()
    return api.OLS(y, api.add_constant(X)).fit().get_prediction(api.add_constant(X_new)), y_new


def test_a_regression_frame_gives_the_interval_of_the_observation() -> None:
    prediction, y_new = ols()
    frame = prediction.summary_frame(alpha=0.1)
    columns = [frame[name] for name in ("mean", "obs_ci_lower", "obs_ci_upper")]
    assert_same(from_statsmodels(y_new, frame), y_new, *columns)


def test_frames_of_several_levels_make_a_curve() -> None:
    prediction, y_new = ols()
    frames = {level: prediction.summary_frame(alpha=1 - level) for level in (0.5, 0.9)}
    found = {level: from_statsmodels(y_new, frame) for level, frame in frames.items()}
    assert ucc.UCC.from_levels(found).at(level=0.5).miss_rate > 0.3


def test_forecasts_name_their_bounds_otherwise() -> None:
    pytest.importorskip("statsmodels")
    import pandas as pd
    from statsmodels.tsa.arima.model import ARIMA
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    series = pd.Series(10 + np.random.default_rng(0).normal(size=120))
    future = series.to_numpy()[:5]
    smooth = ETSModel(series).fit(disp=False).get_prediction(start=120, end=124).summary_frame(alpha=0.1)
    assert_same(from_statsmodels(future, smooth), future, smooth["mean"], smooth["pi_lower"], smooth["pi_upper"])
    arima = ARIMA(series, order=(1, 0, 0)).fit().get_forecast(5)
    frame = arima.summary_frame(alpha=0.1)
    with pytest.raises(
        ValueError, match=r'It has mean, mean_se, mean_ci_lower.*state space models pass bounds="mean_ci"'
    ):
        from_statsmodels(future, frame)
    found = from_statsmodels(future, frame, bounds="mean_ci")
    assert_same(found, future, frame["mean"], frame["mean_ci_lower"], frame["mean_ci_upper"])


def test_the_confidence_interval_of_a_mean_is_not_taken_for_a_prediction_interval() -> None:
    api = pytest.importorskip("statsmodels.api")
    X, X_new, y, y_new = diabetes()
    frame = api.GLM(y, api.add_constant(X)).fit().get_prediction(api.add_constant(X_new)).summary_frame()
    with pytest.raises(ValueError, match="`frame` must have mean, obs_ci_lower and obs_ci_upper: not all found"):
        from_statsmodels(y_new, frame)


def test_the_results_themselves_are_no_frame() -> None:
    prediction, y_new = ols()
    with pytest.raises(TypeError, match=r"got PredictionResults\. Hint: call summary_frame"):
        from_statsmodels(y_new, prediction)


# ---- scipy


def test_frozen_distributions_give_their_central_intervals() -> None:
    stats = pytest.importorskip("scipy.stats")
    y, mean, std = [1.0, 2.0, 9.0], np.array([0.0, 2.5, 6.0]), np.array([1.0, 0.5, 2.0])
    for dist in (stats.norm(loc=mean, scale=std), stats.gamma(a=2 + mean, scale=std), stats.t(df=3, loc=mean)):
        found = from_scipy(y, dist, level=0.8)
        assert_same(found, y, dist.median(), dist.ppf(0.1), dist.ppf(0.9))
        assert_allclose(found.upper, dist.interval(0.8)[1], rtol=1e-14)
    new = from_scipy(y, stats.Normal(mu=mean, sigma=std), level=0.8)
    assert_allclose(new.upper, stats.norm(loc=mean, scale=std).ppf(0.9), rtol=1e-13)


def test_levels_of_a_distribution_make_a_curve() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    size = np.exp(rng.normal(size=2000))
    levels = levels_from_scipy(size * rng.normal(size=2000), stats.norm(scale=size))
    curve = ucc.UCC.from_levels(levels)
    assert_allclose(curve.at(level=0.95).miss_rate, 0.05, atol=4 * (0.05 * 0.95 / 2000) ** 0.5)


def test_what_is_not_frozen_row_by_row_is_refused() -> None:
    stats = pytest.importorskip("scipy.stats")
    with pytest.raises(ValueError, match=r"one set of parameters per row: \(\) against \(2,\)"):
        from_scipy([1.0, 2.0], stats.norm)
    with pytest.raises(TypeError, match="`dist` must be a frozen distribution with ppf or icdf; got list"):
        from_scipy([1.0, 2.0], [1, 2])
    with pytest.raises(ValueError, match=r"`level` must lie between 0 and 1|`levels` must lie between 0 and 1"):
        from_scipy([1.0], stats.norm(loc=[1.0]), level=90)


# ---- estimators


def test_a_standard_deviation_becomes_an_interval_of_the_level() -> None:
    pytest.importorskip("sklearn")
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.linear_model import BayesianRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, X_new, y, y_new = diabetes()
    for model in (BayesianRidge(), GaussianProcessRegressor(alpha=1.0, optimizer=None)):
        mean, std = model.fit(X, y).predict(X_new, return_std=True)
        for level, deviations in ((None, 1.6448536269514722), (0.95, 1.959963984540054)):
            found = from_estimator(model, X_new, y_new, level=level)
            assert found.y_pred.tolist() == mean.tolist()
            assert_allclose(found.lower_band, deviations * std, rtol=1e-12)
            assert_allclose(found.upper_band, deviations * std, rtol=1e-12)
    pipeline = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, y)
    mean, std = pipeline.predict(X_new, return_std=True)
    assert_allclose(from_estimator(pipeline, X_new, y_new).upper, mean + 1.6448536269514722 * std, rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"`level` must lie between 0 and 1, both excluded; got 90\. Hint: 90% is 0\.9"
    ):
        from_estimator(model, X_new, y_new, level=90)


def test_estimators_without_intervals_are_told_what_to_do() -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import StandardScaler

    X, X_new, y, y_new = diabetes()
    with pytest.raises(TypeError, match=r"LinearRegression has neither\. Hint: wrap it, IntervalRegressor"):
        from_estimator(LinearRegression().fit(X, y), X_new, y_new)
    with pytest.raises(TypeError, match="`estimator` must have predict; StandardScaler has none"):
        from_estimator(StandardScaler(), X_new, y_new)

    class Two:
        def predict(self, X: Any) -> Any:
            return np.zeros(len(X))

        def predict_interval(self, X: Any) -> Any:
            return np.column_stack([np.full(len(X), -1.0), np.full(len(X), 2.0)])

    assert_same(from_estimator(Two(), X_new, y_new), y_new, np.zeros(142), np.full(142, -1.0), np.full(142, 2.0))

    with pytest.raises(
        ValueError, match="`level` is for estimators with a standard deviation; Two has intervals of it"
    ):
        from_estimator(Two(), X_new, y_new, level=0.9)

    class Three(Two):
        def predict_interval(self, X: Any) -> Any:
            return np.zeros((len(X), 3))

    with pytest.raises(ValueError, match=r"intervals of Three must be two columns, lower and upper; .*\(142, 3\)"):
        from_estimator(Three(), X_new, y_new)


class Std:
    def predict(self, X: Any, return_std: bool = False) -> Any:
        return (X[:, 0], X[:, 1]) if return_std else X[:, 0]


class Bounds:
    """`kind` names the shape of the answer that real libraries give."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def predict(self, X: Any) -> Any:
        return X[:, 0]

    def predict_interval(self, X: Any) -> Any:
        both = np.column_stack([X[:, 0] - X[:, 1], X[:, 0] + X[:, 1]])
        return {"columns": both, "pair": tuple(both.T), "MAPIE": (X[:, 0], both[:, :, None])}[self.kind]


@pytest.mark.parametrize("estimator", [Std(), Bounds("columns"), Bounds("pair"), Bounds("MAPIE")])
def test_from_estimator_takes_every_interface(estimator: Any) -> None:
    y_true, y_pred, band = np.random.default_rng(0).uniform(1, 2, (3, 50))
    one: Any = {"level": 0.682689492137086} if isinstance(estimator, Std) else {}  # plus or minus one deviation
    found = from_estimator(estimator, np.column_stack([y_pred, band]), y_true, **one)
    assert_allclose(found.y_pred, y_pred)
    assert_allclose(found.lower, y_pred - band, rtol=1e-12)
    assert_allclose(found.upper, y_pred + band, rtol=1e-12)
