"""IntervalRegressor is a scikit-learn estimator like any other, and its intervals keep their promise."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import from_estimator

pytest.importorskip("sklearn")
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, QuantileRegressor, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from uccurve.calibrate.estimators import IntervalRegressor

X, X_new, y, y_new = diabetes()


def boosted(**options: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=10, **options)


def light(**options: Any) -> Any:
    """A quick one: linear, with few trees for the errors."""
    settings: dict[str, Any] = {"band_estimator": boosted(loss="quantile", alpha=0.9), "random_state": 0}
    return IntervalRegressor(LinearRegression(), **{**settings, **options})


# ---- scikit-learn's own checks


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    [
        IntervalRegressor(method="std"),
        IntervalRegressor(boosted(learning_rate=0.5), band_estimator=boosted(loss="quantile", alpha=0.9), cv=3),
        IntervalRegressor(
            LinearRegression(),
            method="quantile",
            lower_estimator=boosted(loss="quantile", alpha=0.05),
            upper_estimator=boosted(loss="quantile", alpha=0.95),
            cv=None,
            miss_rate=0.4,
            calibration_size=0.4,
            vary="shift",
        ),
    ]
)
def test_scikit_learn_s_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([IntervalRegressor()])  # type: ignore[untyped-decorator]  # scikit-learn is untyped
def test_scikit_learn_s_checks_pass_as_it_comes(estimator: Any, check: Any) -> None:
    check(estimator)


# ---- what the methods mean


def test_meta_is_the_paper_s_recipe() -> None:
    base, meta = boosted(random_state=1), boosted(loss="quantile", alpha=0.95, random_state=2)
    model = IntervalRegressor(base, band_estimator=meta, band_size=0.2, miss_rate=None, min_band=None, random_state=0)
    model.fit(X, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    seen, unseen = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)
    assert len(unseen) == 60
    base.fit(X[seen], y[seen])
    guess = base.predict(X[unseen])
    meta.fit(np.column_stack([X[unseen], guess]), np.abs(y[unseen] - guess))
    y_pred = base.predict(X_new)
    band = meta.predict(np.column_stack([X_new, y_pred]))
    lower, upper = model.predict_interval(X_new)
    assert_array_equal(model.predict(X_new), y_pred)
    assert_allclose(lower, y_pred - band, rtol=1e-13)
    assert_allclose(upper, y_pred + band, rtol=1e-13)


def test_quantile_bands_are_those_of_the_two_quantile_regressors() -> None:
    pair = [QuantileRegressor(quantile=q, alpha=0) for q in (0.05, 0.95)]
    model = IntervalRegressor(
        LinearRegression(),
        method="quantile",
        lower_estimator=pair[0],
        upper_estimator=pair[1],
        miss_rate=None,
        min_band=0.0,
    )
    lower, upper = model.fit(X, y).predict_interval(X_new)
    low, high = (regressor.fit(X, y).predict(X_new) for regressor in pair)
    assert (low > model.predict(X_new)).any()
    assert_allclose(lower, np.minimum(low, model.predict(X_new)), rtol=1e-12)
    assert_allclose(upper, np.maximum(high, model.predict(X_new)), rtol=1e-12)


def test_std_bands_are_the_estimator_s_deviation() -> None:
    for base in (BayesianRidge(), GaussianProcessRegressor(alpha=1.0, optimizer=None)):
        model = IntervalRegressor(base, method="std", miss_rate=None, min_band=None).fit(X, y)
        mean, std = clone(base).fit(X, y).predict(X_new, return_std=True)
        lower, upper = model.predict_interval(X_new)
        assert_allclose(lower, mean - std, rtol=1e-13)
        assert_allclose(upper, mean + std, rtol=1e-13)


def test_calibration_by_hold_out_is_the_calibrator_on_rows_nobody_saw() -> None:
    model = light(cv=None, calibration_size=0.3, miss_rate=0.2).fit(X, y)
    rows, held_out = train_test_split(
        np.arange(len(y)), test_size=0.3, random_state=int(np.random.RandomState(0).randint(2**31 - 1))
    )
    raw = light(miss_rate=None).fit(X[rows], y[rows])
    calibrator = ucc.IntervalCalibrator(miss_rate=0.2)
    calibrator.fit(from_estimator(raw, X[held_out], y[held_out]))
    assert_allclose(model.calibrator_.scale_, calibrator.scale_, rtol=1e-12)
    assert model.calibrator_.calibrations_[None].rows == 90


def test_calibration_by_cross_validation_uses_every_row_once() -> None:
    model: Any = IntervalRegressor(BayesianRidge(), method="std", cv=KFold(4), min_band=None, miss_rate=0.2).fit(X, y)
    scores = np.empty(len(y))
    for seen, out in KFold(4).split(X):
        mean, std = BayesianRidge().fit(X[seen], y[seen]).predict(X[out], return_std=True)
        scores[out] = np.abs(y[out] - mean) / std
    assert_allclose(model.calibrator_.scale_, np.sort(scores)[int(np.ceil(301 * 0.8)) - 1], rtol=1e-12)


@pytest.mark.parametrize(("method", "vary"), [("meta", "scale"), ("quantile", "shift"), ("std", "scale")])
@pytest.mark.parametrize("cv", [None, 4])
def test_new_rows_are_missed_about_as_often_as_asked(method: Any, vary: Any, cv: Any) -> None:
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(1600, 1))
    y = np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.laplace(size=1600)
    quick = {
        "meta": {"estimator": boosted(), "band_estimator": boosted(loss="quantile", alpha=0.8)},
        "quantile": {
            "estimator": boosted(),
            "lower_estimator": boosted(loss="quantile", alpha=0.1),
            "upper_estimator": boosted(loss="quantile", alpha=0.9),
        },
        "std": {"estimator": BayesianRidge()},
    }[method]
    model = IntervalRegressor(method=method, vary=vary, cv=cv, miss_rate=0.2, random_state=0, **quick)
    iv = from_estimator(model.fit(X[:800], y[:800]), X[800:], y[800:])
    # 4 standard errors: of 800 test rows, and of the calibration's 160 rows (all 800 with cross-validation)
    assert_allclose(
        ucc.UCC(iv).at(1.0).miss_rate, 0.2, atol=4 * (0.16 / 800 + 0.16 / (160 if cv is None else 800)) ** 0.5
    )


def test_bands_are_raised_to_the_floor_and_no_further() -> None:
    model = light(miss_rate=None, min_band=30.0).fit(X, y)
    lower, upper = model.predict_interval(X_new)
    free = light(miss_rate=None, min_band=None).fit(X, y).predict_interval(X_new)
    assert_allclose(upper - lower, np.maximum(free[1] - free[0], 60.0), rtol=1e-12)
    assert model.min_band_ == 30.0
    assert 0 < light(miss_rate=None, min_band="5%").fit(X, y).min_band_ < 10


# ---- used as people use scikit-learn


def test_it_works_at_the_end_of_a_pipeline_and_inside() -> None:
    outside = make_pipeline(StandardScaler(), light()).fit(X, y)
    scaled = StandardScaler().fit(X)
    alone = light().fit(scaled.transform(X), y)
    assert_same(
        from_estimator(outside, X_new, y_new),
        y_new,
        outside.predict(X_new),
        *alone.predict_interval(scaled.transform(X_new)),
    )
    inside = IntervalRegressor(make_pipeline(StandardScaler(), Ridge()), band_estimator=boosted(), random_state=0)
    lower, upper = inside.fit(X, y).predict_interval(X_new)
    assert (lower < upper).all()


def test_a_search_maximises_the_gain_and_keeps_its_intervals() -> None:
    scorer = ucc.make_interval_scorer("auucc_gain", axes=("bandwidth", "deficit"))
    grid = {
        "intervalregressor__band_estimator__n_estimators": [1, 20],
        "intervalregressor__estimator__alpha": [0.1, 10],
    }
    pipeline = make_pipeline(StandardScaler(), light(cv=3).set_params(estimator=Ridge()))
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3).fit(X, y)
    results = search.cv_results_["mean_test_score"]
    assert len(set(results)) > 1
    assert search.best_score_ == max(results)
    by_hand = ucc.UCC(from_estimator(search.best_estimator_, X_new, y_new)).gain(axes=("bandwidth", "deficit"))
    assert scorer(search, X_new, y_new) == by_hand


def test_cross_validation_scores_many_things_at_once() -> None:
    scoring: dict[str, Any] = {
        "gain": ucc.make_interval_scorer("auucc_gain"),
        "area": ucc.make_interval_scorer("auucc", miss_rate=(0, 0.5)),
        "missed": ucc.make_interval_scorer("miss_rate"),
        "r2": "r2",
    }
    scores = cross_validate(light(cv=3), X, y, scoring=scoring, cv=3, return_estimator=True)
    folds = list(KFold(3).split(X))
    for (_, out), model, missed in zip(folds, scores["estimator"], scores["test_missed"], strict=True):
        lower, upper = model.predict_interval(X[out])
        assert missed == -ucc.miss_rate_score(y[out], lower, upper)
    assert (scores["test_area"] < 0).all()
    assert_array_equal(scores["test_gain"], cross_val_score(light(cv=3), X, y, scoring=scoring["gain"], cv=3))


def test_clones_and_pickles_predict_the_same() -> None:
    model = light(cv=None).fit(X, y)
    again = clone(model).fit(X, y)
    back = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own
    for other in (again, back):
        assert_array_equal(other.predict_interval(X_new), model.predict_interval(X_new))
    with pytest.raises(NotFittedError):
        clone(model).predict_interval(X_new)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names_and_their_order(library: str) -> None:
    frames = pytest.importorskip(library)
    names = [f"f{i}" for i in range(X.shape[1])]
    frame, new = (frames.DataFrame(dict(zip(names, part.T, strict=True))) for part in (X, X_new))
    if library == "pandas":
        frame.index = frame.index[::-1]  # an index that would shuffle the rows of anything that aligned by it
    model = light(cv=None).fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    assert model.band_estimator_.feature_names_in_.tolist() == [*names, "y_pred"]
    plain = light(cv=None).fit(X, y)
    assert_allclose(model.predict_interval(new), plain.predict_interval(X_new), rtol=1e-10)  # columns lie otherwise
    with pytest.raises(ValueError, match="feature names"):
        model.predict_interval(new.rename({"f0": "g0"}) if library == "polars" else new.rename(columns={"f0": "g0"}))


def test_a_feature_called_y_pred_is_no_problem() -> None:
    pandas = pytest.importorskip("pandas")
    model = light(cv=None).fit(pandas.DataFrame({"y_pred": X[:, 0], "x": X[:, 1]}), y)
    assert model.band_estimator_.feature_names_in_.tolist() == ["y_pred", "x", "y_pred_"]
    numbered = light(cv=None).fit(pandas.DataFrame(X), y)
    plain = light(cv=None).fit(X, y)
    assert_allclose(numbered.predict_interval(pandas.DataFrame(X_new)), plain.predict_interval(X_new), rtol=1e-10)


def test_transformers_may_set_their_output_to_frames() -> None:
    pytest.importorskip("pandas")
    pipeline = make_pipeline(StandardScaler(), light(cv=None)).set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == [f"x{i}" for i in range(10)]
    plain = make_pipeline(StandardScaler(), light(cv=None)).fit(X, y)
    assert_array_equal(from_estimator(pipeline, X_new, y_new).lower, from_estimator(plain, X_new, y_new).lower)


def test_words_reach_a_regressor_that_encodes_them() -> None:
    pandas = pytest.importorskip("pandas")
    from sklearn.preprocessing import OneHotEncoder

    frame = pandas.DataFrame({"word": np.where(X[:, 0] > 0, "high", "low"), "x": X[:, 2]})
    encode = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = IntervalRegressor(
        make_pipeline(encode, LinearRegression()),
        band_estimator=make_pipeline(clone(encode), boosted()),
        random_state=0,
    ).fit(frame, y)
    assert model.predict_interval(frame)[0].shape == (300,)


def test_sparse_features_stay_sparse() -> None:
    model, plain = light(cv=None).fit(sparse.csr_array(X), y), light(cv=None).fit(X, y)
    # scikit-learn solves sparse least squares by iteration, so the predictions differ by some 1e-5 of about 150
    assert_allclose(model.predict_interval(sparse.csr_array(X_new)), plain.predict_interval(X_new), atol=1e-3)
    assert model.band_estimator_.n_features_in_ == 11


def test_missing_values_are_allowed_where_all_regressors_allow_them() -> None:
    holes = X.copy()
    holes[::7, 0] = np.nan
    tree = HistGradientBoostingRegressor(max_iter=5)
    model = IntervalRegressor(tree, band_estimator=tree, cv=None, random_state=0)
    assert model.__sklearn_tags__().input_tags.allow_nan
    assert not light().__sklearn_tags__().input_tags.allow_nan
    assert np.isfinite(model.fit(holes, y).predict_interval(holes)).all()
    with pytest.raises(ValueError, match="NaN"):
        light().fit(holes, y)


def test_a_fitted_model_can_stay_as_it_is() -> None:
    fitted = Ridge().fit(X[:150], y[:150])
    model = light(cv=None).set_params(estimator=FrozenEstimator(fitted)).fit(X[150:], y[150:])
    assert_array_equal(model.predict(X_new), fitted.predict(X_new))


# ---- refusals and the door


def test_settings_that_do_not_fit_are_refused_in_a_sentence() -> None:
    with pytest.raises(
        ValueError, match=r"`method` must be one of meta, quantile, std; got 'metta'\. Did you mean 'meta'\?"
    ):
        IntervalRegressor(method="metta").fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`band_estimator` does not go with method='std'"):
        IntervalRegressor(method="std", band_estimator=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="`miss_rate` must be a finite number from 0 to 1; got 5"):
        light(miss_rate=5).fit(X, y)
    with pytest.raises(ValueError, match="needs at least 19 rows; there are 15"):
        light(cv=None, miss_rate=0.05, calibration_size=0.05).fit(X, y)
    with pytest.raises(TypeError, match="return_std"):
        IntervalRegressor(LinearRegression(), method="std").fit(X, y)
    with pytest.raises(ValueError, match="`min_band` must be"):
        light(min_band="wide").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        light().fit(X, y[:-1])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        light().predict(X)


def test_without_a_floor_negative_bands_are_refused() -> None:
    down = IntervalRegressor(
        LinearRegression(),
        method="quantile",
        lower_estimator=QuantileRegressor(quantile=0.95, alpha=0),
        upper_estimator=QuantileRegressor(quantile=0.05, alpha=0),
        min_band=None,
        miss_rate=None,
    ).fit(X, y)
    with pytest.raises(ValueError, match=r"`lower_band` must not be negative.*min_band"):
        down.predict_interval(X_new)


def test_scikit_learn_is_loaded_when_asked_for_and_missed_in_a_sentence() -> None:
    script = """
import sys
import uccurve as ucc
assert "sklearn" not in sys.modules
assert "IntervalRegressor" in dir(ucc)
try:
    ucc.nothing_of_this_name
except AttributeError as error:
    print(error)
sys.modules["sklearn"] = None
try:
    ucc.IntervalRegressor
except ImportError as error:
    print(error)
"""
    output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    first, second = output.splitlines()
    assert first == "module 'uccurve' has no attribute 'nothing_of_this_name'"
    assert second == 'IntervalRegressor needs scikit-learn: pip install "uccurve[sklearn]"'
    assert ucc.IntervalRegressor is IntervalRegressor
