"""skpro's frames of intervals and quantiles come through as they are, by the lines of the page of libraries."""

import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import models_from_frame

pytest.importorskip("skpro")
import pandas as pd  # after the skip
from sklearn.linear_model import LinearRegression
from skpro.regression.residual import ResidualDouble

X, X_new, y, y_new = (pd.DataFrame(part) for part in diabetes())
y.columns = y_new.columns = ["progression"]
MODEL = ResidualDouble(LinearRegression()).fit(X, y)


def test_an_interval_frame_comes_through() -> None:
    frame, y_pred = (
        MODEL.predict_interval(X_new, coverage=[0.5, 0.9]),
        MODEL.predict(X_new)["progression"],
    )
    for level in (0.5, 0.9):
        iv = ucc.Intervals.from_bounds(
            y_new["progression"], y_pred, *frame["progression"][level].to_numpy().T
        )
        lower, upper = (frame["progression", level, side] for side in ("lower", "upper"))
        assert_same(iv, y_new["progression"], y_pred, lower, upper)


def test_a_quantile_frame_brings_its_median() -> None:
    frame = MODEL.predict_quantiles(X_new, alpha=[0.05, 0.25, 0.5, 0.75, 0.95])
    found = models_from_frame(frame["progression"].assign(y=y_new["progression"]))["model"]
    assert isinstance(found, dict)
    assert list(found) == [0.5, 0.9]
    columns = [frame["progression", alpha] for alpha in (0.5, 0.05, 0.95)]
    assert_same(found[0.9], y_new["progression"], *columns)
