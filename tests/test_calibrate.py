"""Calibrations keep what they promise on new rows, come back from JSON unchanged, and refuse what they cannot do."""

import json
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import uccurve as ucc
from strategies import Data, mixed, varies
from uccurve import IntervalCalibrator, Intervals


def made(n: int, seed: int = 0) -> Intervals:
    """Asymmetric bands that know something of the noise, predictions that are a little off."""
    rng = np.random.default_rng(seed)
    size = np.exp(rng.normal(size=n))
    y_pred = rng.normal(size=n)
    y_true = y_pred + 0.1 + size * rng.laplace(size=n)
    return Intervals.from_bands(y_true, y_pred, size**0.5, 1.5 * size**0.5 + 0.1)


# ---- the guarantee, on new rows


def expected_miss(n: int, alpha: Fraction) -> float:
    """P(miss) of the conformal rank for scores without ties: the new score is equally likely at each of n + 1 ranks."""
    return float(1 - Fraction(ceil((n + 1) * (1 - alpha)), n + 1))


def simulated_miss(n: int, repeats: int, seed: int, **options: Any) -> tuple[float, float]:
    """Mean miss rate on new rows over calibration sets, and its standard error.

    Laplace errors around bands in proportion to their size: a scale k misses exactly exp(-k) of all new rows, so the
    only noise is that of the calibration sets.
    """
    rng = np.random.default_rng(seed)
    calibrator = IntervalCalibrator(miss_rate=0.05, **options)
    missed = np.empty(repeats)
    for i in range(repeats):
        size, zero = np.exp(rng.normal(size=n)), np.zeros(n)
        missed[i] = np.exp(
            -calibrator.fit(Intervals.from_bands(size * rng.laplace(size=n), zero, size)).scale_
        )
    return float(missed.mean()), float(missed.std() / repeats**0.5)


@pytest.mark.parametrize("n", [20, 50, 100, 200])
def test_new_rows_are_missed_at_most_as_often_as_promised(n: int) -> None:
    miss_rate, error = simulated_miss(n, repeats=3000, seed=n)
    assert (
        miss_rate <= 0.05 + 3 * error
    )  # 3 standard errors of the simulation: 0.25% at n = 20, 0.08% at n = 200
    assert_allclose(miss_rate, expected_miss(n, Fraction(5, 100)), atol=4 * error)


def test_without_conformal_small_sets_miss_twice_as_often_as_asked() -> None:
    miss_rate, error = simulated_miss(20, repeats=1000, seed=1, conformal=False)
    assert_allclose(
        miss_rate, 2 / 21, atol=4 * error
    )  # 19 of 20 rows covered: the 19th of 20 ranks


def test_the_guarantee_holds_for_asymmetric_bands_and_for_shifts() -> None:
    test = made(20_000, seed=99)
    for vary in ("scale", "shift"):
        calibrator = IntervalCalibrator(miss_rate=0.2, vary=vary)
        rates = [
            ucc.UCC(calibrator.fit(made(39, seed)).apply(test)).at(1.0).miss_rate
            for seed in range(150)
        ]
        assert_allclose(
            np.mean(rates), 0.2, atol=4 * float(np.std(rates)) / 150**0.5
        )  # 32 of 40 ranks: exactly 0.2


def test_each_group_gets_the_guarantee_of_its_own() -> None:
    rng = np.random.default_rng(5)
    rates: dict[str, list[float]] = {"calm": [], "wild": []}
    for _ in range(400):
        groups = np.array(["calm", "wild"] * 19)
        errors = rng.laplace(size=38) * np.where(groups == "wild", 5.0, 1.0)
        calibrator = IntervalCalibrator(miss_rate=0.05).fit(
            Intervals.from_bands(errors, np.zeros(38), np.ones(38)), groups=groups
        )
        for name, size in (("calm", 1.0), ("wild", 5.0)):
            rates[name].append(np.exp(-calibrator.calibrations_[name].upper / size))
    for values in rates.values():
        assert_allclose(np.mean(values), 0.05, atol=4 * float(np.std(values)) / 20)  # rank 19 of 20


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_separate_tails_miss_half_of_the_rows_on_each_side(vary: Any) -> None:
    test = made(20_000, seed=99)
    calibrator = IntervalCalibrator(coverage=0.8, vary=vary, tails="separate")
    rates = []
    for seed in range(150):
        new = calibrator.fit(made(39, seed)).apply(test)
        rates.append([np.mean(test.y_true < new.lower), np.mean(test.y_true > new.upper)])
    assert_allclose(
        np.mean(rates, axis=0), 0.1, atol=4 * float(np.std(rates)) / 150**0.5
    )  # rank 36 of 40 on each side
    joint = ucc.UCC(IntervalCalibrator(coverage=0.8, vary=vary).fit(made(2000)).apply(test))
    below, above = (
        float(np.mean(side))
        for side in (test.y_true < joint.intervals.lower, test.y_true > joint.intervals.upper)
    )
    assert abs(below - above) > 0.03  # with one factor for both, the two sides differ


