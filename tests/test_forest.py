"""QuantileForest is a scikit-learn estimator like any other, and its quantiles are those of the rows in its leaves."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from refusal import refused
from uccurve.train import QuantileForest

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(600, 2))
Y = X[:, 0] * RNG.normal(size=600) + X[:, 1]

# scikit-learn's own forest fails these two as well: a resample of rows is not a resample of weights.
WEIGHTED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    [QuantileForest(n_estimators=5)],
    expected_failed_checks=lambda _: dict.fromkeys(WEIGHTED, "as of RandomForestRegressor"),
)
def test_scikit_learn_takes_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_point_prediction_is_the_random_forest_s() -> None:
    model = QuantileForest(n_estimators=20, random_state=0).fit(X, Y)
    plain = RandomForestRegressor(20, min_samples_leaf=5, max_features=0.5, random_state=0).fit(
        X, Y
    )
    assert_array_equal(model.predict(X), plain.predict(X))


def test_each_leaf_keeps_one_of_its_own_rows() -> None:
    model = QuantileForest(n_estimators=10, random_state=0).fit(X, Y)
    leaves = model.apply(X)
    for tree in range(10):
        for leaf in np.unique(leaves[:, tree]):
            assert model.kept_[leaf, tree] in Y[leaves[:, tree] == leaf]


def test_bounds_are_the_quantiles_of_the_kept_rows() -> None:
    model = QuantileForest(coverage=0.8, n_estimators=30, random_state=0).fit(X, Y)
    new = X[:3]
    lower, upper = model.predict_interval(new)
    for row, leaves in enumerate(model.apply(new)):
        values = [model.kept_[leaf, tree] for tree, leaf in enumerate(leaves)]
        assert_allclose([lower[row], upper[row]], np.quantile(values, [0.1, 0.9]))


def test_bounds_agree_with_another_library_s() -> None:
    other = pytest.importorskip("quantile_forest")
    size: dict[str, Any] = {"n_estimators": 300, "min_samples_leaf": 5, "max_features": 0.5}
    model = QuantileForest(coverage=0.8, random_state=0, **size).fit(X, Y)
    peer = other.RandomForestQuantileRegressor(random_state=0, **size).fit(X, Y)
    expected = peer.predict(X, quantiles=[0.1, 0.9]).T
    width = np.diff(expected, axis=0).mean()
    # both keep one row per leaf, each with its own dice: 300 values fix a 10% quantile to a tenth of the width
    differences = np.abs(np.array(model.predict_interval(X)) - expected)
    assert differences.mean() < 0.06 * width
    assert abs((np.array(model.predict_interval(X)) - expected).mean()) < 0.01 * width


def test_a_row_without_weight_is_never_kept() -> None:
    weight = (np.arange(600) % 2).astype(float)
    model = QuantileForest(n_estimators=20, min_samples_leaf=1, random_state=0)
    model.fit(X, Y, sample_weight=weight)
    leaves = model.apply(X)
    weighted = np.zeros_like(model.kept_, dtype=bool)
    for tree in range(20):
        weighted[leaves[weight > 0, tree], tree] = True
    assert np.isin(model.kept_[weighted], Y[weight > 0]).all()


def test_a_row_is_kept_as_often_as_its_weight_says() -> None:
    y = np.repeat([0.0, 1.0], 300)
    weight = np.where(y == 1, 3.0, 1.0)
    constant = np.zeros((600, 1))  # one leaf
    model = QuantileForest(n_estimators=2000, random_state=0).fit(constant, y, weight)
    assert_allclose(model.kept_[0].mean(), 0.75, atol=0.03)  # three standard errors of 2000 trees


def test_the_same_seed_gives_the_same_intervals_and_a_pickle_too() -> None:
    model = QuantileForest(n_estimators=10, random_state=3).fit(X, Y)
    again = clone(model).fit(X, Y)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own
    assert_array_equal(model.predict_interval(X), again.predict_interval(X))
    assert_array_equal(copied.predict_interval(X), again.predict_interval(X))


def test_many_rows_are_predicted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = QuantileForest(n_estimators=10, random_state=0).fit(X, Y)
    whole = model.predict_interval(X)
    monkeypatch.setattr("uccurve.train._forest.AT_ONCE", 64)
    assert_array_equal(model.predict_interval(X), whole)


def test_a_coverage_that_is_none_is_refused() -> None:
    sentence = "`coverage` must lie between 0 and 1, both excluded; got 1.5. Hint: 90% is 0.9."
    refused(sentence, QuantileForest(coverage=1.5).fit, X, Y)
