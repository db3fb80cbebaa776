"""Pockets are found without being told where, named in words, tested on rows that had no part in the search."""

from __future__ import annotations

import html
import json
import re
import sys
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from uccurve import pockets as room
from uccurve.report._sections import pockets as page_part

Flags = npt.NDArray[np.bool_]
ROWS = 3000


class World:
    """Rows with two features that matter, or could."""

    def __init__(self, seed: int = 0, rows: int = ROWS) -> None:
        self.rng = np.random.default_rng(seed)
        self.rows = rows
        self.temp = self.rng.uniform(10, 40, rows).round(1)
        self.weekend = self.rng.uniform(size=rows) < 0.3
        self.features: dict[str, Any] = {
            "temp": self.temp,
            "weekend": self.weekend,
            "noise": self.rng.uniform(size=rows),
        }

    @property
    def hot_weekend(self) -> Flags:
        inside: Flags = (self.temp > 30) & self.weekend
        return inside

    def intervals(self, sd: Any = 1.0, bands: Any = 1.0, **options: Any) -> ucc.Intervals:
        y = self.rng.normal(size=self.rows) * sd
        band = np.broadcast_to(bands, self.rows)
        return ucc.Intervals.from_bands(y, np.zeros(self.rows), band, **options)


@pytest.fixture(scope="module")
def hot() -> ucc.Pockets:
    world = World()
    sd = np.where(world.hot_weekend, 2.5, 1.0)
    return ucc.find_pockets(world.intervals(sd), world.features, coverage=0.9)


# ---- the whole


def test_misses_that_features_predict_are_said_with_their_range_by_region(hot: ucc.Pockets) -> None:
    model = hot.models[0]
    assert model.predictable
    assert model.pvalue < 1e-6
    assert model.lowest_risk < 0.08
    assert model.highest_risk > 0.4
    words = r"^Misses can be predicted from the features \(adjusted p < 0.001\): between \d+% and \d+% by region\.$"
    assert re.search(words, model.sentences[0])


def test_where_nothing_predicts_a_miss_the_answer_says_what_would_have_been_found() -> None:
    world = World(1)
    found = ucc.find_pockets(world.intervals(), world.features)
    model = found.models[0]
    assert (len(found), model.pockets, model.wide, model.predictable) == (0, (), (), False)
    assert model.power is not None
    assert model.power.share == 0.05
    assert model.power.coverage < 0.8
    sentence = (
        r"Nothing in the features predicts a miss \(adjusted p = 0\.\d+\); a pocket of 5% of the rows that covers "
        r"less than \d\d% would have been found with 80% probability\."
    )
    assert re.fullmatch(sentence, model.sentences[0])


def test_a_correctly_scaled_model_has_no_pocket_where_a_constant_band_has() -> None:
    world = World(2)
    sd = np.where(world.hot_weekend, 2.5, 1.0)
    y = world.rng.normal(size=ROWS) * sd
    zeros = np.zeros(ROWS)
    models = {
        "scaled": ucc.Intervals.from_bands(y, zeros, sd),
        "constant": ucc.Intervals.from_bands(y, zeros, np.ones(ROWS)),
    }
    found = ucc.find_pockets(models, world.features)
    assert not found["scaled"].pockets
    assert found["constant"].pockets
    assert {pocket.model for pocket in found} == {"constant"}
    assert "scaled: Nothing in the features predicts a miss" in found.text


def test_pvalues_of_the_whole_are_adjusted_over_models() -> None:
    world = World(3)
    iv = world.intervals(np.where(world.temp > 34, 1.3, 1.0))
    alone = ucc.find_pockets(iv, world.features).models[0].pvalue
    names = [f"m{number}" for number in range(8)]
    together = ucc.find_pockets(dict.fromkeys(names, iv), world.features)
    assert_allclose([model.pvalue for model in together.models], min(8 * alone, 1.0))


def test_rows_that_are_covered_far_too_often_are_found_too() -> None:
    world = World(4)
    found = ucc.find_pockets(world.intervals(np.where(world.temp > 30, 0.3, 1.0)), world.features)
    (wide, *_) = found.models[0].wide
    assert wide.region.conditions[0].feature == "temp"
    assert wide.kind == "too wide"
    assert wide.coverage.value > 0.99
    assert 0.9 < wide.bound < wide.coverage.value
    assert float(wide.move.estimate) < float(found.models[0].shipped.estimate)
    sentence = next(line for line in found.models[0].sentences if line.startswith(wide.title))
    assert "more than the promised 90%" in sentence