def test_each_side_has_the_order_statistic_of_its_own_errors() -> None:
    iv = made(59)
    calibrator = IntervalCalibrator(coverage=0.8, tails="separate").fit(iv)
    below, above = (iv.y_pred - iv.y_true) / iv.lower_band, (iv.y_true - iv.y_pred) / iv.upper_band
    rank = ceil(60 * Fraction(9, 10))
    found = calibrator.calibrations_[None]
    tails = [found.lower, found.upper]
    assert_allclose(
        tails, [np.sort(np.maximum(side, 0))[rank - 1] for side in (below, above)], rtol=1e-12
    )
    assert (calibrator.scale_, found.miss_rate) == (
        1,
        ucc.UCC(calibrator.apply(iv)).at(1.0).miss_rate,
    )
    assert repr(calibrator).endswith(
        f"scale {found.lower:.4g} below and {found.upper:.4g} above from 59 rows)"
    )


@pytest.mark.parametrize("tails", ["joint", "separate"])
def test_a_confidence_holds_for_that_share_of_calibration_sets(tails: Any) -> None:
    rng = np.random.default_rng(3)
    calibrator = IntervalCalibrator(coverage=0.8, confidence=0.9, tails=tails)
    reached = 0
    for _ in range(400):
        errors = rng.laplace(size=100)
        one = calibrator.fit(
            Intervals.from_bands(errors, np.zeros(100), np.ones(100))
        ).calibrations_[None]
        reached += 1 - (np.exp(-one.lower) + np.exp(-one.upper)) / 2 >= 0.8
    assert reached / 400 >= 0.9 - 3 * (0.09 / 400) ** 0.5
    assert (
        tails == "separate" or reached / 400 < 0.97
    )  # with two tails each keeps its half with 95%


