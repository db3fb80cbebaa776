"""What the real libraries predict goes straight into `assess`: one row per model, however many levels it has."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from adapted import diabetes
from uccurve import adapters

LEVELS = [0.5, 0.8, 0.9]
TAILS = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]


def mapie() -> Any:
    pytest.importorskip("mapie")
    from mapie.regression import SplitConformalRegressor
    from sklearn.linear_model import LinearRegression

    X, X_new, y, y_new = diabetes()
    regressor = SplitConformalRegressor(LinearRegression(), confidence_level=LEVELS, prefit=False)
    regressor.fit(X[:150], y[:150]).conformalize(X[150:], y[150:])
    y_pred, y_pis = regressor.predict_interval(X_new)
    return {
        level: ucc.Intervals.from_bounds(y_new, y_pred, *y_pis[:, :, i].T)
        for i, level in enumerate(LEVELS)
    }


def crepes() -> Any:
    library = pytest.importorskip("crepes")
    from sklearn.linear_model import LinearRegression

    X, X_new, y, y_new = diabetes()
    regressor = library.WrapRegressor(LinearRegression())
    regressor.fit(X[:150], y[:150])
    regressor.calibrate(X[150:], y[150:])
    y_pred = regressor.predict(X_new)
    bounds = {level: regressor.predict_int(X_new, confidence=level) for level in LEVELS}
    return {
        level: ucc.Intervals.from_bounds(y_new, y_pred, *one.T) for level, one in bounds.items()
    }


def skpro() -> Any:
    pytest.importorskip("skpro")
    import pandas as pd
    from sklearn.linear_model import LinearRegression
    from skpro.regression.residual import ResidualDouble

    X, X_new, y, y_new = (pd.DataFrame(part) for part in diabetes())
    regressor = ResidualDouble(LinearRegression()).fit(X, y)
    frame = regressor.predict_quantiles(X_new, alpha=TAILS)
    return adapters.models_from_frame(frame[frame.columns[0][0]].assign(y=y_new))["model"]


def statsmodels() -> Any:
    api = pytest.importorskip("statsmodels.api")
    X, X_new, y, y_new = diabetes()
    prediction = api.OLS(y, api.add_constant(X)).fit().get_prediction(api.add_constant(X_new))
    frames = {level: prediction.summary_frame(alpha=1 - level).assign(y=y_new) for level in LEVELS}
    columns: Any = {
        "y_true": "y",
        "y_pred": "mean",
        "lower": "obs_ci_lower",
        "upper": "obs_ci_upper",
    }
    return {level: ucc.Intervals.from_frame(frame, **columns) for level, frame in frames.items()}


def lightgbm() -> Any:
    library = pytest.importorskip("lightgbm")
    X, X_new, y, y_new = diabetes()
    common = {
        "objective": "quantile",
        "n_estimators": 20,
        "num_leaves": 7,
        "verbose": -1,
        "n_jobs": 1,
    }
    models = {q: library.LGBMRegressor(alpha=q, **common).fit(X, y) for q in TAILS}
    quantiles = {q: model.predict(X_new) for q, model in models.items()}
    with pytest.warns(
        adapters.SortedQuantilesWarning, match=r"sorted crossing quantiles in \d+ of 142 rows"
    ):
        return adapters.levels_from_quantiles(y_new, quantiles, crossing="sort")


def xgboost() -> Any:
    library = pytest.importorskip("xgboost")
    X, X_new, y, y_new = diabetes()
    model = library.XGBRegressor(
        objective="reg:quantileerror", quantile_alpha=TAILS, n_estimators=20, max_depth=2, n_jobs=1
    )
    found = dict(zip(TAILS, model.fit(X, y).predict(X_new).T, strict=True))
    with pytest.warns(
        adapters.SortedQuantilesWarning, match=r"sorted crossing quantiles in \d+ of 142 rows"
    ):
        return adapters.levels_from_quantiles(y_new, found, crossing="sort")


def arviz() -> Any:
    library = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    draws = {"y": rng.normal(size=(2, 100, 60))}
    data = library.from_dict(posterior_predictive=draws, observed_data={"y": rng.normal(size=60)})
    return adapters.levels_from_posterior(data.observed_data["y"], data.posterior_predictive["y"])


def scipy() -> Any:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    mean = rng.normal(size=60)
    dist = stats.norm(loc=mean, scale=1.2)
    return adapters.levels_from_quantiles(
        mean + rng.normal(size=60), {q: dist.ppf(q) for q in TAILS}
    )


def nixtla() -> Any:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y, centre = rng.normal(size=60), rng.normal(size=60) / 4
    half = {80: 1.3, 95: 2.0}
    sides = {
        f"ETS-{side}-{n}": centre + sign * w
        for n, w in half.items()
        for side, sign in (("lo", -1), ("hi", 1))
    }
    return adapters.models_from_frame(pandas.DataFrame({"y": y, "ETS": centre, **sides}))["ETS"]


@pytest.mark.parametrize(
    "predicted",
    [mapie, crepes, skpro, statsmodels, lightgbm, xgboost, arviz, scipy, nixtla],
    ids=lambda f: f.__name__,
)
def test_levels_are_assessed_as_one_model(predicted: Callable[[], Any]) -> None:
    levels = predicted()
    assert len(levels) >= 2
    a = ucc.assess({"it": levels, "its widest": levels[max(levels)]}, coverage=0.9)
    assert {row.name for row in a.rows} == {"it", "its widest"}
    assert a["it"].n == len(levels[max(levels)])
    assert a.verdict.model in {"it", "its widest"}
    assert a.verdict.text.startswith(a.verdict.headline)