def test_the_test_of_the_whole_keeps_blocks_whole() -> None:
    world = World(5, 2000)
    day = np.arange(2000) // 20
    effect = world.rng.normal(size=100)[day]
    iv = ucc.Intervals.from_bands(1.5 * effect, np.zeros(2000), np.ones(2000))
    features = {"day's own": world.rng.uniform(size=100)[day]}
    rowwise = ucc.find_pockets(iv, features).models[0].pvalue
    blocked = ucc.find_pockets(iv, features, block=day).models[0].pvalue
    assert rowwise < 1e-6  # each day is on both sides of the split: it is recognised
    assert isnan(blocked) or blocked > 0.01


def test_a_seed_decides_alone_what_is_found() -> None:
    world = World(6)
    iv = world.intervals(np.where(world.hot_weekend, 2.0, 1.0))
    first, second = (ucc.find_pockets(iv, world.features, seed=9) for _ in range(2))
    assert first.text == second.text


# ---- regions


def test_a_pocket_of_two_features_is_named_with_its_numbers(hot: ucc.Pockets) -> None:
    (pocket,) = hot
    assert {condition.feature for condition in pocket.region.conditions} == {"temp", "weekend"}
    assert re.fullmatch(
        r"(weekend and temp > [23]\d\.?\d?|temp > [23]\d\.?\d? and weekend)", pocket.title
    )
    assert pocket.coverage.low < pocket.coverage.value < pocket.coverage.high < pocket.bound < 0.9
    assert pocket.target == 0.9
    assert pocket.pvalue < 0.001
    assert 0 < pocket.tested < pocket.n
    assert pocket.halves == 2
    line = next(line for line in hot.models[0].sentences if line.startswith(pocket.title))
    words = (
        rf"{re.escape(pocket.title)}: {pocket.n} rows, covers \d\d\.\d% \[.+\] of 90% as shipped, at most \d\d\.\d% "
        r"\(adjusted p < 0\.001\); bands there need × \d\.\d\d instead of × \d\.\d\d; both halves of the data show it\."
    )
    assert re.fullmatch(words, line)


def test_two_features_that_say_nothing_alone_are_found_together() -> None:
    world = World(7, 4000)
    first, second = (world.rng.uniform(size=4000) > 0.5 for _ in range(2))
    sd = np.where(first ^ second, 1.6, 0.6)
    found = ucc.find_pockets(world.intervals(sd), world.features | {"a": first, "b": second})
    assert {pocket.title for pocket in found} == {"a and not b", "not a and b"}


def test_numbers_of_a_pocket_come_from_the_half_it_was_not_found_on() -> None:
    world = World(8)
    data = room.regions.Surroundings(
        room.features.read_features(world.features),
        np.arange(ROWS),
        ROWS,
        room.regions.Asked(ucc._refusals.miss_rate_of(0.9)),
    )
    model = room.shipped_rows(
        "m", ucc.UCC(world.intervals(np.where(world.hot_weekend, 2.5, 1.0))), data.asked
    )
    search = room.regions.tested_regions(model, data, room.regions.halves(model, data))
    assert search.found
    for candidate in search.found:
        assert not np.intersect1d(candidate.rows, candidate.half.grown).size
        assert np.isin(candidate.rows, candidate.half.tested).all()
    first, second = search.halves
    assert np.array_equal(first.grown, second.tested)
    assert np.array_equal(np.sort(np.r_[first.grown, second.grown]), np.arange(ROWS))


def test_regions_are_at_most_eight_of_at_least_a_twentieth_of_the_rows() -> None:
    world = World(9)
    features = {f"x{number}": world.rng.uniform(size=ROWS) for number in range(6)}
    sd = np.exp(
        sum(3 * (value > 0.5) * number / 5 for number, value in enumerate(features.values()))
    )
    data = room.regions.Surroundings(
        room.features.read_features(features),
        np.arange(ROWS),
        ROWS,
        room.regions.Asked(ucc._refusals.miss_rate_of(0.9)),
    )
    model = room.shipped_rows("m", ucc.UCC(world.intervals(sd)), data.asked)
    for half in room.regions.halves(model, data):
        assert 2 < len(half.nodes) <= 8
        assert min(len(node.rows) for node in half.nodes) >= 0.05 * len(half.grown)