@pytest.mark.parametrize(
    "options", [{}, {"confidence": 0.9}, {"tails": "separate"}, {"conformal": False}]
)
def test_the_coverage_of_most_calibration_sets_lies_in_the_range(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    calibrator = IntervalCalibrator(coverage=0.9, **options)
    coverages = []
    for _ in range(800):
        errors = rng.laplace(size=150) * np.where(rng.uniform(size=150) < 0.5, 1.0, 3.0)
        one = calibrator.fit(
            Intervals.from_bands(errors, np.zeros(150), np.ones(150))
        ).calibrations_[None]
        sides = [np.exp(-side / size) / 2 for side in (one.lower, one.upper) for size in (1.0, 3.0)]
        coverages.append(1 - np.mean(sides) * 2)
    low, high = calibrator.coverage_range(150)
    inside = np.mean((np.array(coverages) >= low) & (np.array(coverages) <= high))
    assert abs(inside - 0.95) < 4 * (0.95 * 0.05 / 800) ** 0.5


def test_the_range_of_the_documentation() -> None:
    low, high = IntervalCalibrator(miss_rate=0.05).coverage_range(200)
    assert_allclose([1 - high, 1 - low], [0.024, 0.084], atol=5e-4)


# ---- what is learnt is what the curve finds


@given(mixed(max_size=10, weighted=False), varies)
def test_targets_are_those_of_the_curve(data: Data, vary: Any) -> None:
    iv = data.intervals()
    curve = ucc.UCC(iv, vary=vary)
    learnt = [
        (IntervalCalibrator(miss_rate=0.5, vary=vary), curve.find(miss_rate=0.5, conformal=True)),
        (IntervalCalibrator(miss_rate=0.3, vary=vary, conformal=False), curve.find(miss_rate=0.3)),
    ]
    for calibrator, point in learnt:
        one = calibrator.fit(iv).calibrations_[None]
        assert one.lower == one.upper == (point.scale if vary == "scale" else point.shift)
        assert (one.rows, one.miss_rate) == (len(iv), point.miss_rate)
        assert (calibrator.scale_, calibrator.shift_) == (point.scale, point.shift)


@given(mixed(max_size=10, weighted=False), varies)
def test_calibrated_rows_are_covered_as_often_as_their_rank_says(data: Data, vary: Any) -> None:
    iv = data.intervals()
    calibrator = IntervalCalibrator(miss_rate=0.5, vary=vary).fit(iv)
    got = calibrator.apply(iv)
    inside = (got.lower <= iv.y_true) & (iv.y_true <= got.upper)
    assert inside.sum() >= ceil((len(iv) + 1) / 2)


def test_bounds_and_intervals_are_calibrated_alike() -> None:
    held_out, new = made(60), made(40, seed=1)
    calibrator = IntervalCalibrator(miss_rate=0.1).fit(held_out)
    lower, upper = calibrator.apply_bounds(new.y_pred, new.lower, new.upper)
    expected = calibrator.apply(new)
    assert_allclose(lower, expected.lower, rtol=1e-14)
    assert_allclose(upper, expected.upper, rtol=1e-14)
    assert_allclose(new.y_pred - lower, calibrator.scale_ * new.lower_band, rtol=1e-12)


def test_groups_are_calibrated_as_if_alone_wherever_their_rows_stand() -> None:
    iv = made(90)
    groups = np.array(["a", "b", "c"] * 30)
    together = IntervalCalibrator(miss_rate=0.1).fit(iv, groups=groups).apply(iv, groups=groups)
    for name in "abc":
        rows = groups == name
        alone = IntervalCalibrator(miss_rate=0.1).fit(iv[rows]).apply(iv[rows])
        for field in ("lower", "upper", "lower_band", "upper_band", "y_true", "y_pred"):
            assert_array_equal(getattr(together[rows], field), getattr(alone, field))


def test_several_keys_make_a_group_of_each_combination() -> None:
    iv = made(120)
    site, hour = ["n", "s"] * 60, [1, 1, 2, 2] * 30
    keys = {"site": site, "hour": np.array(hour)}
    together = IntervalCalibrator(coverage=0.9).fit(iv, groups=keys)
    joined = IntervalCalibrator(coverage=0.9).fit(
        iv, groups=[f"{a}{b}" for a, b in zip(site, hour, strict=True)]
    )
    assert list(together.calibrations_) == [("n", 1), ("s", 1), ("n", 2), ("s", 2)]
    assert list(together.calibrations_.values()) == list(joined.calibrations_.values())
    back = IntervalCalibrator.from_json(together.to_json())
    assert_array_equal(back.apply(iv, groups=keys).upper, together.apply(iv, groups=keys).upper)
    with pytest.raises(
        ValueError,
        match=r"`groups` must have the keys that fit had: \('site', 'hour'\); got \('hour', 'site'\)",
    ):
        together.apply(iv, groups={"hour": hour, "site": site})


def test_groups_never_seen_or_too_small_fall_back_on_all_rows_if_asked() -> None:
    iv = made(61)
    groups = ["a"] * 30 + ["b"] * 30 + ["tiny"]
    with pytest.raises(
        ValueError, match=r"1 of 3 groups cannot be calibrated, first 'tiny' \(1 row\)"
    ):
        IntervalCalibrator(coverage=0.9).fit(iv, groups=groups)
    calibrator = IntervalCalibrator(coverage=0.9, fallback="pooled").fit(iv, groups=groups)
    assert list(calibrator.calibrations_) == ["a", "b", None]
    new = made(4, seed=5)
    for one in (calibrator, IntervalCalibrator.from_json(calibrator.to_json())):
        got = one.apply(new, groups=["a", "z", "tiny", "b"])
        expected = IntervalCalibrator(coverage=0.9).fit(iv).apply(new)
        assert_array_equal(got.lower[[1, 2]], expected.lower[[1, 2]])
        assert got.lower[0] != expected.lower[0]
    assert (
        calibrator.calibrations_[None]
        == IntervalCalibrator(coverage=0.9).fit(iv).calibrations_[None]
    )
    with pytest.raises(ValueError, match="2 of 2 groups cannot be calibrated"):
        IntervalCalibrator(coverage=0.95, fallback="pooled").fit(made(20), groups=["a", "b"] * 10)


def test_a_coverage_is_a_miss_rate() -> None:
    for iv in (made(60), made(61)):
        one, two = IntervalCalibrator(coverage=0.93), IntervalCalibrator(miss_rate=0.07)
        assert one.fit(iv).calibrations_ == two.fit(iv).calibrations_
    with pytest.raises(ValueError, match="give `coverage` or `miss_rate`, not both"):
        IntervalCalibrator(coverage=0.9, miss_rate=0.1)
    with pytest.raises(
        ValueError,
        match=r"`coverage` must lie between 0 and 1, both excluded; got 90. Hint: 90% is 0.9",
    ):
        IntervalCalibrator(coverage=90)


def test_labels_may_be_numbers_or_words_of_any_array_or_frame() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    iv = made(60)
    words = ["x", "y"] * 30
    expected = IntervalCalibrator(miss_rate=0.2).fit(iv, groups=words)
    for labels in (
        np.array(words),
        pandas.Series(words),
        pandas.Series(words, dtype="category"),
        polars.Series(words),
    ):
        found = IntervalCalibrator(miss_rate=0.2).fit(iv, groups=labels)
        assert found.calibrations_ == expected.calibrations_
    numbers = IntervalCalibrator(miss_rate=0.2).fit(iv, groups=np.array([1, 2] * 30))
    assert list(numbers.calibrations_) == [1, 2]


def test_a_floor_for_new_bounds_lets_predictions_lie_outside() -> None:
    calibrator = IntervalCalibrator(coverage=0.5).fit(Intervals.from_bands([2, 2], [0, 0], [1, 1]))
    lower, upper = calibrator.apply_bounds([0.0], lower=[1.0], upper=[3.0], min_band=0.5)
    assert (lower.tolist(), upper.tolist()) == ([-1.0], [6.0])


# ---- JSON


@pytest.mark.parametrize("groups", [None, ["n", "s"] * 30, [4, 7] * 30])
def test_a_calibration_comes_back_exactly(groups: list[Any] | None) -> None:
    iv = made(60)
    for options in (
        {"miss_rate": 0.1},
        {"miss_rate": 1 / 3, "conformal": False, "vary": "shift"},
        {"coverage": 0.9, "confidence": 0.9},
        {"coverage": 0.8, "tails": "separate", "confidence": 0.6},
        {"coverage": 0.7, "tails": "separate", "vary": "shift", "fallback": "pooled"},
    ):
        saved = IntervalCalibrator(**options).fit(iv, groups=groups)
        back = IntervalCalibrator.from_json(saved.to_json())
        assert back.calibrations_ == saved.calibrations_
        assert repr(back) == repr(saved)
        assert back.to_json() == saved.to_json()
        assert_array_equal(
            back.apply(iv, groups=groups).lower, saved.apply(iv, groups=groups).lower
        )
        assert IntervalCalibrator.from_json(saved.to_json().encode()).to_json() == saved.to_json()


def changed(**changes: Any) -> str:
    data = json.loads(IntervalCalibrator(miss_rate=0.1).fit(made(20)).to_json())
    for path, value in changes.items():
        place = data
        *outer, last = path.split("__")
        for key in outer:
            place = place[int(key) if key.isdigit() else key]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return json.dumps(data)


def moved(value: Any) -> str:
    return changed(calibrations__0__lower=value, calibrations__0__upper=value)


HOSTILE = {
    "no JSON": ("hello", "it is not JSON: Expecting value"),
    "a list": ("[]", r"it must be an object; got \[\]"),
    "another kind": (
        changed(kind="os.system"),
        "`kind` must be 'uccurve.IntervalCalibrator'; got 'os.system'",
    ),
    "a later version": (changed(version=5), "`version` must be 4; got 5"),
    "an earlier version": (changed(version=3), "`version` must be 4; got 3"),
    "no version": (changed(version=...), "it lacks `version`"),
    "a name too many": (changed(code="x"), "it has unknown `code`"),
    "an unknown setting": (changed(settings__code="x"), "`settings` has unknown `code`"),
    "a lacking setting": (changed(settings__vary=...), "`settings` lacks `vary`"),
    "two targets": (changed(settings__miss_rate=0.1), "unknown `miss_rate`"),
    "no target": (changed(settings__coverage=None), "give a target to calibrate for"),
    "a target in words": (changed(settings__coverage="0.1"), "`coverage` must be a number"),
    "a target out of range": (changed(settings__coverage=2), "must lie between 0 and 1"),
    "another vary": (changed(settings__vary="level"), "`vary` must be one of scale, shift"),
    "a vary of many": (changed(settings__vary=["scale"]), "must be a calibration"),
    "conformal in words": (changed(settings__conformal="yes"), "`conformal` must be True or False"),
    "no calibrations": (changed(calibrations=[]), "list that is not empty"),
    "calibrations that are none": (changed(calibrations=[1]), "must be an object"),
    "a calibration too many": (changed(calibrations__0__extra=1), "unknown `extra`"),
    "a calibration too few": (changed(calibrations__0__lower=...), "lacks `lower`"),
    "a negative scale": (moved(-1.0), "a scale must not be negative"),
    "a negative metric": (
        changed(calibrations__0__miss_rate=-1.0),
        "`miss_rate` must be a finite number of at least 0",
    ),
    "a true scale": (moved(True), "`lower` must be a finite number; got True"),
    "an infinite scale": (moved(7.5).replace("7.5", "1e999"), "finite number; got inf"),
    "a scale that is none": (moved(7.5).replace("7.5", "NaN"), "NaN is not a number"),
    "a huge integer": (moved(10**400), "finite number"),
    "digits without end": (moved(7.5).replace("7.5", "7" * 5000), "a calibration"),
    "no rows": (changed(calibrations__0__rows=0), "`rows` must be an integer of at least 1"),
    "a group that is an object": (
        changed(calibrations__0__group={"a": 1}),
        "`group` must be a list of str and int",
    ),
    "a group that is a nest": (
        changed(calibrations__0__group=[["a"]]),
        "`group` must be a list of str and int",
    ),
    "a group of two labels without keys": (
        changed(calibrations__0__group=["a", 1]),
        "one label for each of its `keys`",
    ),
    "a group without one of its keys": (
        changed(calibrations__0__group=["a"], keys=["site", "hour"]),
        "one label for each of its `keys`",
    ),
    "a group without labels": (
        changed(calibrations__0__group=[], keys=[]),
        "one label for each of its `keys`",
    ),
    "keys that are numbers": (changed(keys=[1]), "`keys` must be a list of names"),
    "tails without being asked for": (
        changed(calibrations__0__upper=99.0),
        "must be the same but for separate `tails`",
    ),
    "a negative tail": (
        changed(settings__tails="separate", calibrations__0__upper=-2.0),
        "not be negative",
    ),
    "a fallback that is not there": (
        changed(settings__fallback="pooled", calibrations__0__group=["a"]),
        "the group null must stand alone, or be the `fallback`",
    ),
    "another fallback": (changed(settings__fallback="guess"), "`fallback` must be one of pooled"),
    "a confidence of 2": (changed(settings__confidence=2), "`confidence` must be"),
    "a repeated name": (
        changed().replace('{"kind"', '{"kind": 1, "kind"', 1),
        "a name is repeated",
    ),
    "a nest": ("[" * 100_000, "nested too deeply|must be a calibration"),
}


@pytest.mark.parametrize("case", list(HOSTILE))
def test_only_what_we_wrote_is_read(case: str) -> None:
    text, sentence = HOSTILE[case]
    with pytest.raises(ValueError, match=sentence) as caught:
        IntervalCalibrator.from_json(text)
    assert str(caught.value).startswith("`text` must be a calibration written by to_json")
    assert len(str(caught.value)) < 400


def test_a_repeated_group_is_refused() -> None:
    data = json.loads(changed())
    data["calibrations"] *= 2
    with pytest.raises(ValueError, match="each group must occur once"):
        IntervalCalibrator.from_json(json.dumps(data))
    with pytest.raises(
        ValueError, match="the JSON object must be str, bytes or bytearray, not dict"
    ):
        IntervalCalibrator.from_json(data)


# ---- refusals


def test_one_target_and_one_only() -> None:
    with pytest.raises(ValueError, match="give a target to calibrate for: coverage= or miss_rate="):
        IntervalCalibrator()
    single = IntervalCalibrator(coverage=np.float32(0.8)).fit(made(20))  # type: ignore[arg-type]
    assert single.coverage == IntervalCalibrator.from_json(single.to_json()).coverage == 0.8
    with pytest.raises(
        ValueError,
        match=r"`miss_rate` must lie between 0 and 1, both excluded; got 5\. Hint: 10% is",
    ):
        IntervalCalibrator(miss_rate=5)
    with pytest.raises(
        ValueError, match=r"`vary` must be one of scale, shift; got 'scael'. Did you mean 'scale'\?"
    ):
        IntervalCalibrator(miss_rate=0.1, vary="scael")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`conformal` must be True or False"):
        IntervalCalibrator(miss_rate=0.1, conformal="yes")  # type: ignore[arg-type]


def test_choices_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match="`confidence` needs conformal=True"):
        IntervalCalibrator(coverage=0.9, confidence=0.9, conformal=False)
    with pytest.raises(
        ValueError, match=r"`tails` must be one of joint, separate; got 'seperate'\. Did you mean"
    ):
        IntervalCalibrator(coverage=0.9, tails="seperate")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"with confidence 0\.9 needs at least 45 rows; there are 30"
    ):
        IntervalCalibrator(coverage=0.95, confidence=0.9).fit(made(30))


