"""IntervalRegressor is a scikit-learn estimator like any other, and its intervals keep their promise."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from adapted import assert_same, diabetes
from refusal import refused
from uccurve.adapters import from_estimator

pytest.importorskip("sklearn")
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, QuantileRegressor, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    TimeSeriesSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import bench_regressor
from uccurve.calibrate.estimators import IntervalRegressor
from uccurve.train import BandRegressor

X, X_new, y, y_new = diabetes()


def boosted(**options: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=10, **options)


def light(**options: Any) -> Any:
    """A quick one: linear, with few trees for the errors."""
    settings: dict[str, Any] = {
        "band": boosted(loss="quantile", alpha=0.9),
        "cv": 3,
        "random_state": 0,
    }
    return IntervalRegressor(LinearRegression(), **{**settings, **options})


def folds_of(model: Any, n: int) -> Any:
    """The shuffled folds of a model whose random state is 0."""
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    return list(KFold(model.cv, shuffle=True, random_state=seed).split(np.zeros(n)))


class Own(LinearRegression):  # type: ignore[misc]  # scikit-learn is untyped
    """Has intervals of its own, which grow with the prediction."""

    def predict_interval(self, X: Any) -> Any:
        y_pred = self.predict(X)
        return y_pred - 0.2 * np.abs(y_pred), y_pred + 0.1 * np.abs(y_pred)


# ---- scikit-learn's own checks


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    [
        IntervalRegressor(BayesianRidge(), band="own"),
        IntervalRegressor(
            boosted(learning_rate=0.5), band=boosted(loss="quantile", alpha=0.9), cv=3
        ),
    ]
)
def test_scikit_learn_s_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.ci
@pytest.mark.slow
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    [IntervalRegressor(), IntervalRegressor(LinearRegression(), band="quantile", coverage=0.7)]
)
def test_scikit_learn_s_checks_pass_as_it_comes(estimator: Any, check: Any) -> None:
    check(estimator)


# ---- what cross-fitting means


@pytest.mark.parametrize("band", ["area", "quantile"])
def test_no_row_s_error_or_band_comes_from_a_model_that_has_seen_it(band: Any) -> None:
    base = boosted(random_state=1)
    meta = (
        BandRegressor(random_state=2)
        if band == "area"
        else boosted(loss="quantile", alpha=0.8, random_state=2)
    )
    model = IntervalRegressor(
        base, band=meta, coverage=0.8, cv=4, min_band=None, random_state=0
    ).fit(X, y)
    folds, y_pred, bands = folds_of(model, len(y)), np.empty(len(y)), np.empty(len(y))
    for seen, unseen in folds:
        y_pred[unseen] = base.fit(X[seen], y[seen]).predict(X[unseen])
    features, errors = np.column_stack([X, y_pred]), np.abs(y - y_pred)
    for seen, unseen in folds:
        bands[unseen] = meta.fit(features[seen], errors[seen]).predict(features[unseen])
    scale = np.sort(errors / bands)[int(np.ceil(301 * 0.8)) - 1]
    assert_allclose(model.calibrator_.scale_, scale, rtol=1e-12)

    centre = base.fit(X, y).predict(X_new)
    half = scale * meta.fit(features, errors).predict(np.column_stack([X_new, centre]))
    lower, upper = model.predict_interval(X_new)
    assert_array_equal(model.predict(X_new), centre)
    assert_allclose(lower, centre - half, rtol=1e-12)
    assert_allclose(upper, centre + half, rtol=1e-12)


def test_names_of_bands_stand_for_regressors() -> None:
    for name, regressor in {
        "area": BandRegressor(),
        "quantile": GradientBoostingRegressor(loss="quantile", alpha=0.75),
    }.items():
        named, given = (light(band=band, coverage=0.75).fit(X, y) for band in (name, regressor))
        assert_array_equal(named.predict_interval(X_new), given.predict_interval(X_new))
    assert IntervalRegressor().band == "area"


class Counted(LinearRegression):  # type: ignore[misc]  # scikit-learn is untyped
    """Counts the fits of all of its clones."""

    sizes: ClassVar[list[int]] = []

    def fit(self, X: Any, y: Any) -> Counted:
        self.sizes.append(len(y))
        super().fit(X, y)
        return self


def test_k_folds_take_2k_plus_2_fits_and_own_bands_half_of_them() -> None:
    Counted.sizes.clear()
    IntervalRegressor(Counted(), band=Counted(), cv=4).fit(X, y)
    assert sorted(Counted.sizes) == 8 * [225] + 2 * [300]

    class CountedOwn(Counted, Own):
        pass

    Counted.sizes.clear()
    IntervalRegressor(CountedOwn(), band="own", cv=4).fit(X, y)
    assert sorted(Counted.sizes) == 4 * [225] + [300]


def test_own_bands_are_the_estimator_s_up_to_one_factor() -> None:
    for base in (BayesianRidge(), GaussianProcessRegressor(alpha=1.0, optimizer=None), Own()):
        model = IntervalRegressor(
            base, band="own", coverage=0.8, min_band=None, random_state=0
        ).fit(X, y)
        scores = np.empty(len(y))
        for seen, unseen in folds_of(model, len(y)):
            own = from_estimator(clone(base).fit(X[seen], y[seen]), X[unseen], y[unseen])
            active = np.where(own.y_true >= own.y_pred, own.upper_band, own.lower_band)
            scores[unseen] = np.abs(own.y_true - own.y_pred) / active
        scale = np.sort(scores)[int(np.ceil(301 * 0.8)) - 1]
        assert_allclose(model.calibrator_.scale_, scale, rtol=1e-12)
        expected = from_estimator(clone(base).fit(X, y), X_new, y_new).calibrated(scale=scale)
        assert_allclose(model.predict_interval(X_new), (expected.lower, expected.upper), rtol=1e-12)


def test_folds_are_shuffled_where_a_number_is_given_and_taken_as_they_are_else() -> None:
    order = np.argsort(
        y
    )  # folds of neighbours in y would leave errors of nothing but extrapolation
    shuffled, blocks = (light(cv=cv).fit(X[order], y[order]) for cv in (5, KFold(5)))
    width = [
        float(np.mean(np.diff(model.predict_interval(X_new), axis=0)))
        for model in (shuffled, blocks)
    ]
    assert width[1] > 1.2 * width[0]
    as_splitter, as_list = (light(cv=cv).fit(X, y) for cv in (KFold(3), list(KFold(3).split(X))))
    assert_array_equal(as_splitter.predict_interval(X_new), as_list.predict_interval(X_new))


def test_the_seed_decides_the_folds() -> None:
    first, again, other = (
        light(random_state=seed).fit(X, y).calibrator_.scale_ for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.parametrize("band", ["area", "quantile", "own"])
def test_new_rows_are_missed_about_as_often_as_asked(band: Any) -> None:
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(1600, 1))
    y = np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.laplace(size=1600)
    base = BayesianRidge() if band == "own" else boosted()
    model = IntervalRegressor(base, band=band, coverage=0.8, random_state=0)
    iv = from_estimator(model.fit(X[:800], y[:800]), X[800:], y[800:])
    # 4 standard errors: of 800 test rows, and of the 800 rows that calibrate
    assert_allclose(ucc.UCC(iv).at(1.0).miss_rate, 0.2, atol=4 * (2 * 0.16 / 800) ** 0.5)


@pytest.mark.parametrize("base", ["nearest neighbours", "one deep tree"])
def test_small_training_sets_come_close_to_the_coverage(base: str) -> None:
    """Few trees and 40 training sets of 100 rows; the table of the documentation has the defaults and more sets."""
    row = bench_regressor.coverage(base, 100, 40, seed=5, band=BandRegressor(n_estimators=20))
    assert abs(row["coverage"] - 0.9) < 0.02 + 2 * row["sd"] / 40**0.5
    assert row["sd"] < 0.045  # with the rank of 100 independent rows it would be 0.03


def test_bands_are_raised_to_the_floor_and_no_further() -> None:
    raw = []
    for min_band in (80.0, None):
        model = light(min_band=min_band).fit(X, y)
        lower, upper = model.predict_interval(X_new)
        raw.append((upper - lower) / 2 / model.calibrator_.scale_)
        assert model.min_band_ == min_band
    assert (raw[1] < 80).any()
    assert_allclose(raw[0], np.maximum(raw[1], 80), rtol=1e-12)
    assert 2 < light(min_band="5%").fit(X, y).min_band_ < 6  # of a half-width of some 80


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
    inside = IntervalRegressor(
        make_pipeline(StandardScaler(), Ridge()), band=boosted(), random_state=0
    )
    lower, upper = inside.fit(X, y).predict_interval(X_new)
    assert (lower < upper).all()


def test_a_search_maximises_the_gain_and_keeps_its_intervals() -> None:
    scorer = ucc.make_interval_scorer("auucc_gain", axes=("bandwidth", "deficit"))
    grid = {
        "intervalregressor__band__n_estimators": [1, 20],
        "intervalregressor__estimator__alpha": [0.1, 10],
    }
    pipeline = make_pipeline(StandardScaler(), light().set_params(estimator=Ridge()))
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3).fit(X, y)
    results = search.cv_results_["mean_test_score"]
    assert len(set(results)) > 1
    assert search.best_score_ == max(results)
    by_hand = ucc.UCC(from_estimator(search.best_estimator_, X_new, y_new)).gain(
        axes=("bandwidth", "deficit")
    )
    assert scorer(search, X_new, y_new) == by_hand


def test_cross_validation_scores_many_things_at_once() -> None:
    scoring: dict[str, Any] = {
        "gain": ucc.make_interval_scorer("auucc_gain"),
        "area": ucc.make_interval_scorer("auucc", miss_rate=(0, 0.5)),
        "missed": ucc.make_interval_scorer("miss_rate"),
        "r2": "r2",
    }
    scores = cross_validate(light(), X, y, scoring=scoring, cv=3, return_estimator=True)
    folds = list(KFold(3).split(X))
    for (_, out), model, missed in zip(
        folds, scores["estimator"], scores["test_missed"], strict=True
    ):
        lower, upper = model.predict_interval(X[out])
        assert missed == -ucc.miss_rate_score(y[out], lower, upper)
    assert (scores["test_area"] < 0).all()
    assert_array_equal(
        scores["test_gain"], cross_val_score(light(), X, y, scoring=scoring["gain"], cv=3)
    )


def test_clones_and_pickles_predict_the_same() -> None:
    model = light().fit(X, y)
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
        frame.index = frame.index[
            ::-1
        ]  # an index that would shuffle the rows of anything that aligned by it
    model = light().fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    assert model.band_.feature_names_in_.tolist() == [*names, "y_pred"]
    plain = light().fit(X, y)
    assert_allclose(
        model.predict_interval(new), plain.predict_interval(X_new), rtol=1e-10
    )  # columns lie otherwise
    with pytest.raises(ValueError, match="feature names"):
        model.predict_interval(
            new.rename({"f0": "g0"}) if library == "polars" else new.rename(columns={"f0": "g0"})
        )


def test_a_feature_called_y_pred_is_no_problem() -> None:
    pandas = pytest.importorskip("pandas")
    model = light().fit(pandas.DataFrame({"y_pred": X[:, 0], "x": X[:, 1]}), y)
    assert model.band_.feature_names_in_.tolist() == ["y_pred", "x", "y_pred_"]
    numbered = light().fit(pandas.DataFrame(X), y)
    plain = light().fit(X, y)
    assert_allclose(
        numbered.predict_interval(pandas.DataFrame(X_new)),
        plain.predict_interval(X_new),
        rtol=1e-10,
    )


def test_transformers_may_set_their_output_to_frames() -> None:
    pytest.importorskip("pandas")
    pipeline = make_pipeline(StandardScaler(), light()).set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == [f"x{i}" for i in range(10)]
    plain = make_pipeline(StandardScaler(), light()).fit(X, y)
    assert_array_equal(
        from_estimator(pipeline, X_new, y_new).lower, from_estimator(plain, X_new, y_new).lower
    )


def test_words_reach_a_regressor_that_encodes_them() -> None:
    pandas = pytest.importorskip("pandas")
    from sklearn.preprocessing import OneHotEncoder

    frame = pandas.DataFrame({"word": np.where(X[:, 0] > 0, "high", "low"), "x": X[:, 2]})
    encode = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = IntervalRegressor(
        make_pipeline(encode, LinearRegression()),
        band=make_pipeline(clone(encode), boosted()),
        random_state=0,
    ).fit(frame, y)
    assert model.predict_interval(frame)[0].shape == (300,)


def test_sparse_features_stay_sparse() -> None:
    model, plain = light().fit(sparse.csr_array(X), y), light().fit(X, y)
    # scikit-learn solves sparse least squares by iteration, so the predictions differ by some 1e-5 of about 150
    assert_allclose(
        model.predict_interval(sparse.csr_array(X_new)), plain.predict_interval(X_new), atol=1e-3
    )
    assert model.band_.n_features_in_ == 11


def test_missing_values_are_allowed_where_all_regressors_allow_them() -> None:
    holes = X.copy()
    holes[::7, 0] = np.nan
    tree = HistGradientBoostingRegressor(max_iter=5)
    model = IntervalRegressor(tree, band=tree, random_state=0)
    assert model.__sklearn_tags__().input_tags.allow_nan
    assert not light().__sklearn_tags__().input_tags.allow_nan
    assert np.isfinite(model.fit(holes, y).predict_interval(holes)).all()
    with pytest.raises(ValueError, match="NaN"):
        light().fit(holes, y)


def test_a_fitted_model_can_stay_as_it_is() -> None:
    fitted = Ridge().fit(X[:150], y[:150])
    model = light().set_params(estimator=FrozenEstimator(fitted)).fit(X[150:], y[150:])
    assert_array_equal(model.predict(X_new), fitted.predict(X_new))


# ---- refusals and the door


def test_settings_that_do_not_fit_are_refused_in_a_sentence() -> None:
    refused(
        "`band` must be one of area, quantile, own; got 'aera'. Did you mean 'area'?",
        light(band="aera").fit,
        X,
        y,
    )
    refused("`band` must be one of area, quantile, own; got None.", light(band=None).fit, X, y)
    refused(
        "`coverage` must lie between 0 and 1, both excluded; got 90. Hint: 90% is 0.9.",
        light(coverage=90).fit,
        X,
        y,
    )
    refused(
        "`cv` must hold every row out exactly once: 50 of 300 rows are not, first row 0 (held out 0 times). "
        "Hint: pass a number of folds.",
        light(cv=TimeSeriesSplit(5)).fit,
        X,
        y,
    )
    refused(
        "`estimator` must leave errors for bands to learn from: it predicts all 300 unseen rows exactly. "
        "Hint: check that `X` does not hold the target, and that the target varies.",
        IntervalRegressor(DummyRegressor()).fit,
        X,
        np.ones(300),
    )
    with pytest.raises(ValueError, match="needs at least 19 rows; there are 15"):
        light(coverage=0.95).fit(X[:15], y[:15])
    with pytest.raises(TypeError, match="LinearRegression has neither"):
        light(band="own").fit(X, y)
    with pytest.raises(ValueError, match="`min_band` must be"):
        light(min_band="wide").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        light().fit(X, y[:-1])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        light().predict(X)


def test_without_a_floor_negative_bands_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`lower_band` must not be negative.*min_band"):
        light(band=QuantileRegressor(quantile=0.01, alpha=0), min_band=None).fit(X, y)


def test_own_intervals_beside_their_prediction_are_refused_or_raised() -> None:
    class Beside(Own):
        def predict_interval(self, X: Any) -> Any:
            return self.predict(X) + 10, self.predict(X) + 90

    with pytest.raises(ValueError, match=r"`lower`.*min_band"):
        IntervalRegressor(Beside(), band="own", min_band=None).fit(X, y)
    lower, upper = (
        IntervalRegressor(Beside(), band="own", min_band=5.0).fit(X, y).predict_interval(X_new)
    )
    y_pred = LinearRegression().fit(X, y).predict(X_new)
    assert_allclose((upper - y_pred) / (y_pred - lower), 90 / 5, rtol=1e-9)


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
    output = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    first, second = output.splitlines()
    assert first == "module 'uccurve' has no attribute 'nothing_of_this_name'"
    assert second == 'IntervalRegressor needs scikit-learn: pip install "uccurve[sklearn]"'
    assert ucc.IntervalRegressor is IntervalRegressor