def test_the_simultaneous_bound_holds_for_all_regions_at_once(hot: ucc.Pockets) -> None:
    (pocket,) = hot
    alone = ucc._distributions.clopper_pearson(
        pocket.coverage.value * pocket.tested, pocket.tested, 0.9
    )[1]
    assert pocket.coverage.value < alone < pocket.bound


# ---- what to do


def test_factors_by_pocket_are_checked_in_and_outside_on_the_other_half() -> None:
    world = World(31, 6000)
    iv = world.intervals(np.where(world.hot_weekend, 2.0, 1.0))
    model = ucc.find_pockets(iv, world.features).models[0]
    pocket = model.pockets[0]
    assert float(pocket.move.estimate) > 1.4 * float(model.shipped.estimate)
    assert pocket.coverage.value < 0.75
    assert abs(pocket.after.value - 0.9) < 0.05
    words = (
        "A factor for each pocket, learnt on one half of the data and checked on the other, changes the coverage: "
        rf"{re.escape(pocket.title)} from \d\d% to \d\d%; "
    )
    assert re.match(words, model.sentences[-1])


def test_what_lies_outside_all_pockets_gets_a_factor_of_its_own() -> None:
    world = World(32, 6000)
    sd = np.where(world.hot_weekend, 2.5, 1.0 + 0.1 * (world.temp > 20))
    model = ucc.find_pockets(world.intervals(sd), world.features).models[0]
    inside = np.array(model.labels(world.features)) != "elsewhere"
    assert 0 < inside.mean() < 1
    assert abs(model.elsewhere_after.value - 0.9) < 0.02
    assert model.sentences[-1].endswith("%.")
    assert "; elsewhere from " in model.sentences[-1]


def test_calibration_by_pocket_keeps_the_promise_in_each_on_new_rows(hot: ucc.Pockets) -> None:
    model = hot.models[0]
    old, new = World(10, 6000), World(11, 20_000)
    learnt = old.intervals(np.where(old.hot_weekend, 2.5, 1.0))
    calibrator = ucc.IntervalCalibrator(coverage=0.9).fit(learnt, groups=model.labels(old.features))
    labels = np.array(model.labels(new.features))
    fresh = new.intervals(np.where(new.hot_weekend, 2.5, 1.0))
    calibrated = calibrator.apply(fresh, groups=labels)
    covered = (calibrated.lower <= fresh.y_true) & (fresh.y_true <= calibrated.upper)
    assert len(set(labels.tolist())) >= 2
    for label in set(labels.tolist()):
        assert abs(covered[labels == label].mean() - 0.9) < 0.02


def test_labels_of_new_rows_need_the_features_by_name(hot: ucc.Pockets) -> None:
    with pytest.raises(
        ValueError, match=r"^`features` must have '(temp|weekend)', which a region is made of"
    ):
        hot.models[0].labels({"other": [1.0]})
    with pytest.raises(
        ValueError, match=r"must hold what it held when the regions were found: a number; it holds"
    ):
        hot.models[0].labels({"temp": ["warm"], "weekend": [True]})


# ---- power


@pytest.mark.parametrize("rows", [1000, 8000])
def test_more_rows_let_smaller_failures_be_found(rows: int) -> None:
    few = room.regions.smallest_found(effective=rows, alpha=0.1, confidence_level=0.95)
    more = room.regions.smallest_found(effective=4 * rows, alpha=0.1, confidence_level=0.95)
    assert few is not None
    assert more is not None
    assert few.coverage < more.coverage < 0.9


def test_where_no_pocket_could_be_found_that_is_said() -> None:
    world = World(12, 120)
    found = ucc.find_pockets(world.intervals(), world.features, coverage=0.99)
    text = found.text
    assert "too few rows" in text or "Pockets were not tested" in text


# ---- features