def test_nothing_is_applied_or_saved_before_fit() -> None:
    calibrator = IntervalCalibrator(miss_rate=0.1)
    assert repr(calibrator) == "IntervalCalibrator(coverage=0.9; not fitted)"
    for call in (lambda: calibrator.apply(made(5)), calibrator.to_json, lambda: calibrator.scale_):
        with pytest.raises(ValueError, match="this IntervalCalibrator is not fitted"):
            call()
    with pytest.raises(TypeError, match="`intervals` must be Intervals; got list"):
        calibrator.fit([1, 2])  # type: ignore[arg-type]


def test_too_few_rows_are_counted() -> None:
    with pytest.raises(ValueError, match="needs at least 19 rows; there are 18"):
        IntervalCalibrator(miss_rate=0.05).fit(made(18))
    assert IntervalCalibrator(miss_rate=0.05).fit(made(19)).scale_ > 0
    with pytest.raises(
        ValueError,
        match=r"1 of 2 groups cannot be calibrated, first 'b' \(8 rows\): .* at least 9 rows",
    ):
        IntervalCalibrator(miss_rate=0.1).fit(made(28), groups=["a"] * 20 + ["b"] * 8)


def test_a_failed_fit_leaves_the_calibrator_as_it_was() -> None:
    calibrator = IntervalCalibrator(miss_rate=0.1).fit(made(20))
    before = calibrator.scale_
    with pytest.raises(ValueError, match="cannot be calibrated"):
        calibrator.fit(made(12), groups=["a"] * 10 + ["b"] * 2)
    assert calibrator.scale_ == before


