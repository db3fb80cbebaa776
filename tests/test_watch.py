"""A monitor takes each day once, says what it knows, and is the same after a night as JSON."""

from __future__ import annotations

import copy
import datetime as dt
import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from uccurve._saved import sealed


def rows(n: int = 500, *, noise: float = 1.0, seed: int = 0) -> ucc.Intervals:
    """Intervals of which 90% cover, while errors have their usual size."""
    rng = np.random.default_rng(seed)
    scale = np.exp(0.3 * rng.normal(size=n))
    error = noise * scale * rng.normal(size=n)
    return ucc.Intervals.from_bands(error, np.zeros(n), 1.645 * scale)


def watched(
    days: int, *, broken_after: int = 1000, noise: float = 1.3, **options: Any
) -> ucc.Monitor:
    monitor = ucc.Monitor(coverage=0.9, **options)
    for day in range(days):
        monitor.update(day, rows(noise=noise if day >= broken_after else 1.0, seed=day))
    return monitor


def test_a_kept_promise_is_learnt_and_then_ok() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    assert monitor.status == "learning"
    statuses = [monitor.update(day, rows(seed=day)).status for day in range(25)]
    assert statuses == ["learning"] * 19 + ["ok"] * 6
    assert (monitor.status, monitor.since) == ("ok", None)


def test_a_broken_promise_rings_names_its_day_and_the_factor_that_restores_it() -> None:
    monitor = watched(36, broken_after=30)
    step = monitor.steps[0]
    assert (monitor.status, step.status, step.since) == ("ringing", "ringing", 30)
    assert step.since_days == 6
    assert_allclose(step.since_coverage, 0.795, atol=0.02)
    assert_allclose(step.factor, 1.3, rtol=0.04)
    joined = ucc.Intervals.join([rows(noise=1.3, seed=day) for day in range(30, 36)])
    assert_allclose(step.factor, ucc.UCC(joined).find(coverage=0.9).scale, rtol=0.01)


def test_it_rings_until_it_is_acknowledged_and_then_learns_again() -> None:
    monitor = watched(36, broken_after=30)
    for day in range(36, 46):
        assert monitor.update(day, rows(seed=day)).status == "ringing"
    assert monitor.since == 30
    step = monitor.steps[0]
    assert step.strongest == max(past.evidence for past in monitor.history())
    assert (
        step.evidence < step.strongest
    )  # the promise is kept again, and what rang is as rare as ever
    monitor.acknowledge()
    assert monitor.since is None
    assert monitor.steps[0].status == "learning"
    assert monitor.update(46, rows(seed=46)).status == "learning"
    history = monitor.history()
    assert [step.status for step in history[40:]] == ["ringing"] * 6 + ["learning"]


def test_what_was_made_good_asks_for_no_factor() -> None:
    monitor = watched(36, broken_after=30)
    assert monitor.steps[0].rang_for == "too narrow"
    assert "bands × 1.3" in str(monitor.steps[0])
    for day in range(36, 60):
        step = monitor.update(day, rows(noise=0.8, seed=day))
    assert step.since_coverage > 0.9
    assert "it was too narrow and no longer is: acknowledge it; one such alarm in" in str(step)
    wide = ucc.Monitor(coverage=0.9)
    for day in range(40):
        step = wide.update(day, rows(noise=0.7 if day > 25 else 1.0, seed=day))
    assert step.rang_for == "too wide"
    assert "would restore it" in str(step)


def test_counts_tell_the_same_as_rows() -> None:
    of_rows, of_counts = ucc.Monitor(coverage=0.9), ucc.Monitor(coverage=0.9)
    for day in range(30):
        iv = rows(seed=day)
        missed = round(ucc.UCC(iv).at(1.0).miss_rate * len(iv))
        one = of_rows.update(day, iv)
        two = of_counts.update(day, (len(iv), missed))
        assert_allclose([one.coverage, one.evidence], [two.coverage, two.evidence], rtol=1e-6)
    assert np.isnan(two.factor)


def test_a_bound_without_a_prediction_is_watched_and_a_shift_would_restore_it() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    for day in range(30):
        y = np.random.default_rng(day).normal(size=1000) + (0.5 if day >= 25 else 0)
        step = monitor.update(day, ucc.Intervals.from_quantile(y, np.full(1000, 1.2816), level=0.9))
    assert (step.status, step.since) == ("ringing", 25)
    assert np.isnan(step.factor)
    assert_allclose(step.shift, 0.5, atol=0.05)
    assert "; a shift of 0.5" in str(step)
    assert ucc.Monitor.from_json(monitor.to_json()).history()[-1].shift == step.shift


