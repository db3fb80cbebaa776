"""Bands trained for the area: the objective is the area's, and the regressor an estimator like any other."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import uccurve as ucc
from refusal import refused
from uccurve.train import area_loss, area_objective

pytest.importorskip("sklearn")
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from uccurve.train import BandRegressor

Array = NDArray[np.float64]
Axes = Any  # two names of metrics

MISS_RATE: Axes = ("bandwidth", "miss_rate")
DEFICIT: Axes = ("bandwidth", "deficit")
POWERS = {MISS_RATE: 1, DEFICIT: 2}
both_axes = pytest.mark.parametrize("axes", [MISS_RATE, DEFICIT], ids="-".join)
both_backends = pytest.mark.parametrize("backend", ["sklearn", "lightgbm"])
FREE: dict[str, Any] = {
    "min_samples_leaf": 1,
    "l2_regularization": 0,
    "learning_rate": 0.5,
    "random_state": 0,
}
"""Settings that let the trees reach the minimum of the training loss."""


def made_up(n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Features, errors of known spread, and that spread."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    sigma = np.exp(X[:, 0] + 0.7 * (X[:, 1] > 0))
    return X, sigma * rng.normal(size=n), sigma


def grouped(n: int = 400) -> tuple[Array, Array, Array]:
    """A discrete feature, skewed errors whose spread it decides, some of them 0, and unequal weights."""
    rng = np.random.default_rng(5)
    group = rng.choice(4, n, p=[0.1, 0.2, 0.3, 0.4])
    errors = np.array([0.1, 3.0, 0.7, 1.5])[group] * (rng.exponential(size=n) - 0.6)
    errors[::17] = 0
    return group[:, None].astype(float), errors, rng.uniform(0.2, 3.0, n)


def best_bands(group: Array, errors: Array, weight: Array, p: int) -> Array:
    """The closed form: the square root of the weighted mean of r^p in each group."""
    means = [np.average(errors[group == g] ** p, weights=weight[group == g]) for g in range(4)]
    best: Array = np.sqrt(np.array(means))[group.astype(int)]
    return best


def curve(
    errors: Array, lower: Array, upper: Array | None = None, weight: Array | None = None
) -> ucc.UCC:
    return ucc.UCC(
        ucc.Intervals.from_bands(errors, np.zeros(len(errors)), lower, upper, weight=weight)
    )


# ---- the objective and the loss


@both_axes
def test_gradient_and_hessian_are_the_derivatives_of_the_loss(axes: Axes) -> None:
    rng = np.random.default_rng(1)
    r, raw, weight = rng.exponential(size=20), rng.normal(size=20), rng.uniform(0, 2, 20)

    def loss(at: Array) -> Array:
        return np.array(
            [area_loss(r[i : i + 1], 0.0, np.exp(at[i : i + 1]), axes=axes) for i in range(20)]
        )

    step = 1e-4
    low, middle, high = loss(raw - step), loss(raw), loss(raw + step)
    gradient, hessian = area_objective(axes)(r, raw, weight)
    assert_allclose(gradient, weight * (high - low) / (2 * step), rtol=1e-6, atol=1e-8)
    assert_allclose(hessian, weight * (high - 2 * middle + low) / step**2, rtol=1e-5)


@both_axes
def test_the_loss_at_its_best_factor_is_the_area(axes: Axes) -> None:
    rng, p = np.random.default_rng(2), POWERS[axes]
    errors, lower, upper, weight = rng.normal(0.4, 1, 50), *rng.uniform(0.2, 2, (3, 50))
    factors = np.exp(np.linspace(-3, 3, 6001))
    smallest = min(
        area_loss(errors, 0.0, c * lower, c * upper, axes=axes, sample_weight=weight)
        for c in factors.tolist()
    )
    area = curve(errors, lower, upper, weight).area(axes=axes)
    assert_allclose(smallest**2 / 4 / p, area, rtol=1e-6)


@both_axes
def test_one_band_for_both_sides_is_the_symmetric_loss(axes: Axes) -> None:
    errors, band = np.array([-1.5, 0.0, 2.0]), np.array([0.5, 1.0, 4.0])
    assert_allclose(
        area_loss(errors, 0.0, band, band, axes=axes),
        area_loss(errors, 0.0, band, axes=axes),
        rtol=1e-15,
    )


@both_axes
def test_the_gradient_of_jax_is_that_of_the_objective(axes: Axes) -> None:
    jax = pytest.importorskip("jax")
    y_true, y_pred, raw, weight = np.random.default_rng(3).normal(size=(4, 30))
    weight = np.abs(weight)
    with jax.enable_x64(True):

        def loss(at: Any) -> Any:
            return area_loss(y_true, y_pred, jax.numpy.exp(at), axes=axes, sample_weight=weight)

        found = np.asarray(jax.grad(loss)(jax.numpy.asarray(raw)))
    gradient, _ = area_objective(axes)(np.abs(y_true - y_pred), raw, weight)
    assert_allclose(found, gradient / weight.sum(), rtol=1e-12, atol=1e-15)


def test_jax_trains_both_sides_to_the_closed_form() -> None:
    jax = pytest.importorskip("jax")
    group, errors, weight = grouped()
    index = group[:, 0].astype(int)

    def loss(raw: Any) -> Any:
        lower, upper = jax.numpy.exp(raw)[:, index]
        return area_loss(errors, 0.0, lower, upper, sample_weight=weight)

    with jax.enable_x64(True):
        raw = jax.lax.fori_loop(
            0, 30_000, lambda _, at: at - 0.5 * jax.grad(loss)(at), jax.numpy.zeros((2, 4))
        )
        found = np.exp(np.asarray(raw))[:, index]
    sides = np.maximum(-errors, 0), np.maximum(errors, 0)
    best = [np.sqrt(2) * best_bands(group[:, 0], side, weight, 2) for side in sides]
    assert_allclose(found, best, rtol=1e-6)


class Dual:
    """A number per row and its derivative, with the operators that tensors of every library have, and no others."""

    __array_ufunc__ = None

    def __init__(self, value: Any, slope: Any = 0.0) -> None:
        self.value, self.slope = np.asarray(value), np.asarray(slope)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("this is no numpy array")

    def __add__(self, other: Any) -> Dual:
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Any) -> Dual:
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other: Any) -> Dual:
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __truediv__(self, other: Any) -> Dual:
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(
            self.value / other.value,
            self.slope / other.value - self.value * other.slope / other.value**2,
        )

    def __pow__(self, p: int) -> Dual:
        return Dual(self.value**p, p * self.value ** (p - 1) * self.slope)

    def __abs__(self) -> Dual:
        return Dual(np.abs(self.value), np.sign(self.value) * self.slope)

    def mean(self) -> Dual:
        return self.sum() / len(self.value)

    def sum(self) -> Dual:
        """The sum, and its derivative over the variable of each row."""
        return Dual(self.value.sum(), self.slope)


@both_axes
@pytest.mark.parametrize("sides", [1, 2])
def test_the_loss_needs_arithmetic_only_so_tensors_of_any_library_can_be_trained(
    axes: Axes, sides: int
) -> None:
    y_true, y_pred, raw = np.random.default_rng(4).normal(size=(3, 30))
    weight = np.random.default_rng(5).uniform(size=30)
    bands = [Dual(np.exp(raw), np.exp(raw))] * sides
    found = area_loss(Dual(y_true), Dual(y_pred), *bands, axes=axes, sample_weight=Dual(weight))
    gradient, _ = area_objective(axes)(np.abs(y_true - y_pred), raw, weight)
    assert_allclose(found.slope, gradient / weight.sum(), rtol=1e-12)
    assert_allclose(
        area_loss(Dual(y_true), Dual(y_pred), *bands, axes=axes).value,
        area_loss(y_true, y_pred, *[np.exp(raw)] * sides, axes=axes),
        rtol=1e-12,
    )


@both_axes
def test_the_gradient_of_pytorch_is_that_of_the_objective(axes: Axes) -> None:
    torch = pytest.importorskip("torch")
    y_true, y_pred, raw = np.random.default_rng(4).normal(size=(3, 30))
    at = torch.tensor(raw, requires_grad=True)
    area_loss(torch.tensor(y_true), torch.tensor(y_pred), at.exp(), axes=axes).backward()
    gradient, _ = area_objective(axes)(np.abs(y_true - y_pred), raw)
    assert_allclose(at.grad.numpy(), gradient / 30, rtol=1e-12, atol=1e-15)


@both_axes
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosters_reach_the_closed_form_with_the_objective(library: str, axes: Axes) -> None:
    module = pytest.importorskip(library)
    group, errors, weight = grouped()
    r = np.abs(errors)
    options: dict[str, Any] = {"objective": area_objective(axes), "n_estimators": 200, "n_jobs": 1}
    if library == "lightgbm":
        booster = module.LGBMRegressor(min_child_samples=1, verbosity=-1, **options)
    else:
        booster = module.XGBRegressor(reg_lambda=0, base_score=0, **options)
    booster.fit(group, r, sample_weight=weight)
    assert_allclose(
        np.exp(booster.predict(group)), best_bands(group[:, 0], r, weight, POWERS[axes]), rtol=1e-3
    )
    again = pickle.loads(pickle.dumps(clone(booster).fit(group, r, sample_weight=weight)))  # noqa: S301  # our own
    assert_allclose(again.predict(group), booster.predict(group), rtol=1e-6)


def test_the_objective_shows_its_axes() -> None:
    assert repr(area_objective(DEFICIT)) == "area_objective(('bandwidth', 'deficit'))"
    listed: Any = ["bandwidth", "deficit"]
    assert area_objective(listed) == area_objective(DEFICIT) != area_objective(MISS_RATE)


# ---- what the regressor learns


@both_backends
@both_axes
def test_the_fitted_minimum_is_the_closed_form(axes: Axes, backend: Any) -> None:
    group, errors, weight = grouped()
    r, p = np.abs(errors), POWERS[axes]
    model = BandRegressor(axes, backend=backend, n_estimators=200, **FREE).fit(group, r, weight)
    best = best_bands(group[:, 0], r, weight, p)
    unit = (
        np.sqrt(np.average(r, weights=weight)) if p == 1 else 1.0
    )  # so that the band is in units of y
    assert_allclose(model.predict(group), unit * best, rtol=1e-5)


@both_backends
@both_axes
def test_separate_sides_are_the_closed_form_of_each_side(axes: Axes, backend: Any) -> None:
    group, errors, weight = grouped()
    p = POWERS[axes]
    model = BandRegressor(axes, sides="separate", backend=backend, n_estimators=300, **FREE).fit(
        group, errors, weight
    )
    sides = np.maximum(-errors, 0), np.maximum(errors, 0)
    best = np.column_stack([best_bands(group[:, 0], side, weight, p) for side in sides])
    unit = np.sqrt(np.average(np.abs(errors), weights=weight)) if p == 1 else 1.0
    assert_allclose(model.predict(group), np.sqrt(2) * unit * best, rtol=1e-5)
    assert len(model.n_trees_) == 2


def test_each_tree_lowers_the_training_area_at_full_steps() -> None:
    X, errors, _ = made_up(300)
    r = np.abs(errors)
    settings = {**FREE, "learning_rate": 1.0}
    scores = [BandRegressor(n_estimators=n, **settings).fit(X, r).score(X, r) for n in range(1, 12)]
    assert (np.diff(scores) > 0).all()


@pytest.mark.slow
@both_backends
def test_bands_converge_to_the_known_spread(backend: Any) -> None:
    X_new, _, sigma_new = made_up(4000, seed=99)
    distance = []
    for n in (300, 3000, 30_000):
        X, errors, _ = made_up(n)
        band = BandRegressor(backend=backend, random_state=0).fit(X, np.abs(errors)).predict(X_new)
        distance.append(np.sqrt(np.mean(np.log(band / sigma_new) ** 2)))
    assert distance[2] < 0.07
    assert distance[0] > 1.7 * distance[1] > 1.7**2 * distance[2]


def test_bands_beat_a_quantile_model_on_the_headline_and_come_near_the_best() -> None:
    X, errors, _ = made_up(2000)
    X_new, errors_new, sigma_new = made_up(4000, seed=99)
    r = np.abs(errors)
    trained = BandRegressor(MISS_RATE, random_state=0).fit(X, r).predict(X_new)
    quantile = (
        GradientBoostingRegressor(loss="quantile", alpha=0.9, random_state=0)
        .fit(X, r)
        .predict(X_new)
    )
    best, ours, theirs = (
        curve(errors_new, band).gain(axes=MISS_RATE)
        for band in (np.sqrt(sigma_new), trained, np.maximum(quantile, 0.1))
    )
    assert best - 0.02 < ours < best
    assert ours > theirs + 0.05


def test_separate_sides_gain_on_skewed_errors() -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (3000, 2))
    errors = np.exp(X[:, 0]) * (rng.exponential(size=3000) - 1)
    seen, new = slice(0, 2000), slice(2000, None)
    lower, upper = (
        BandRegressor(sides="separate", random_state=0).fit(X[seen], errors[seen]).predict(X[new]).T
    )
    one = BandRegressor(random_state=0).fit(X[seen], np.abs(errors[seen])).predict(X[new])
    assert (
        curve(errors[new], lower, upper).gain(axes=DEFICIT)
        > curve(errors[new], one).gain(axes=DEFICIT) + 0.02
    )
    above, below = np.mean(np.maximum(errors, 0) ** 2), np.mean(np.minimum(errors, 0) ** 2)
    assert_allclose(np.median(upper / lower), np.sqrt(above / below), rtol=0.1)


@both_axes
def test_the_score_is_the_gain_of_the_curve(axes: Axes) -> None:
    X, errors, _ = made_up(300)
    weight = np.random.default_rng(0).uniform(0.1, 2, 300)
    one = BandRegressor(axes, n_estimators=5).fit(X, np.abs(errors))
    two = BandRegressor(axes, n_estimators=5, sides="separate").fit(X, errors)
    assert_allclose(
        one.score(X, np.abs(errors), weight),
        curve(errors, one.predict(X), weight=weight).gain(axes=axes),
        rtol=1e-10,
    )
    assert_allclose(
        two.score(X, errors), curve(errors, *two.predict(X).T).gain(axes=axes), rtol=1e-10
    )


# ---- shrinkage and early stopping


@both_backends
def test_early_stopping_keeps_few_trees_where_there_is_nothing_to_learn(backend: Any) -> None:
    X, errors, _ = made_up(1000)
    options: dict[str, Any] = {
        "backend": backend,
        "n_iter_no_change": 5,
        "l2_regularization": 0,
        "random_state": 0,
    }
    informed = BandRegressor(**options).fit(X, np.abs(errors))
    shuffled = BandRegressor(**options).fit(X[::-1], np.abs(errors))
    assert informed.n_trees_[0] > 15 > shuffled.n_trees_[0]


@both_backends
def test_early_stopping_keeps_the_smallest_area_of_the_held_out_rows(backend: Any) -> None:
    from sklearn.model_selection import train_test_split

    X, errors, _ = made_up(600)
    r = np.abs(errors)
    options: dict[str, Any] = {"backend": backend, "random_state": 0, "l2_regularization": 0}
    stopped = BandRegressor(
        n_estimators=60, n_iter_no_change=60, validation_fraction=0.3, **options
    ).fit(X, r)
    _, held_out = train_test_split(
        np.arange(600), test_size=0.3, random_state=int(np.random.RandomState(0).randint(2**31 - 1))
    )
    (kept,) = stopped.n_trees_
    assert 0 < kept < 60
    for n in (kept - 1, kept + 1, 60):
        other = BandRegressor(
            n_estimators=n, n_iter_no_change=60, validation_fraction=0.3, **options
        ).fit(X, r)
        assert other.score(X[held_out], r[held_out]) <= stopped.score(X[held_out], r[held_out])
        assert other.n_trees_[0] <= min(n, kept)


@both_backends
def test_without_a_better_tree_the_band_is_the_constant_of_all_rows(backend: Any) -> None:
    r = np.random.default_rng(0).exponential(size=80)
    model = BandRegressor(backend=backend, n_iter_no_change=3, random_state=0).fit(
        np.zeros((80, 1)), r
    )
    assert model.n_trees_ == (0,)
    assert_allclose(model.predict([[0.0], [9.0]]), np.sqrt(np.mean(r**2)), rtol=1e-12)


def test_shrinkage_brings_bands_nearer_to_the_constant() -> None:
    X, errors, _ = made_up(200)
    spread = [
        np.std(
            np.log(
                BandRegressor(l2_regularization=l2, random_state=0)
                .fit(X, np.abs(errors))
                .predict(X)
            )
        )
        for l2 in (0, 200, 1e4, 1e12)
    ]
    assert (np.diff(spread) < 0).all()
    assert spread[-1] < 1e-6


def test_shrinkage_means_the_same_in_both_backends() -> None:
    group, errors, weight = grouped()
    bands = [
        BandRegressor(
            backend=backend,
            n_estimators=1,
            learning_rate=1.0,
            l2_regularization=50,
            min_samples_leaf=1,
        )
        .fit(group, np.abs(errors), weight)
        .predict(group)
        for backend in ("sklearn", "lightgbm")
    ]
    assert np.ptp(bands[0]) > 0.1
    assert_allclose(bands[1], bands[0], rtol=1e-5)


# ---- weights, units, features


def test_a_weight_is_a_number_of_copies() -> None:
    X, errors, _ = made_up(150)
    copies = np.random.default_rng(1).integers(0, 4, 150)
    r = np.abs(errors)
    weighted = BandRegressor(n_estimators=20, **FREE).fit(X, r, copies)
    repeated = BandRegressor(n_estimators=20, **FREE).fit(
        X.repeat(copies, axis=0), r.repeat(copies)
    )
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@both_backends
def test_only_ratios_of_weights_count_and_rows_without_any_are_left_out(backend: Any) -> None:
    X, errors, _ = made_up(300)
    weight = np.random.default_rng(1).integers(0, 3, 300)
    r = np.where(weight == 0, 1e9, np.abs(errors))
    model = BandRegressor(backend=backend, n_estimators=20, random_state=0)
    some, kept = (
        clone(model).fit(X, r, weight),
        clone(model).fit(X[weight > 0], r[weight > 0], weight[weight > 0]),
    )
    assert_array_equal(some.predict(X), kept.predict(X))
    assert_allclose(clone(model).fit(X, r, 1024.0 * weight).predict(X), some.predict(X), rtol=1e-12)


@both_axes
@pytest.mark.parametrize("unit", [2.0**-500, 2.0**500])
def test_bands_are_in_units_of_y(axes: Axes, unit: float) -> None:
    X, errors, _ = made_up(200)
    for sides, y in (("symmetric", np.abs(errors)), ("separate", errors)):
        model: Any = BandRegressor(axes, sides=sides, n_estimators=10, random_state=0)  # type: ignore[arg-type]
        bands = clone(model).fit(X, y).predict(X)
        assert_allclose(clone(model).fit(X, unit * y).predict(X), unit * bands, rtol=1e-12)


@both_backends
def test_bands_stay_positive_where_all_errors_are_zero(backend: Any) -> None:
    X = np.repeat([0.0, 1.0], 40)[:, None]
    r = np.repeat([0.0, 1.0], 40)
    model = BandRegressor(backend=backend, n_estimators=900, **{**FREE, "learning_rate": 1.0}).fit(
        X, r
    )
    bands = model.predict([[0.0], [1.0]])
    assert 0 < bands[0] < 0.01
    assert_allclose(bands[1], 1.0, rtol=1e-6)


@both_backends
def test_sparse_features_give_what_dense_ones_give(backend: Any) -> None:
    X, errors, _ = made_up(300)
    X = np.where(X < 0.3, 0, X)
    model = BandRegressor(backend=backend, n_estimators=10, n_iter_no_change=5, random_state=0)
    dense = clone(model).fit(X, np.abs(errors)).predict(X)
    for kind in (sparse.csr_array, sparse.csc_array):
        assert_allclose(
            clone(model).fit(kind(X), np.abs(errors)).predict(kind(X)), dense, rtol=1e-12
        )


@both_backends
def test_a_missing_feature_may_tell_something(backend: Any) -> None:
    X, errors, _ = made_up(600)
    X[:200] = np.nan
    r = np.abs(errors) * np.where(np.isnan(X[:, 0]), 5, 1)
    model = BandRegressor(backend=backend, random_state=0).fit(X, r)
    assert model.predict(X[:200]).mean() > 3 * model.predict(X[200:]).mean()


# ---- used as people use scikit-learn


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    [BandRegressor(n_estimators=10), BandRegressor(MISS_RATE, n_estimators=10, n_iter_no_change=2)]
)
def test_scikit_learn_s_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([BandRegressor(), BandRegressor(backend="lightgbm", n_estimators=5)])  # type: ignore[untyped-decorator]  # scikit-learn is untyped
def test_scikit_learn_s_checks_pass_as_it_comes_and_by_lightgbm(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_search_inside_a_pipeline_maximises_the_gain() -> None:
    X, errors, _ = made_up(500)
    r = np.abs(errors)
    pipeline = make_pipeline(StandardScaler(), BandRegressor(random_state=0))
    grid = {"bandregressor__n_estimators": [1, 30], "bandregressor__axes": [MISS_RATE, DEFICIT]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, r)
    assert search.best_params_["bandregressor__n_estimators"] == 30
    again = cross_val_score(search.best_estimator_, X, r, cv=3).mean()
    assert_allclose(search.best_score_, again, rtol=1e-12)


def test_it_gives_an_interval_regressor_its_bands() -> None:
    X, errors, sigma = made_up(600)
    y = X @ [1.0, 2.0, -1.0] + errors
    scorer = ucc.make_interval_scorer("skill")
    model = ucc.IntervalRegressor(LinearRegression(), band=BandRegressor(), cv=3, random_state=0)
    search = GridSearchCV(model, {"band__n_estimators": [1, 50]}, scoring=scorer, cv=3).fit(X, y)
    assert search.best_params_ == {"band__n_estimators": 50}
    lower, upper = search.best_estimator_.predict_interval(X)
    assert np.corrcoef(np.log(upper - lower), np.log(sigma))[0, 1] > 0.8


@both_backends
@pytest.mark.parametrize("sides", ["symmetric", "separate"])
def test_clones_and_pickles_predict_the_same(sides: Any, backend: Any) -> None:
    X, errors, _ = made_up(200)
    y = np.abs(errors) if sides == "symmetric" else errors
    model = BandRegressor(
        sides=sides, backend=backend, n_estimators=10, n_iter_no_change=3, random_state=3
    ).fit(X, y)
    for other in (clone(model).fit(X, y), pickle.loads(pickle.dumps(model))):  # noqa: S301  # our own
        assert_array_equal(other.predict(X), model.predict(X))


def test_the_room_needs_numpy_only_until_the_regressor_is_asked_for() -> None:
    script = """