def test_groups_must_be_known_and_given_where_they_were() -> None:
    iv = made(40)
    grouped = IntervalCalibrator(miss_rate=0.2).fit(iv, groups=["a", "b"] * 20)
    with pytest.raises(
        ValueError, match=r"seen at fit: 1 of 2 were not, first 'z'\. Seen: \['a', 'b'\]\."
    ):
        grouped.apply(iv, groups=["a", "z"] * 20)
    with pytest.raises(
        ValueError, match=r"one calibration per group: \['a', 'b'\]\. Hint: pass `groups`"
    ):
        grouped.apply(iv)
    with pytest.raises(ValueError, match="`groups` were not given to fit"):
        IntervalCalibrator(miss_rate=0.2).fit(iv).apply(iv, groups=["a", "b"] * 20)
    with pytest.raises(
        ValueError, match=r"`groups` must hold one label per row: 3 labels for 40 rows"
    ):
        grouped.apply(iv, groups=["a", "b", "a"])


def test_labels_that_cannot_be_saved_are_refused() -> None:
    iv = made(4)
    with pytest.raises(
        TypeError,
        match=r"`groups` must hold str or int labels; row 0 holds 0\.5\. Hint: convert labels to str",
    ):
        IntervalCalibrator(miss_rate=0.5).fit(iv, groups=[0.5, 1.5, 0.5, 1.5])
    with pytest.raises(TypeError, match="row 2 holds None"):
        IntervalCalibrator(miss_rate=0.5).fit(
            iv, groups=np.array(["a", "a", None, "a"], dtype=object)
        )