def test_few_rows_are_unclear_and_not_ok() -> None:
    monitor = ucc.Monitor(coverage=0.95)
    statuses = {monitor.update(day, (1, 0)).status for day in range(25)}
    assert statuses == {"learning", "unclear"}


def test_models_and_groups_share_the_false_alarms() -> None:
    alone, shared = ucc.Monitor(coverage=0.9), ucc.Monitor(coverage=0.9)
    for day in range(30):
        one = alone.update(day, {"a": (1000, 130)})
        shared.update(day, dict.fromkeys("abcd", (1000, 130)))
    assert_allclose([step.evidence for step in shared.steps], one.evidence / 4)
    assert [step.model for step in shared.steps] == ["a", "b", "c", "d"]


def test_a_group_rings_by_itself_and_is_named() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    for day in range(40):
        good, bad = rows(400, seed=day), rows(100, noise=1 + (day >= 25), seed=day + 1000)
        both = ucc.Intervals.join([good, bad])
        step = monitor.update(day, {"net": both}, by={"site": ["N"] * 400 + ["S"] * 100})
    assert (step.status, step.model, step.group) == ("ringing", "net", "site S")
    by_name = {step.name: step for step in monitor.steps}
    assert by_name["net, site N"].status == "ok"
    assert_allclose(by_name["net, site S"].factor, 2, rtol=0.1)


def test_a_day_is_taken_once_and_in_order() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    monitor.update("2026-03-02", (100, 10))
    before = monitor.to_json()
    with pytest.raises(
        ValueError, match=r"2026-03-02 was taken already\. Hint: for late rows, .*replace=True"
    ):
        monitor.update("2026-03-02", (120, 10))
    with pytest.raises(
        ValueError, match="days must come in order: 2026-03-01 is before 2026-03-02"
    ):
        monitor.update("2026-03-01", (100, 10))
    with pytest.raises(
        TypeError, match="days must be all dates, all integers or all other text; got"
    ):
        monitor.update(3, (100, 10))
    assert monitor.to_json() == before


def test_late_rows_replay_all_days_since() -> None:
    counts = [(100, 10 + 5 * (day % 3)) for day in range(40)]
    straight, late = ucc.Monitor(coverage=0.9), ucc.Monitor(coverage=0.9)
    for day, count in enumerate(counts):
        straight.update(day, count)
        if day != 12:
            late.update(day, (50, 40) if day == 8 else count)
    late.update(8, counts[8], replace=True)
    late.update(12, counts[12], replace=True)
    assert late.history() == straight.history()


def test_a_day_that_is_taken_again_loses_the_groups_that_it_no_longer_has() -> None:
    straight, late = ucc.Monitor(coverage=0.9), ucc.Monitor(coverage=0.9)
    for day in range(25):
        sites = ["N"] * 250 + ["S"] * 250
        wrong = ["N"] * 250 + ["T"] * 250 if day == 5 else sites
        straight.update(day, {"net": rows(seed=day)}, by={"site": sites})
        late.update(day, {"net": rows(seed=day)}, by={"site": wrong})
    late.update(5, {"net": rows(seed=5)}, by={"site": ["N"] * 250 + ["S"] * 250}, replace=True)
    assert [step.name for step in late.steps] == ["net", "net, site N", "net, site S"]
    for group in (None, "site N", "site S"):
        assert [step.coverage for step in late.history("net", group)] == [
            step.coverage for step in straight.history("net", group)
        ]


def test_gaps_are_fine_and_dates_are_days() -> None:
    monitor = ucc.Monitor(coverage=0.9, period=7)
    monitor.update(dt.date(2026, 3, 1), (100, 10))
    assert monitor.update(np.datetime64("2026-03-09"), (100, 9)).label == "2026-03-09"