import sys
from uccurve import train
print("sklearn" in sys.modules)
train.BandRegressor
print("sklearn" in sys.modules)
"""
    output = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    assert output.split() == ["False", "True"]


def test_without_scikit_learn_the_regressor_says_what_to_install() -> None:
    script = """
import sys
sys.modules["sklearn"] = None
from uccurve import train
train.area_objective(("bandwidth", "deficit"))
train.BandRegressor
"""
    output = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    ).stderr
    assert output.strip().endswith(
        'BandRegressor needs scikit-learn: pip install "uccurve[sklearn]"'
    )


def test_without_lightgbm_its_backend_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(
        ImportError, match=r'^backend="lightgbm" needs LightGBM: pip install lightgbm$'
    ):
        BandRegressor(backend="lightgbm").fit([[0.0], [1.0]], [1.0, 2.0])


# ---- refusals

X3, GOOD = [[0.0], [1.0], [2.0]], [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (
            [0.5, -1.0, -2.0],
            (
                "`y` must hold absolute errors: 2 of 3 rows are negative, first row 1 (-1). "
                'Hint: pass np.abs(y_true - y_pred), or signed errors to BandRegressor(sides="separate").'
            ),
        ),
        (
            [0.0, 0.0, 0.0],
            "`y` must hold an error above 0: all are 0. Hint: pass errors of rows the model has not seen.",
        ),
        (
            [0.5, 1.0, np.nan],
            "`y` must be finite: 1 of 3 rows is not, first row 2 (nan). Hint: leave such rows out.",
        ),
        (
            [np.inf, 1.0, 2.0],
            "`y` must be finite: 1 of 3 rows is not, first row 0 (inf). Hint: leave such rows out.",
        ),
    ],
)
def test_errors_that_cannot_be_any_are_refused(y: Any, sentence: str) -> None:
    refused(sentence, BandRegressor().fit, X3, y)
    refused(sentence, area_objective(DEFICIT), y, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(("y", "side"), [([0.5, 1.0, 0.0], "below"), ([-0.5, 0.0, -2.0], "above")])
def test_a_side_without_any_error_is_refused(y: Any, side: str) -> None:
    refused(
        f"`y` must hold signed errors of both signs for separate sides: none lies {side} its prediction. "
        'Hint: pass y_true - y_pred, or absolute errors with sides="symmetric".',
        BandRegressor(sides="separate").fit,
        X3,
        y,
    )


@pytest.mark.parametrize(
    ("axes", "meant"),
    [
        (("excess", "deficit"), DEFICIT),
        (("deficit", "bandwidth"), DEFICIT),
        (("excess", "miss_rate"), MISS_RATE),
        (("bandwidth", "excess"), DEFICIT),
    ],
)
def test_axes_without_an_objective_are_refused(axes: Any, meant: Axes) -> None:
    sentence = (
        f"`axes` must be {MISS_RATE} or {DEFICIT} to train for; got {axes}. Did you mean {meant}?"
    )
    refused(sentence, area_objective, axes)
    refused(sentence, BandRegressor(axes).fit, X3, GOOD)
    refused(sentence, area_loss, 1.0, 0.0, 1.0, axes=axes)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n_estimators", 0, "an int in the range [1, inf)"),
        ("n_estimators", 2.5, "an int in the range [1, inf)"),
        ("max_leaf_nodes", 1, "an int in the range [2, inf)"),
        ("min_samples_leaf", 0, "an int in the range [1, inf)"),
        ("n_iter_no_change", 0, "an int in the range [1, inf) or None"),
        ("learning_rate", 0, "a float in the range (0.0, 1.0]"),
        ("learning_rate", 1.5, "a float in the range (0.0, 1.0]"),
        ("l2_regularization", -1, "a float in the range [0.0, inf)"),
        ("validation_fraction", -0.2, "a float in the range (0.0, inf)"),
    ],
)
def test_settings_out_of_range_are_refused(name: str, value: Any, rule: str) -> None:
    sentence = f"The '{name}' parameter of BandRegressor must be {rule}. Got {value} instead."
    refused(sentence, BandRegressor(**{name: value}).fit, X3, GOOD)


@pytest.mark.parametrize(("name", "value"), [("sides", "seperate"), ("backend", "lightgm")])
def test_misspelt_choices_are_refused(name: str, value: str) -> None:
    with pytest.raises(
        ValueError, match=f"The '{name}' parameter .*'(separate|lightgbm)'.* Got '{value}' instead"
    ):
        BandRegressor(**{name: value}).fit(X3, GOOD)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([0, 0, 0], "Sample weights must contain at least one non-zero number."),
        ([1, 2], "sample_weight.shape == (2,), expected (3,)!"),
        ([1, -1, 1], "Negative values in data passed to `sample_weight`."),
    ],
)
def test_weights_that_cannot_be_any_are_refused(weight: Any, sentence: str) -> None:
    refused(sentence, BandRegressor().fit, X3, GOOD, weight)
