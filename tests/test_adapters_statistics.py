"""statsmodels' frames, scipy's frozen distributions and estimators with a standard deviation come through."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import from_estimator, levels_from_quantiles, models_from_frame

# ---- statsmodels


def ols() -> tuple[Any, Any]:
    api = pytest.importorskip("statsmodels.api")
    X, X_new, y, y_new = diabetes()
    return api.OLS(y, api.add_constant(X)).fit().get_prediction(api.add_constant(X_new)), y_new


def test_frames_of_several_levels_make_a_curve() -> None:
    prediction, y_new = ols()
    frames = {
        level: prediction.summary_frame(alpha=1 - level).assign(y=y_new) for level in (0.5, 0.9)
    }
    columns: Any = {
        "y_true": "y",
        "y_pred": "mean",
        "lower": "obs_ci_lower",
        "upper": "obs_ci_upper",
    }
    found = {level: ucc.Intervals.from_frame(frame, **columns) for level, frame in frames.items()}
    assert_same(
        found[0.9], y_new, *(frames[0.9][name] for name in ("mean", "obs_ci_lower", "obs_ci_upper"))
    )
    assert ucc.UCC.from_levels(found).at(level=0.5).miss_rate > 0.3
    (named,) = models_from_frame(
        frames[0.9]
    ).values()  # the interval of the observation, not that of the mean
    assert isinstance(named, ucc.Intervals)
    assert named.upper.tolist() == found[0.9].upper.tolist()


def test_forecasts_name_their_bounds_otherwise() -> None:
    pytest.importorskip("statsmodels")
    import pandas as pd
    from statsmodels.tsa.arima.model import ARIMA
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    series = pd.Series(10 + np.random.default_rng(0).normal(size=120))
    future = series.to_numpy()[:5]
    smooth = (
        ETSModel(series).fit(disp=False).get_prediction(start=120, end=124).summary_frame(alpha=0.1)
    )
    arima = ARIMA(series, order=(1, 0, 0)).fit().get_forecast(5).summary_frame(alpha=0.1)
    for frame, bounds in ((smooth, "pi"), (arima, "mean_ci")):
        (found,) = models_from_frame(frame.assign(y=future)).values()
        assert isinstance(found, ucc.Intervals)
        assert_same(
            found, future, frame["mean"], frame[f"{bounds}_lower"], frame[f"{bounds}_upper"]
        )


# ---- scipy


def test_quantiles_of_a_frozen_distribution_make_a_curve() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    size = np.exp(rng.normal(size=2000))
    y, dist = size * rng.normal(size=2000), stats.norm(scale=size)
    levels = levels_from_quantiles(y, {q: dist.ppf(q) for q in (0.025, 0.25, 0.5, 0.75, 0.975)})
    assert_same(levels[0.5], y, dist.median(), dist.ppf(0.25), dist.ppf(0.75))
    curve = ucc.UCC.from_levels(levels)
    assert_allclose(curve.at(level=0.95).miss_rate, 0.05, atol=4 * (0.05 * 0.95 / 2000) ** 0.5)


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
    assert_allclose(
        from_estimator(pipeline, X_new, y_new).upper, mean + 1.6448536269514722 * std, rtol=1e-12
    )
    with pytest.raises(
        ValueError,
        match=r"`level` must lie between 0 and 1, both excluded; got 90\. Hint: 90% is 0\.9",
    ):
        from_estimator(model, X_new, y_new, level=90)


def test_estimators_without_intervals_are_told_what_to_do() -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import StandardScaler

    X, X_new, y, y_new = diabetes()
    with pytest.raises(
        TypeError, match=r"LinearRegression has neither\. Hint: wrap it, IntervalRegressor"
    ):
        from_estimator(LinearRegression().fit(X, y), X_new, y_new)
    with pytest.raises(TypeError, match="`estimator` must have predict; StandardScaler has none"):
        from_estimator(StandardScaler(), X_new, y_new)

    class Two:
        def predict(self, X: Any) -> Any:
            return np.zeros(len(X))

        def predict_interval(self, X: Any) -> Any:
            return np.column_stack([np.full(len(X), -1.0), np.full(len(X), 2.0)])

    assert_same(
        from_estimator(Two(), X_new, y_new),
        y_new,
        np.zeros(142),
        np.full(142, -1.0),
        np.full(142, 2.0),
    )

    with pytest.raises(
        ValueError,
        match="`level` is for estimators with a standard deviation; Two has intervals of it",
    ):
        from_estimator(Two(), X_new, y_new, level=0.9)

    class Three(Two):
        def predict_interval(self, X: Any) -> Any:
            return np.zeros((len(X), 3))

    with pytest.raises(
        ValueError,
        match=r"Three must predict one lower and one upper bound per row; .*\(142, 3, 1\)",
    ):
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
        return {"columns": both, "pair": tuple(both.T), "MAPIE": (X[:, 0], both[:, :, None])}[
            self.kind
        ]


@pytest.mark.parametrize("estimator", [Std(), Bounds("columns"), Bounds("pair"), Bounds("MAPIE")])
def test_from_estimator_takes_every_interface(estimator: Any) -> None:
    y_true, y_pred, band = np.random.default_rng(0).uniform(1, 2, (3, 50))
    one: Any = (
        {"level": 0.682689492137086} if isinstance(estimator, Std) else {}
    )  # plus or minus one deviation
    found = from_estimator(estimator, np.column_stack([y_pred, band]), y_true, **one)
    assert_allclose(found.y_pred, y_pred)
    assert_allclose(found.lower, y_pred - band, rtol=1e-12)
    assert_allclose(found.upper, y_pred + band, rtol=1e-12)