def test_a_challenger_that_is_better_rings() -> None:
    monitor = ucc.Monitor(coverage=0.9, challenger="new")
    for day in range(60):
        iv = rows(200, seed=day)
        monitor.update(
            day,
            {"old": ucc.Intervals.from_bands(iv.y_true, iv.y_pred, np.full(200, 1.8)), "new": iv},
        )
    last = monitor.contest
    assert last is not None
    assert (last.status, last.champion, last.challenger) == ("ringing", "old", "new")
    assert last.since_difference > 0
    assert "RINGING new: scores better than old by" in repr(monitor)
    expected = np.mean(
        [ucc.UCC(rows(200, seed=day)).interval_score(coverage=0.9, at=1.0) for day in range(60)]
    )
    kept = [day.score for day in monitor.days("new")]
    assert_allclose(np.mean(kept), expected, rtol=1e-4)


def test_an_equal_challenger_does_not_ring() -> None:
    monitor = ucc.Monitor(coverage=0.9, challenger="new", false_alarm_every=365)
    for day in range(60):
        monitor.update(day, {"old": rows(200, seed=day), "new": rows(200, seed=day + 999)})
    assert monitor.contest is not None
    assert monitor.contest.status == "ok"


def test_json_keeps_everything_and_stays_small() -> None:
    monitor = watched(365, broken_after=200, noise=1.1, period=7, calibrated_on=500)
    text = monitor.to_json()
    back = ucc.Monitor.from_json(text)
    assert len(text) < 50_000
    assert back.history() == monitor.history()
    assert back.to_json() == text == copy.deepcopy(monitor).to_json()
    assert back.tolerance == monitor.tolerance


def test_at_most_some_days_are_kept() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    for day in range(450):
        monitor.update(day, (100, 10))
    assert len(monitor.history()) == 400
    assert monitor.has_taken(10)
    assert not monitor.has_taken(450)
    assert ucc.Monitor.from_json(monitor.to_json()).history() == monitor.history()
    with pytest.raises(
        ValueError, match="10 is before the last 400 days, of which alone each is kept"
    ):
        monitor.update(10, (100, 10), replace=True)


def test_what_rings_keeps_ringing_when_its_days_are_forgotten() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    for day in range(30):
        monitor.update(day, (1000, 100 if day < 25 else 300))
    assert monitor.status == "ringing"
    for day in range(30, 500):
        monitor.update(day, (1000, 100))
    assert (monitor.status, monitor.since) == ("ringing", 25)
    monitor.acknowledge()
    for day in range(500, 1000):
        step = monitor.update(day, (1000, 100))
    assert step.status == "ok"


def test_what_is_forgotten_still_counts() -> None:
    short, long = ucc.Monitor(coverage=0.9), ucc.Monitor(coverage=0.9)
    rng = np.random.default_rng(5)
    counts = [(1000, int(missed)) for missed in rng.binomial(1000, 0.1, size=450)]
    for day, count in enumerate(counts):
        short.update(day, count)
        long.update(day, (1000, 999) if day == 440 else count)
    long.update(440, counts[440], replace=True)
    assert short.steps == long.steps
    assert short.to_json() == long.to_json()


def test_labels_are_ordered_by_the_numbers_in_them() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    for week in range(8, 13):
        monitor.update(f"week {week}", (100, 10))
    with pytest.raises(ValueError, match="week 7 is before week 12"):
        monitor.update("week 7", (100, 10))


def test_a_field_that_a_later_version_adds_is_ignored() -> None:
    data = watched(3).to_dict()
    data["weather"] = "fine"
    data["watch"]["colour"] = "red"
    assert len(ucc.Monitor.from_json(sealed(data)).history()) == 3


def changed(**change: Any) -> str:
    data = watched(3).to_dict()
    for path, value in change.items():
        *steps, last = (int(key) if key.isdecimal() else key for key in path.split("__"))
        place: Any = data
        for key in steps:
            place = place[key]
        place[last] = value
    return sealed(data)