def test_conformal_is_refused_where_rows_are_not_alike() -> None:
    weighted = Intervals.from_bands([1, 2, 3], [0, 0, 0], [1, 1, 1], weight=[1, 2, 1])
    with pytest.raises(ValueError, match="`conformal` counts rows, so it needs equal weights"):
        IntervalCalibrator(miss_rate=0.5).fit(weighted)
    outputs = Intervals.from_bands([[1, 2], [3, 4]], [[0, 0], [0, 0]], [[1, 1], [1, 1]])
    with pytest.raises(ValueError, match="the outputs of one row are not"):
        IntervalCalibrator(miss_rate=0.5).fit(outputs)
    assert IntervalCalibrator(miss_rate=0.25, conformal=False).fit(outputs).scale_ == 3
    silent = Intervals.from_bands([1, 2, 3, 4], [0] * 4, [1] * 4, weight=[1, 1, 0, 0])
    with pytest.raises(ValueError, match=r"first 'b'.*`weight` must not be zero in every row"):
        IntervalCalibrator(coverage=0.5, conformal=False).fit(silent, groups=["a", "a", "b", "b"])


def test_a_percentage_as_floor_of_new_rows_is_refused() -> None:
    with pytest.raises(
        ValueError, match="`min_band` must be a number in units of y_true here; got '5%'"
    ):
        IntervalCalibrator(coverage=0.5).fit(made(5)).apply_bounds([0], [0], [1], min_band="5%")  # type: ignore[arg-type]