def test_missing_values_can_be_where_it_fails() -> None:
    world = World(13)
    gone = world.rng.uniform(size=ROWS) < 0.2
    features = {"sensor": np.where(gone, np.nan, world.temp), "weekend": world.weekend}
    (pocket,) = ucc.find_pockets(world.intervals(np.where(gone, 2.5, 1.0)), features)
    assert pocket.title == "sensor is missing"


def test_categories_are_named_in_words_and_dates_as_dates() -> None:
    world = World(14)
    city = world.rng.choice(["Bonn", "Lima", "Oslo", "Rome"], ROWS)
    day = np.datetime64("2024-01-01") + world.rng.integers(0, 300, ROWS)
    by_city = world.intervals(np.where(np.isin(city, ["Oslo", "Lima"]), 2.5, 1.0))
    titles = [pocket.title for pocket in ucc.find_pockets(by_city, {"city": city, "day": day})]
    assert titles[0] in ("city in (Lima, Oslo)", "city not in (Bonn, Rome)")
    by_day = world.intervals(np.where(day >= np.datetime64("2024-09-01"), 2.5, 1.0))
    (pocket, *_) = ucc.find_pockets(by_day, {"city": city, "day": day})
    assert re.fullmatch(r"day > 2024-(08|09)-\d\d", pocket.title)


def test_many_categories_are_grouped_by_what_the_growing_half_knows() -> None:
    world = World(15, 6000)
    site = np.array([f"site {number:03}" for number in world.rng.integers(0, 30, 6000)])
    bad = site < "site 006"
    found = ucc.find_pockets(world.intervals(np.where(bad, 2.5, 1.0)), {"site": site})
    (pocket, *_) = found
    inside = pocket.region.holds(room.features.read_features({"site": site}))
    assert_allclose(bad[inside].mean(), 1.0, atol=0.15)
    noise = ucc.find_pockets(world.intervals(), {"site": site})
    assert not len(noise)


def test_constants_and_ids_are_left_out_with_a_note() -> None:
    world = World(16)
    features = world.features | {
        "id": [f"row {number}" for number in range(ROWS)],
        "version": ["1.0"] * ROWS,
        "empty": [None] * ROWS,
    }
    found = ucc.find_pockets(world.intervals(), features)
    assert found.features == ("temp", "weekend", "noise")
    assert found.notes == (
        "feature id was left out: it names rows, with 3,000 distinct labels in 3,000 rows",
        "feature version was left out: it has one value in all rows",
        "feature empty was left out: it has one value in all rows",
    )


def test_two_hundred_columns_do_not_hide_the_one_that_matters() -> None:
    world = World(17)
    features = {f"c{number}": world.rng.uniform(size=ROWS) for number in range(199)}
    iv = world.intervals(np.where(world.temp > 30, 2.5, 1.0))
    (pocket, *_) = ucc.find_pockets(iv, features | {"temp": world.temp})
    assert [condition.feature for condition in pocket.region.conditions] == ["temp"]


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e300])
def test_features_of_any_size_are_cut_alike(factor: float) -> None:
    world = World(18)
    iv = world.intervals(np.where(world.temp > 30, 2.5, 1.0))
    (pocket, *_) = ucc.find_pockets(iv, {"temp": world.temp * factor, "weekend": world.weekend})
    (condition,) = pocket.region.conditions
    assert condition.above is not None
    assert_allclose(condition.above / factor, 30, rtol=0.05)


def test_infinite_values_are_beyond_the_last_cut() -> None:
    world = World(19)
    temp = np.where(world.temp > 38, np.inf, np.where(world.temp < 12, -np.inf, world.temp))
    iv = world.intervals(np.where(world.temp > 35, 2.5, 1.0))
    found = ucc.find_pockets(iv, {"temp": temp, "weekend": world.weekend})
    (pocket, *_) = found
    assert pocket.region.holds(room.features.read_features({"temp": [np.inf]})).all()


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        (
            {"a": np.ones(5)},
            ValueError,
            r"`features\['a'\]` must hold one value per row: 5 values for 3000 rows",
        ),
        (
            {"a": np.ones((ROWS, 2))},
            ValueError,
            r"`features\['a'\]` must hold one value per row; it has 2 dim",
        ),
        (
            np.ones((ROWS, 2)),
            TypeError,
            r"`features` must be a data frame or a mapping of arrays; got ndarray",
        ),
        ({}, ValueError, "`features` must have at least one column; it has none"),
    ],
)
def test_features_of_another_shape_are_refused(features: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        ucc.find_pockets(World().intervals(), features)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"block": np.arange(ROWS) % 5}, "it takes at least 20 blocks, and there are 5"),
        ({"features": {"id": np.arange(ROWS).astype(str)}}, "no feature is left in which a region"),
    ],
)
def test_what_cannot_be_tested_is_called_not_tested(options: dict[str, Any], reason: str) -> None:
    world = World(20)
    found = ucc.find_pockets(world.intervals(), **{"features": world.features} | options)
    assert isnan(found.models[0].pvalue)
    assert found.text.startswith(f"Pockets were not tested: {reason}")
    assert found.models[0].headline == ""


