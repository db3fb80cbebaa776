"""Scorers of intervals rank models as their functions do, and weights reach those that ask for them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from adapted import diabetes
from test_estimators import boosted, light
from uccurve.adapters import from_estimator

pytest.importorskip("sklearn")
from sklearn import config_context
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.model_selection import (
    KFold,
    cross_validate,
)
from sklearn.utils.metadata_routing import get_routing_for_object

from uccurve.calibrate.estimators import IntervalRegressor

X, X_new, y, y_new = diabetes()


# ---- weights and routing


class Weighed(LinearRegression):  # type: ignore[misc]  # scikit-learn is untyped
    """Remembers the weights that it and its clones were fitted with."""

    given: ClassVar[list[Any]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Weighed:
        self.weights_ = sample_weight
        self.given.append(sample_weight)
        super().fit(X, y, sample_weight=sample_weight)
        return self


def test_weights_follow_their_rows_to_every_regressor() -> None:
    weight = y / y.mean()
    Weighed.given.clear()
    folds = list(KFold(3).split(X))
    IntervalRegressor(Weighed(), band=Weighed(), cv=folds).fit(X, y, sample_weight=weight)
    expected = [
        *(weight[seen] for seen, _ in folds),
        *(weight[seen] for seen, _ in folds),
        weight,
        weight,
    ]
    assert len(Weighed.given) == len(expected)
    for given, wanted in zip(Weighed.given, expected, strict=True):
        assert_array_equal(given, wanted)
    with pytest.raises(TypeError, match="sample_weight"):
        IntervalRegressor(GaussianProcessRegressor(), band="own").fit(X, y, sample_weight=weight)


@pytest.fixture
def routing() -> Iterator[None]:
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_routing_brings_weights_to_those_that_ask() -> None:
    weight = y / y.mean()
    model = IntervalRegressor(
        Weighed().set_fit_request(sample_weight=True),
        band=Weighed().set_fit_request(sample_weight=False),
        random_state=0,
    )
    model.fit(X, y, sample_weight=weight)
    assert_array_equal(model.estimator_.weights_, weight)
    assert model.band_.weights_ is None
    with pytest.raises(ValueError, match="sample_weight"):
        IntervalRegressor(Weighed(), band=Weighed()).fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("routing")
def test_scorers_get_weights_when_they_ask() -> None:
    weight = y / y.mean()
    scorer = ucc.make_interval_scorer("miss_rate").set_score_request(sample_weight=True)
    assert get_routing_for_object(scorer).score.requests == {"sample_weight": True}
    base = IntervalRegressor(
        Ridge().set_fit_request(sample_weight=False),
        band=boosted().set_fit_request(sample_weight=False),
        cv=3,
        random_state=0,
    )
    found = cross_validate(
        base,
        X,
        y,
        scoring={"m": scorer},
        cv=3,
        params={"sample_weight": weight},
        return_estimator=True,
    )
    for (_, out), model, score in zip(
        KFold(3).split(X), found["estimator"], found["test_m"], strict=True
    ):
        lower, upper = model.predict_interval(X[out])
        assert_allclose(
            score, -ucc.miss_rate_score(y[out], lower, upper, sample_weight=weight[out]), rtol=1e-12
        )


# ---- scorers


@pytest.mark.parametrize(
    ("score", "options"),
    [
        ("auucc_gain", {"axes": ("excess", "deficit"), "miss_rate": (0, 0.5)}),
        ("auucc", {"vary": "shift", "unit": "std"}),
        ("bandwidth", {}),
        ("miss_rate", {}),
        ("excess", {}),
        ("deficit", {}),
    ],
)
def test_named_scores_are_the_score_functions_with_the_sign_of_more_is_better(
    score: Any, options: dict[str, Any]
) -> None:
    model = light().fit(X, y)
    bounds = model.predict_interval(X_new)
    weight = y_new / y_new.mean()
    arguments = (y_new, *bounds) if score == "miss_rate" else (y_new, model.predict(X_new), *bounds)
    expected = getattr(ucc, f"{score}_score")(*arguments, sample_weight=weight, **options)
    sign = 1 if score == "auucc_gain" else -1
    scorer = ucc.make_interval_scorer(score, **options)
    assert_allclose(scorer(model, X_new, y_new, sample_weight=weight), sign * expected, rtol=1e-12)


def test_costs_and_interval_scores_are_less_is_better() -> None:
    model = light().fit(X, y)
    curve = ucc.UCC(from_estimator(model, X_new, y_new))
    axes = ("excess", "deficit")
    assert ucc.make_interval_scorer("cost", c=0.1, axes=axes)(model, X_new, y_new) == -curve.cost(
        0.1, axes=("excess", "deficit")
    )
    expected = -ucc.interval_score(y_new, *model.predict_interval(X_new), coverage=0.9)
    assert_allclose(
        ucc.make_interval_scorer("interval_score", coverage=0.9)(model, X_new, y_new),
        expected,
        rtol=1e-12,
    )


def test_a_standard_deviation_is_scored_as_an_interval_of_the_level() -> None:
    model = BayesianRidge().fit(X, y)
    for level in (None, 0.95):
        scorer = ucc.make_interval_scorer("interval_score", coverage=0.95, level=level)
        by_hand = ucc.UCC(from_estimator(model, X_new, y_new, level=level or 0.9)).interval_score(
            coverage=0.95
        )
        assert scorer(model, X_new, y_new) == -by_hand


def widest(estimator: Any, X: Any, y_true: Any) -> float:
    intervals = from_estimator(estimator, X, y_true)
    return -float(np.max(intervals.upper - intervals.lower))


def test_a_score_of_one_s_own_is_a_function_of_the_estimator() -> None:
    found = cross_validate(light(), X, y, scoring=widest, cv=3, return_estimator=True)
    for (_, out), model, score in zip(
        KFold(3).split(X), found["estimator"], found["test_score"], strict=True
    ):
        lower, upper = model.predict_interval(X[out])
        assert_allclose(score, -np.max(upper - lower), rtol=1e-12)


def test_scorers_pickle_and_say_what_they_are() -> None:
    model, scorer = light().fit(X, y), ucc.make_interval_scorer("auucc", vary="shift")
    assert repr(scorer) == "make_interval_scorer('auucc', vary='shift')"
    assert pickle.loads(pickle.dumps(scorer))(model, X_new, y_new) == scorer(model, X_new, y_new)  # noqa: S301  # our own


def test_scorers_are_refused_when_they_are_made_not_in_the_middle_of_a_search() -> None:
    with pytest.raises(
        ValueError,
        match=r"`score` must be one of auucc_gain, .*got 'auuc'\. Did you mean 'auucc'\?",
    ):
        ucc.make_interval_scorer("auuc")
    with pytest.raises(ValueError, match=r"got 'exces'\. Did you mean 'excess'\?"):
        ucc.make_interval_scorer("auucc", axes=("exces", "deficit"))
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'coverage'"):
        ucc.make_interval_scorer("interval_score")
    with pytest.raises(
        ValueError,
        match=r"`coverage` must lie between 0 and 1, both excluded; got 90\. Hint: 90% is",
    ):
        ucc.make_interval_scorer("interval_score", coverage=90)
    with pytest.raises(TypeError, match="Ridge has neither"):
        ucc.make_interval_scorer("auucc")(Ridge().fit(X, y), X_new, y_new)
