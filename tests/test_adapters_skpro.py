"""skpro's frames of intervals and quantiles come through as they are."""

import numpy as np
import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import levels_from_skpro

pytest.importorskip("skpro")
import pandas as pd  # after the skip
from sklearn.linear_model import LinearRegression
from skpro.regression.bootstrap import BootstrapRegressor
from skpro.regression.residual import ResidualDouble

X, X_new, y, y_new = (pd.DataFrame(part) for part in diabetes())
y.columns = y_new.columns = ["progression"]
MODEL = ResidualDouble(LinearRegression()).fit(X, y)


def test_an_interval_frame_comes_through() -> None:
    frame, y_pred = MODEL.predict_interval(X_new, coverage=[0.5, 0.9]), MODEL.predict(X_new)
    found = levels_from_skpro(y_new, frame, y_pred=y_pred)
    assert list(found) == [0.5, 0.9]
    for level, iv in found.items():
        lower, upper = (frame["progression", level, side] for side in ("lower", "upper"))
        assert_same(iv, y_new["progression"], y_pred["progression"], lower, upper)
    assert ucc.UCC.from_levels(found).levels == (0.5, 0.9)


def test_a_quantile_frame_brings_its_median() -> None:
    frame = MODEL.predict_quantiles(X_new, alpha=[0.05, 0.25, 0.5, 0.75, 0.95])
    found = levels_from_skpro(y_new, frame)
    assert list(found) == [0.5, 0.9]
    columns = [frame["progression", alpha] for alpha in (0.5, 0.05, 0.95)]
    assert_same(found[0.9], y_new["progression"], *columns)


def test_several_variables_are_several_outputs() -> None:
    both = y.assign(double=2 * y["progression"])
    model = BootstrapRegressor(LinearRegression(), n_bootstrap_samples=30, random_state=0).fit(X, both)
    frame, y_pred = model.predict_interval(X_new, coverage=0.8), model.predict(X_new)
    true = np.column_stack([y_new["progression"], 2 * y_new["progression"]])
    found = levels_from_skpro(true, frame, y_pred=y_pred, min_band=0.0)[0.8]
    assert found.y_true.shape == (142, 2)
    for i, variable in enumerate(("progression", "double")):
        assert found.lower[:, i].tolist() == np.minimum(frame[variable, 0.8, "lower"], y_pred[variable]).tolist()


def test_a_frame_of_something_else_says_what_it_has() -> None:
    with pytest.raises(TypeError, match="got the columns progression"):
        levels_from_skpro(y_new, MODEL.predict(X_new))
    with pytest.raises(TypeError, match="got ndarray"):
        levels_from_skpro(y_new, np.ones((3, 2)))
    frame = MODEL.predict_interval(X_new, coverage=[0.5, 0.9])
    with pytest.raises(ValueError, match=r"quantiles must come in pairs q and 1 - q: 0.05 has no 0.95"):
        levels_from_skpro(y_new, frame.drop(columns=[("progression", 0.9, "upper")]), y_pred=MODEL.predict(X_new))
    with pytest.raises(ValueError, match="`y_pred` must be given: there is no median"):
        levels_from_skpro(y_new, frame)
    with pytest.raises(ValueError, match=r"quantiles must come in pairs q and 1 - q: 0.05 has no 0.95"):
        levels_from_skpro(y_new, MODEL.predict_quantiles(X_new, alpha=[0.05, 0.5]))