def test_few_rows_and_zero_bands_are_not_tested_either() -> None:
    few = World(21, 50)
    assert "at least 100 rows" in ucc.find_pockets(few.intervals(), few.features).text
    zero = World(22)
    bands = np.where(zero.rng.uniform(size=ROWS) < 0.2, 0.0, 1.0)
    text = ucc.find_pockets(zero.intervals(bands=bands), zero.features).text
    assert "no finite factor brings the intervals to the coverage" in text


# ---- paths, weights, samples


def test_shifts_are_named_in_units_of_y() -> None:
    world = World(23)
    iv = world.intervals(np.where(world.hot_weekend, 4.0, 1.0))
    (pocket, *_) = ucc.find_pockets(ucc.UCC(iv, vary="shift"), world.features)
    assert pocket.move.kind == "shift"
    line = next(
        line
        for line in ucc.find_pockets(ucc.UCC(iv, vary="shift"), world.features).models[0].sentences
        if line.startswith(pocket.title)
    )
    assert re.search(r"bands there need \+ ?\d", line)


def test_rows_of_weight_zero_and_weights_of_two_count_as_they_should() -> None:
    world = World(24)
    sd = np.where(world.hot_weekend, 2.5, 1.0)
    weight = np.where(world.rng.uniform(size=ROWS) < 0.5, 0.0, 2.0)
    iv = world.intervals(sd, weight=weight)
    (pocket, *_) = ucc.find_pockets(iv, world.features)
    kept = {name: column[weight > 0] for name, column in world.features.items()}
    plain = ucc.find_pockets(iv[weight > 0], kept)
    assert pocket.title == next(iter(plain)).title
    assert pocket.n == next(iter(plain)).n


def test_rows_that_were_dropped_are_dropped_from_the_features() -> None:
    world = World(25)
    iv = world.intervals(np.where(world.hot_weekend, 2.5, 1.0))
    y = iv.y_true.copy()
    y[::7] = np.nan
    with pytest.warns(ucc.DroppedRowsWarning):
        short = ucc.Intervals.from_bounds(y, iv.y_pred, iv.lower, iv.upper, missing="drop")
    all_rows = ucc.find_pockets(short, world.features)
    kept = {name: column[short.kept] for name, column in world.features.items()}
    assert all_rows.text == ucc.find_pockets(short, kept).text
    assert all_rows.rows == len(short)


def test_more_rows_than_fit_are_sampled_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_ROWS", 2000)
    world = World(26)
    day = np.arange(ROWS) // 10
    found = ucc.find_pockets(
        world.intervals(np.where(world.temp > 30, 2.5, 1.0)), world.features, block=day
    )
    assert found.rows == 2000
    assert found.notes == ("pockets were sought in a random sample of 2,000 of 3,000 rows",)
    assert len(found)


# ---- what peers call it


def test_the_excess_risk_is_the_one_of_peers() -> None:
    """Of MAPIE 1.6.0's docstring of `excess_risk_target_coverage`, which needs torch: -0.16666666666666666."""
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import KFold

    x = np.arange(12.0)[:, None]
    covered = np.arange(12) % 2 == 0
    risks = []
    for learnt, tested in KFold(2, shuffle=True, random_state=42).split(x):
        prior = DummyClassifier(strategy="prior").fit(x[learnt], covered[learnt])
        predicted = prior.predict_proba(x[tested])[:, 1]
        risks.append(room.excess_risk(covered[tested], predicted, 0.5))
    assert_allclose(np.mean(risks), -1 / 6)