def test_new_rows_that_need_a_floor_are_told_a_number() -> None:
    calibrator = IntervalCalibrator(coverage=0.5).fit(made(5))
    with pytest.raises(
        ValueError, match=r"1 of 2 rows does not.*Hint: give min_band=0.05 \(5% of the mean"
    ) as told:
        calibrator.apply_bounds([5.0, 1.0], [0.0, 0.0], [2.0, 2.0])
    assert '5%"' not in str(told.value)
    lower, upper = calibrator.apply_bounds([5.0, 1.0], [0.0, 0.0], [2.0, 2.0], min_band=0.05)
    assert lower[0] < upper[0]


# ---- dependent rows: what the next block will cover


def log_sizes(world: str, blocks: int, rng: np.random.Generator) -> Any:
    """How large the errors of each block are, on a log scale."""
    match world:
        case "exchangeable":
            return rng.normal(0, 0.2, blocks)
        case "random walk":
            return np.cumsum(rng.normal(0, 0.06, blocks))
        case "trend":
            return np.linspace(0, 0.5, blocks) + rng.normal(0, 0.05, blocks)
    raise ValueError(world)


def by_day(world: str, days: int, rows: int, rng: np.random.Generator) -> tuple[Intervals, Any]:
    """Normal errors whose size is that of the day, bands of 1, and the day of each row."""
    day = np.repeat(np.arange(days), rows)
    errors = rng.normal(size=len(day)) * np.exp(log_sizes(world, days, rng))[day]
    return Intervals.from_bands(errors, np.zeros(len(day)), np.ones(len(day))), day


@pytest.mark.slow
@pytest.mark.parametrize("world", ["exchangeable", "random walk", "trend"])
def test_the_range_of_the_next_block_holds_it_in_90_to_98_percent(world: str) -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        iv, day = by_day(world, 25, 200, rng)
        calibrator = IntervalCalibrator(coverage=0.9).fit(iv[day < 24], block=day[day < 24])
        outlook = calibrator.outlook_
        assert outlook is not None
        new = calibrator.apply(iv[day == 24])
        covered = ucc.coverage_score(new.y_true, new.lower, new.upper)
        held += outlook.next_block.low <= covered <= outlook.next_block.high
    assert 0.90 <= held / 200 <= 0.985


def test_a_factor_that_drifts_is_called_so() -> None:
    rng = np.random.default_rng(0)
    drifting, day = by_day("trend", 30, 200, rng)
    outlook = IntervalCalibrator(coverage=0.9).fit(drifting, block=day).outlook_
    assert outlook is not None
    assert outlook.drifts
    assert outlook.trend.first > 0.9 > outlook.trend.last
    assert "recent blocks need a larger one" in str(outlook)