HOSTILE = {
    "an edited state": (changed().replace("0.9", "0.8", 1), "it was edited or damaged"),
    "no digest": (json.dumps(watched(3).to_dict()), "it was edited or damaged"),
    "another kind": (changed(kind="uccurve.gate"), "`kind` must be 'uccurve.Monitor'"),
    "a later schema": (changed(schema=2), "`schema` must be 1, or an earlier version"),
    "a coverage of 2": (
        changed(watch__coverage=2),
        "in `watch`, `coverage` must be a number between 0 and 1",
    ),
    "another side": (
        changed(watch__side="left"),
        "in `watch`, `side` must be one of both, narrow, wide",
    ),
    "series that are none": (changed(series=3), "`series` must be a list"),
    "a model that is a number": (
        changed(series__0__model=3),
        r"in `series\[0\]`, `model` must be text",
    ),
    "no rows": (
        changed(series__0__days__rows=[0, 1, 2]),
        r"in `series\[0\].days`, `rows` must be a list of integers",
    ),
    "too few totals": (
        changed(series__0__now__starts__total=[1]),
        r"in `series\[0\].now.starts`, `total` must have 22 entries; it has 1",
    ),
    "a negative sum": (
        changed(series__0__now__scatter__rows=-1),
        "`rows` must be a finite number of at least 0",
    ),
    "a day twice": (changed(series__0__days__label=[1, 1, 2]), "`label` must be in order"),
    "an alarm without a day": (
        changed(series__0__now__memory__alarm={}),
        "`series.*alarm` lacks `evidence`",
    ),
    "too few rows": (
        changed(series__0__days__rows=[1]),
        r"the lists of `series\[0\].days` must have one length",
    ),
    "days out of order": (changed(series__0__days__label=[2, 1, 3]), "`label` must be in order"),
    "labels of two kinds": (
        changed(series__0__days__label=[1, "2", 3]),
        "days must be all dates, all integers or all other text",
    ),
    "tails that fall": (
        changed(series__0__days__tails=[[3, 2, 1, 1, 1]] * 3),
        "`tails` must be a list of null or",
    ),
    "a share of 2": (
        changed(series__0__days__missed=[2, 0, 0]),
        "`missed` must be a list of numbers from 0 to 1",
    ),
    "no text": ("", "it is not JSON"),
    "a list": ("[]", "it must be an object"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_only_what_we_wrote_is_read(case: str) -> None:
    text, sentence = HOSTILE[case]
    with pytest.raises(ValueError, match=f"`text` must be the state of a monitor: .*{sentence}"):
        ucc.Monitor.from_json(text)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "side": ({"side": "left"}, "`side` must be one of both, narrow, wide"),
    "period": ({"period": 1}, "`period` must be an integer of at least 2; got 1"),
    "calibrated_on": ({"calibrated_on": 0.5}, "`calibrated_on` must be an integer of at least 1"),
    "false_alarm_every": (
        {"false_alarm_every": 0},
        "`false_alarm_every` must be a finite number of at least 1",
    ),
    "tolerance": ({"tolerance": 0.2, "side": "wide"}, "`tolerance` leaves nothing to watch"),
}


@pytest.mark.parametrize("name", BAD)
def test_settings_that_cannot_be_are_refused(name: str) -> None:
    settings, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence):
        ucc.Monitor(coverage=0.9, **settings)


@pytest.mark.parametrize(
    "counts", [(10, 11), (10, -1), (0, 0), (2.5, 1), (10,), "ab", None, (10, np.nan)]
)
def test_counts_that_cannot_be_are_refused(counts: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="a day must"):
        ucc.Monitor(coverage=0.9).update(1, counts)


@pytest.mark.parametrize("label", [None, 1.5, "", True, "x" * 100])
def test_labels_that_cannot_be_are_refused(label: Any) -> None:
    with pytest.raises(
        TypeError, match="`label` must be a date, an integer or at most 80 characters"
    ):
        ucc.Monitor(coverage=0.9).update(label, (10, 1))


def test_the_noise_of_a_calibration_widens_what_is_tolerated() -> None:
    assert_allclose(ucc.Monitor(coverage=0.9).tolerance, 0.005)
    assert_allclose(ucc.Monitor(coverage=0.9, calibrated_on=400).tolerance, 1.64 * 0.3 / 20)
    assert_allclose(ucc.Monitor(coverage=0.9, calibrated_on=400, tolerance=0.01).tolerance, 0.01)


def test_weights_count_as_the_rows_that_they_leave() -> None:
    iv = rows(100)
    heavy = ucc.Intervals.from_bands(
        iv.y_true, iv.y_pred, iv.lower_band, weight=np.r_[np.ones(50), np.full(50, 1e-9)]
    )
    half, all_rows = ucc.Monitor(coverage=0.9), ucc.Monitor(coverage=0.9)
    assert_allclose(half.update(1, heavy).coverage, all_rows.update(1, iv[:50]).coverage, atol=1e-6)
    assert_allclose(half.days("model")[0].effective, 50, rtol=1e-4)