def test_the_excess_risk_of_a_pocket_is_its_distance_from_the_promise(hot: ucc.Pockets) -> None:
    model = hot.models[0]
    assert 0.03 < model.excess_risk < 0.12
    assert 0.05 < model.explained < 0.4


# ---- in an assessment


@pytest.fixture(scope="module")
def assessed() -> ucc.Assessment:
    world = World(27)
    iv = world.intervals(np.where(world.hot_weekend, 2.5, 1.0))
    return ucc.assess({"net": iv}, coverage=0.9, features=world.features)


def test_an_assessment_says_one_sentence_about_pockets_as_shipped(assessed: ucc.Assessment) -> None:
    (pocket,) = assessed.pockets
    assert assessed.verdict.text.count("Fails where") == 1
    assert f"Fails where {pocket.title}: covers" in assessed.verdict.text
    shipped = assessed.pockets["net"].shipped
    assert float(shipped.estimate) == float(assessed.verdict.scale)


def test_pockets_are_in_the_data_of_an_assessment(assessed: ucc.Assessment) -> None:
    data = assessed.to_dict()["pockets"]
    (pocket,) = data["models"][0]["pockets"]
    assert pocket["title"] == next(iter(assessed.pockets)).title
    assert pocket["region"]["conditions"]
    assert data["features"] == ["temp", "weekend", "noise"]
    assert ucc.assess(World(28).intervals(), coverage=0.9).to_dict()["pockets"] is None


def test_the_terminal_lists_pockets_and_what_was_not_found(assessed: ucc.Assessment) -> None:
    (pocket,) = assessed.pockets
    assert pocket.title in str(assessed)
    world = World(29)
    nothing = ucc.assess(world.intervals(), coverage=0.9, features=world.features)
    assert "Nothing in the features predicts a miss" in str(nothing)


def test_pockets_are_drawn_on_a_map_of_two_features(assessed: ucc.Assessment) -> None:
    pytest.importorskip("matplotlib")
    figure = assessed.plot("pockets")
    axes = figure.axes[0]
    name, *pockets = axes.get_xlabel().split("\n")
    assert {name, axes.get_ylabel()} == {"temp", "weekend"}
    assert f"too narrow: {next(iter(assessed.pockets)).title}" in pockets
    assert axes.get_title(loc="left") == "net: coverage as shipped, 90% promised"
    with pytest.raises(
        ValueError, match=r"there are no pockets to draw. Hint: assess\(..., features=...\)"
    ):
        ucc.assess(World(28).intervals(), coverage=0.9).plot("pockets")


def test_cells_of_the_map_that_lie_in_a_pocket_are_known(assessed: ucc.Assessment) -> None:
    grid = assessed.pockets["net"].map
    assert grid is not None
    (pocket,) = assessed.pockets
    inside = grid.inside(pocket.region)
    covered = np.array(grid.coverage)
    assert 0 < inside.sum() < inside.size / 2
    assert np.nanmean(covered[inside]) < 0.75 < np.nanmean(covered[~inside])


def test_the_page_shows_pockets_and_a_page_without_features_none(
    assessed: ucc.Assessment,
) -> None:
    (pocket,) = assessed.pockets
    page = assessed.to_html()
    assert '<section id="pockets"' in page
    assert html.escape(pocket.title) in page
    assert "Coverage as shipped of net by" in page
    assert page.count('class="below fails"') >= 4
    assert 'id="pockets"' not in ucc.assess(World(28).intervals(), coverage=0.9).to_html()


def test_models_of_an_assessment_ship_with_their_own_factor_but_for_the_chosen_one() -> None:
    world = World(30)
    y = world.rng.normal(size=ROWS) * np.where(world.hot_weekend, 2.5, 1.0)
    zeros = np.zeros(ROWS)
    noisy = np.exp(0.5 * world.rng.normal(size=ROWS))
    models = {
        "constant": ucc.Intervals.from_bands(y, zeros, np.ones(ROWS)),
        "noisy": ucc.Intervals.from_bands(y, zeros, noisy),
    }
    a = ucc.assess(models, coverage=0.9, features=world.features)
    for name in models:
        expected = a.verdict.scale if name == a.verdict.model else a[name].scale
        assert_allclose(float(a.pockets[name].shipped.estimate), float(expected))