def test_blocks_that_do_not_drift_seldom_seem_to() -> None:
    rng = np.random.default_rng(1)
    drifts = 0
    for _ in range(200):
        iv, day = by_day("exchangeable", 20, 40, rng)
        outlook = IntervalCalibrator(coverage=0.8).fit(iv, block=day).outlook_
        assert outlook is not None
        drifts += outlook.drifts
    assert drifts <= 20  # 10 are expected


def test_dependent_rows_know_less_of_the_factor_than_independent_ones() -> None:
    rng = np.random.default_rng(2)
    iv, day = by_day("exchangeable", 30, 100, rng)
    by_blocks = IntervalCalibrator(coverage=0.9).fit(iv, block=day)
    by_rows = IntervalCalibrator(coverage=0.9).fit(iv, block=1)
    assert by_blocks.scale_ == by_rows.scale_
    blocked, single = by_blocks.outlook_, by_rows.outlook_
    assert blocked is not None
    assert single is not None
    assert blocked.move.value == by_blocks.scale_
    assert blocked.move.low < single.move.low < by_blocks.scale_ < single.move.high
    assert single.move.high < blocked.move.high
    assert blocked.new_rows.high - blocked.new_rows.low > single.new_rows.high - single.new_rows.low


def test_the_trend_is_the_line_of_least_squares() -> None:
    iv = Intervals.from_bands([1.0, 3, 1, 3, 1, 1, 1, 1], np.zeros(8), np.ones(8))
    outlook = IntervalCalibrator(coverage=0.5, conformal=False).fit(iv, block=2).outlook_
    assert outlook is not None
    # coverages .5, .5, 1, 1 of a factor of 1: slope .2 per block, residuals .05, -.15, .15, -.05
    assert_allclose(outlook.trend.first, 0.45)
    assert_allclose(outlook.trend.last, 1.05)
    t = 0.2 / np.sqrt(0.05 / 2 / 5)
    assert_allclose(outlook.trend.pvalue, 2 * (1 - stats.t.cdf(t, 2)))


def test_groups_have_an_outlook_too_and_few_blocks_say_so() -> None:
    rng = np.random.default_rng(3)
    iv, day = by_day("exchangeable", 20, 60, rng)
    site = np.tile(["N", "S"], len(day) // 2)
    outlook = IntervalCalibrator(coverage=0.8).fit(iv, groups=site, block=day).outlook_
    assert outlook is not None
    assert not outlook.move.has_interval
    assert outlook.next_block.low < 0.8 < outlook.next_block.high
    few = IntervalCalibrator(coverage=0.8).fit(iv, block=600).outlook_
    assert few is not None
    assert str(few).endswith("Only 2 blocks: what the next one will cover is unknown.")


# ---- what an assessment decided


def test_a_calibrator_ships_what_the_verdict_names() -> None:
    models = {f"m{seed}": made(150, seed=seed) for seed in range(1)}
    models["wider"] = models["m0"].calibrated(scale=3.0)
    a = ucc.assess(models, coverage=0.8)
    for calibrator in (
        IntervalCalibrator.from_assessment(a),
        IntervalCalibrator.from_assessment(a.to_json()),
    ):
        assert calibrator.scale_ == a.verdict.scale
        again = IntervalCalibrator.from_json(calibrator.to_json())
        assert again.scale_ == a.verdict.scale
        assert again.coverage == a.verdict.coverage


def test_a_shift_of_an_assessment_is_a_shift() -> None:
    a = ucc.assess(ucc.UCC(made(100), vary="shift"), coverage=0.8)
    calibrator = IntervalCalibrator.from_assessment(a)
    assert calibrator.vary == "shift"
    assert calibrator.shift_ == a.verdict.shift


def test_an_assessment_without_a_factor_ships_nothing() -> None:
    a = ucc.assess(made(5), coverage=0.9)
    with pytest.raises(ValueError, match="names no factor that would ship: No factor brings"):
        IntervalCalibrator.from_assessment(a)
    with pytest.raises(ValueError, match="must be one, or the JSON that its to_json wrote"):
        IntervalCalibrator.from_assessment('{"schema": 1}')