def test_what_is_said_of_pockets_names_the_model_where_there_are_several() -> None:
    world = World(30)
    y = world.rng.normal(size=ROWS) * np.where(world.hot_weekend, 2.5, 1.0)
    zeros = np.zeros(ROWS)
    one = ucc.Intervals.from_bands(y, zeros, np.ones(ROWS))
    noisy = ucc.Intervals.from_bands(y, zeros, np.exp(0.5 * world.rng.normal(size=ROWS)))
    a = ucc.assess({"one": one, "noisy": noisy}, coverage=0.9, features=world.features)
    shipped = a.verdict.model
    told = a.pockets[shipped].summary[0]
    assert f"{shipped}: {told}" in str(a)
    part = page_part(a)
    assert part is not None
    assert part.sentences[0] == f"{shipped}: {told}"
    assert f"{shipped}: {a.pockets[shipped].headline}" in a.verdict.text


def test_a_map_has_a_place_for_missing_values_only_where_some_are() -> None:
    world = World(33)
    iv = world.intervals(np.where(world.hot_weekend, 2.5, 1.0))
    known = ucc.find_pockets(iv, world.features).models[0].map
    gone = np.where(world.rng.uniform(size=ROWS) < 0.1, np.nan, world.temp)
    lacking = ucc.find_pockets(iv, world.features | {"temp": gone}).models[0].map
    assert known is not None
    assert lacking is not None
    for grid, is_last in ((known, False), (lacking, True)):
        axis = grid.x if grid.x.feature == "temp" else grid.y
        assert ("missing" in axis.places) is is_last
        assert np.shape(grid.coverage) == (len(grid.y.places), len(grid.x.places))
        assert np.sum(grid.rows) == ROWS
        assert grid.inside(room.features.Region()).shape == np.shape(grid.rows)


def test_a_cut_at_zero_has_no_sign() -> None:
    assert room.features.value_in_words(-0.0, "number") == "0"


# ---- rows that are streamed


def write_rows(path: Path, rows: int = 4000) -> None:
    """A file with a pocket, of days of 20 rows."""
    pl = pytest.importorskip("polars")
    world = World(34, rows)
    iv = world.intervals(np.where(world.hot_weekend, 2.5, 1.0))
    columns = {"y": iv.y_true, "pred": iv.y_pred, "lower": iv.lower, "upper": iv.upper}
    day = np.arange(rows) // 20
    pl.DataFrame(columns | world.features | {"day": day}).write_csv(path)


def streamed(path: Path, *options: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The data that the command line writes of a file that is streamed."""
    app = pytest.importorskip("uccurve.cli.app")
    out = path.with_suffix(".json")
    command = ["uccurve", "assess", str(path), "--coverage", "90%", "--engine", "polars"]
    monkeypatch.setattr(sys, "argv", [*command, "--json", str(out), *options])
    with pytest.raises(SystemExit) as done:
        app.main()
    assert not done.value.code
    data: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return data


def test_pockets_of_streamed_rows_are_those_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    write_rows(path)
    data = streamed(path, "--features", "temp,weekend,noise", monkeypatch=monkeypatch)
    (pocket,) = data["pockets"]["models"][0]["pockets"]
    assert pocket["coverage"]["value"] < 0.75
    assert f"Fails where {pocket['title']}: covers" in data["verdict"]["text"]
    assert data["pockets"]["rows"] == 4000
    assert data["pockets"]["notes"] == []


@pytest.mark.parametrize("block", [(), ("--block", "day")])
def test_pockets_of_many_streamed_rows_are_sought_in_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: tuple[str, ...]
) -> None:
    path = tmp_path / "rows.csv"
    write_rows(path)
    monkeypatch.setattr(room, "MOST_ROWS", 3000)
    data = streamed(path, "--features", "temp,weekend", *block, monkeypatch=monkeypatch)
    rows = data["pockets"]["rows"]
    assert 2500 < rows <= 3000
    assert rows % 20 == 0 or not block
    (note,) = data["pockets"]["notes"]
    assert note == f"pockets were sought in a random sample of {rows:,} of 4,000 rows"
    assert data["pockets"]["models"][0]["pockets"]
