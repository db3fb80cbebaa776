"""Evidence without the rows: intervals, tests and verdict are those of memory, and hold as often as they say."""

from __future__ import annotations

import json
import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from streamed import agree, flat
from uccurve.evidence.inference import coverage_tail, holm
from uccurve.evidence.units import Blocks
from uccurve.points import plain
from uccurve.sketch import _second_pass

pl = pytest.importorskip("polars")
N, DAYS = 3000, 30
MODELS = {name: ("y_pred", f"{name}_lower", f"{name}_upper") for name in ("sharp", "vague", "even")}


def data(seed: int = 0, n: int = N, days: int = DAYS) -> dict[str, Any]:
    """Rows that depend on their day, with asymmetric bands, symmetric ones, and ones that know less."""
    rng = np.random.default_rng(seed)
    day = np.arange(n) * days // n
    spread = np.exp(0.5 * rng.normal(size=n) + 0.3 * rng.normal(size=days)[day])
    pred = 10 * rng.normal(size=n)
    found = {"y_true": pred + spread * rng.standard_t(5, size=n), "y_pred": pred, "day": day}
    for name, noise in (("sharp", 0.3), ("vague", 0.6), ("even", 0.3)):
        below, above = (1.4 * spread * np.exp(noise * rng.normal(size=n)) for _ in range(2))
        found |= {
            f"{name}_lower": pred - below,
            f"{name}_upper": pred + (below if name == "even" else above),
        }
    found["site"] = np.array(["north", "south", "east"])[rng.integers(0, 3, n)]
    found["w"] = rng.choice([0.0, 1.0, 2.0, 0.5], size=n)
    return found


def intervals(rows: dict[str, Any], name: str, weight: str | None = None) -> ucc.Intervals:
    columns = (rows[column] for column in ("y_true", *MODELS[name]))
    return ucc.Intervals.from_bounds(*columns, weight=None if weight is None else rows[weight])


ROWS = data()


def compare(found: ucc.Assessment, exact: ucc.Assessment) -> None:
    """Hold all numbers against those of memory: exact ones, bracketed ones, ends of intervals, tests and segments."""
    assert found.verdict.model == exact.verdict.model
    for row, same in zip(found.rows, exact.rows, strict=True):
        brackets = found.brackets[row.name]
        assert (row.rank, row.promise, row.n) == (same.rank, same.promise, same.n)
        numbers, others = flat(plain(row)), flat(plain(same))
        assert numbers.keys() == others.keys()
        for path, other in others.items():
            value = numbers[path]
            base, _, end = path.rpartition(".")
            unknown = ("climatology", "prediction", "pvalue", "cheapest_at", "concentration")
            if not isinstance(other, float) or path.endswith(unknown):
                continue
            if value is None:
                assert end in ("low", "high"), path
                assert base == "partial_gain" or "excess_deficit" in base, path  # asymmetric bands
                continue
            if base in ("scale", "half_width"):
                assert_allclose(value, other, rtol=0.01 if end == "value" else 0.08, err_msg=path)
                continue
            low, high = brackets.get(base.replace(".", "_"), (0.0, 0.0))
            low, high = brackets.get(path.replace(".", "_"), (low, high))
            length = (others.get(f"{base}.high") or other) - (others.get(f"{base}.low") or other)
            slack = high - low + 0.02 * length + 1e-9 * abs(other)
            assert abs(value - other) <= slack, (row.name, path, value, other)
    for one, two in zip(found.comparisons, exact.comparisons, strict=True):
        assert one.better == two.better
        assert two.pvalue <= one.pvalue * 1.02 + 1e-6  # what bins may hide does not count
        hidden = sum(
            np.ptp(found.brackets[name][one.statistic]) for name in (one.first, one.second)
        )
        slack = hidden + 0.02 * (two.difference.high - two.difference.low)
        for end in ("value", "low", "high"):
            assert abs(getattr(one.difference, end) - getattr(two.difference, end)) <= slack
    for part, same_part in zip(found.segments, exact.segments, strict=True):
        assert (part.title, part.model, part.fails, part.short) == (
            same_part.title,
            same_part.model,
            same_part.fails,
            same_part.short,
        )
        assert_allclose(
            [part.coverage.value, part.coverage.low, part.pvalue],
            [same_part.coverage.value, same_part.coverage.low, same_part.pvalue],
            rtol=1e-6,
        )
        assert_allclose(part.shipped_coverage.value, same_part.shipped_coverage.value, atol=0.01)


def in_words(assessment: ucc.Assessment) -> set[str]:
    """Notes without what only rows, or only bins, say; the slack of a score is known up to its bracket."""
    kept = {note for note in assessment.notes if "not corrected" not in note}
    return {re.sub(r"[\d.]+% above", "some % above", note) for note in kept}


@pytest.mark.parametrize("coverage", [0.9, None])
@pytest.mark.parametrize("block", [None, "day"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_an_assessment_of_a_frame_is_that_of_its_rows(
    coverage: float | None, block: str | None, weight: str | None
) -> None:
    models = {name: intervals(ROWS, name, weight) for name in MODELS}
    options: dict[str, Any] = {"coverage": coverage, "partial": (0.05, 0.2), "c": 0.3}
    exact = ucc.assess(
        models, block=None if block is None else ROWS[block], by={"site": ROWS["site"]}, **options
    )
    found = ucc.assess_frame(
        pl.LazyFrame(ROWS), MODELS, block=block, weight=weight, by="site", **options
    )
    assert str(found.settings.block).removesuffix(" by day") == str(exact.settings.block)
    compare(found, exact)
    assert found.engine == "polars"
    assert in_words(found) == in_words(exact)


def test_segments_are_tested_with_the_rows_that_the_factor_to_ship_covers() -> None:
    found = ucc.assess_frame(pl.LazyFrame(ROWS), MODELS, block="day", by="site", coverage=0.9)
    for name in MODELS:
        whole, segments = (
            intervals(ROWS, name),
            [one for one in found.segments if one.model == name],
        )
        factor = found.verdict.scale if name == found.verdict.model else found[name].scale.value
        covered = ucc.UCC(whole).path().critical <= factor
        expected = []
        for segment in segments:
            rows = np.flatnonzero(ROWS["site"] == segment.label)
            assert_allclose(segment.shipped_coverage.value, covered[rows].mean())
            blocks = Blocks.of(whole[rows], ROWS["day"][rows])
            expected.append(
                coverage_tail(covered[rows], None, blocks, 0.95, promised=Fraction(9, 10))
            )
        assert_allclose([one.shipped_pvalue for one in segments], holm(expected), rtol=1e-6)


@pytest.mark.parametrize("engine", ["pandas", "pyarrow", "duckdb", "ibis"])
def test_every_engine_finds_the_same(engine: str) -> None:
    module = pytest.importorskip(engine)
    table = pl.DataFrame(ROWS).to_arrow()
    make = {"pandas": table.to_pandas, "pyarrow": lambda: table}
    make |= {"duckdb": lambda: module.from_arrow(table), "ibis": lambda: module.memtable(table)}
    for block in (None, "day"):
        options: dict[str, Any] = {"coverage": 0.9, "block": block, "by": "site"}
        one = ucc.assess_frame(make[engine](), MODELS, **options).to_dict()
        two = ucc.assess_frame(pl.LazyFrame(ROWS), MODELS, **options).to_dict()
        assert one.pop("engine") == engine
        assert two.pop("engine") == "polars"
        flat_one, flat_two = flat(one), flat(two)
        assert flat_one.keys() == flat_two.keys()
        for name, value in flat_one.items():
            expected = flat_two[name]
            assert value == (
                pytest.approx(expected, rel=1e-6) if isinstance(expected, float) else expected
            ), name


def test_kept_sketches_of_days_give_the_verdict_of_the_rows() -> None:
    kept = {
        name: {
            day: ucc.UCCSketch().update(intervals(ROWS, name)[ROWS["day"] == day]).to_json()
            for day in range(DAYS)
        }
        for name in MODELS
    }
    read = {
        name: {day: ucc.UCCSketch.from_json(text) for day, text in days.items()}
        for name, days in kept.items()
    }
    found = ucc.assess_sketches(read, coverage=0.9)
    exact = ucc.assess(
        {name: intervals(ROWS, name) for name in MODELS}, coverage=0.9, block=ROWS["day"]
    )
    rows = [row for row in found.rows if np.isnan(row.missed_above)]
    assert len(rows) == 3
    streamed = ucc.assess_frame(pl.LazyFrame(ROWS), MODELS, coverage=0.9, block="day")
    for row, other in zip(found.rows, streamed.rows, strict=True):
        ends = streamed.brackets[row.name]["score"]
        assert ends[0] <= row.score.value <= ends[1]  # sketches ship the end of a bin
        for low, same_low in (
            (row.best_score.low, other.best_score.low),
            (row.crps_skill.high, other.crps_skill.high),
            (row.gains["bandwidth_deficit"].low, other.gains["bandwidth_deficit"].low),
            (row.coverage.low, other.coverage.low),
        ):
            assert_allclose(low, same_low, rtol=1e-7)
    for one, two in zip(found.comparisons, exact.comparisons, strict=True):
        assert one.better == two.better
    lists = {name: list(days.values()) for name, days in read.items()}
    assert ucc.assess_sketches(lists, coverage=0.9).verdict == found.verdict
    assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()  # noqa: S301  # our own


def test_a_higher_resolution_narrows_brackets_and_intervals() -> None:
    coarse, fine = (
        ucc.assess_frame(pl.LazyFrame(ROWS), MODELS, coverage=0.9, resolution=resolution)
        for resolution in (16, 128)
    )
    for one, two in zip(coarse.rows, fine.rows, strict=True):
        assert (
            np.ptp(fine.brackets[one.name]["scale"])
            < np.ptp(coarse.brackets[one.name]["scale"]) / 4
        )
        assert (
            np.ptp(fine.brackets[one.name]["score"])
            < np.ptp(coarse.brackets[one.name]["score"]) / 4
        )
        assert two.scale.high - two.scale.low < one.scale.high - one.scale.low
    many = data(1, n=60_000)
    fine = ucc.assess_frame(pl.LazyFrame(many), MODELS, coverage=0.9, resolution=128)
    exact = ucc.assess({name: intervals(many, name) for name in MODELS}, coverage=0.9)
    for row, same in zip(fine.rows, exact.rows, strict=True):
        assert_allclose(
            [row.scale.value, row.score.value, row.crps.value],
            [same.scale.value, same.score.value, same.crps.value],
            rtol=3e-4,
        )


def test_a_report_a_picture_and_json_come_from_sketches_too() -> None:
    pytest.importorskip("plotly")
    found = ucc.assess_frame(pl.LazyFrame(ROWS), MODELS, coverage=0.9, block="day", by="site")
    assert found.verdict.text.split(".")[0] in found.to_html()
    answer = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert answer["brackets"].keys() == set(MODELS)
    low, high = answer["brackets"]["sharp"]["score"]
    score = answer["models"]["sharp"]["score"]
    assert score["low"] < low < score["value"] < high < score["high"]
    pytest.importorskip("matplotlib")
    assert found.plot().axes


def test_rows_that_lack_a_value_are_dropped_for_all_models() -> None:
    rows = {name: np.array(column) for name, column in ROWS.items()}
    rows["vague_lower"][7] = np.nan
    rows["y_true"][[8, 9]] = np.nan
    with pytest.warns(ucc.DroppedRowsWarning, match=rf"^dropped 3 of {N} rows") as caught:
        found = ucc.assess_frame(pl.LazyFrame(rows), MODELS, coverage=0.9, missing="drop")
    assert len(caught) == 1
    assert {row.n for row in found.rows} == {N - 3}
    kept = {
        name: column[[i for i in range(N) if i not in (7, 8, 9)]] for name, column in rows.items()
    }
    exact = ucc.assess({name: intervals(kept, name) for name in MODELS}, coverage=0.9)
    for row, same in zip(found.rows, exact.rows, strict=True):
        assert_allclose(
            [row.coverage.value, row.missed_above], [same.coverage.value, same.missed_above]
        )


def test_raised_bands_are_raised_in_both_passes() -> None:
    exact = ucc.assess(
        {
            name: ucc.Intervals.from_bounds(
                *(ROWS[c] for c in ("y_true", *MODELS[name])), min_band="60%"
            )
            for name in MODELS
        },
        coverage=0.9,
    )
    compare(ucc.assess_frame(pl.LazyFrame(ROWS), MODELS, coverage=0.9, min_band="60%"), exact)


@pytest.mark.parametrize("tails", ["normal", "standard_t", "exponential", "lognormal", "poisson"])
@pytest.mark.parametrize("asymmetric", [False, True])
def test_three_scales_stand_for_all_in_the_standard_error_of_the_crps(
    tails: str, asymmetric: bool
) -> None:
    rng, n = np.random.default_rng(8), 20_000
    spread = np.exp(0.7 * rng.normal(size=n))
    error = spread * getattr(rng, tails)(
        *({"standard_t": (3,), "poisson": (0.7,)}.get(tails, ())), size=n
    )
    below, above = (np.sqrt(spread) * np.exp(0.4 * rng.normal(size=n)) for _ in range(2))
    rows = {
        "y_true": error,
        "y_pred": 0 * error,
        "lower": -below,
        "upper": above if asymmetric else below,
    }
    found = ucc.assess_frame(
        pl.LazyFrame(rows), {"a": ("y_pred", "lower", "upper")}, resolution=128
    )
    exact = ucc.assess({"a": ucc.Intervals.from_bounds(*rows.values())})
    for name, off in (("crps", 0.003), ("crps_skill", 0.025)):
        lengths = [
            getattr(one["a"], name).high - getattr(one["a"], name).low for one in (found, exact)
        ]
        assert_allclose(lengths[0] - np.ptp(found.brackets["a"][name]), lengths[1], rtol=off)


# ---- levels


def with_levels(rows: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Two models of three levels: their columns, what names these, and the same in memory."""
    rows, names, models = dict(rows), {}, {}
    weight = rows["w"]
    for name, size in (("sharp", 1.0), ("vague", 1.3)):
        columns: dict[float, tuple[str, str]] = {}
        for level, factor in ((0.5, 0.35), (0.8, 0.7), (0.95, 1.4)):
            columns[level] = f"{name}_lower_{level}", f"{name}_upper_{level}"
            for end, column in zip(("lower", "upper"), columns[level], strict=True):
                rows[column] = rows["y_pred"] + size * factor * (
                    rows[f"{name}_{end}"] - rows["y_pred"]
                )
        names[name] = ("y_pred", columns)
        models[name] = {
            level: (rows["y_true"], rows["y_pred"], rows[low], rows[high], weight)
            for level, (low, high) in columns.items()
        }
    return rows, names, models


@pytest.mark.parametrize("block", [None, "day"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_levels_of_a_frame_are_those_of_its_rows(block: str | None, weight: str | None) -> None:
    y_true = np.round(ROWS["y_true"], 1)
    rows, names, given = with_levels(
        ROWS | {"y_true": np.where(ROWS["day"] == 3, ROWS["y_pred"], y_true)}
    )  # some ties
    models = {
        name: {
            level: ucc.Intervals.from_bounds(*columns[:4], weight=columns[4] if weight else None)
            for level, columns in levels.items()
        }
        for name, levels in given.items()
    }
    exact = ucc.assess(models, coverage=0.9, block=None if block is None else rows[block])
    found = ucc.assess_frame(pl.LazyFrame(rows), names, coverage=0.9, block=block, weight=weight)
    for row, same in zip(found.rows, exact.rows, strict=True):
        numbers = flat(plain(row.wis))
        others = flat(plain(same.wis))
        low, high = found.brackets[row.name]["wis_potential"]
        assert low <= others.pop("potential") <= high
        assert low <= numbers.pop("potential") <= high < low * 1.002
        assert numbers == pytest.approx(others, rel=1e-6)
        assert row.pit is not None
        assert same.pit is not None
        assert flat(plain(row.pit)) == pytest.approx(flat(plain(same.pit)), rel=1e-9)
        for one, two in zip(row.levels, same.levels, strict=True):
            numbers, others = flat(plain(one)), flat(plain(two))
            for end in ("value", "low", "high"):
                factor, exact_factor = (each.pop(f"scale.{end}") for each in (numbers, others))
                assert factor == pytest.approx(exact_factor, rel=0.02 if end == "value" else 0.08)
            names = {path: numbers.pop(path) for path in ("model", "promise")}
            assert names == {path: others.pop(path) for path in ("model", "promise")}
            assert numbers == pytest.approx(others, rel=1e-9)
    for pair, other in zip(found.wis_comparisons, exact.wis_comparisons, strict=True):
        assert plain(pair.difference) == pytest.approx(plain(other.difference), rel=1e-6)
        assert_allclose(pair.pvalue, other.pvalue, rtol=1e-6, atol=1e-12)


def test_levels_that_cross_are_refused_as_in_memory() -> None:
    rows, names, _ = with_levels(ROWS)
    rows["vague_lower_0.5"] = np.where(
        np.arange(N) < 2, rows["vague_lower_0.8"] - 1, rows["vague_lower_0.5"]
    )
    sentence = rf"^vague: `levels` must be nested in their lower bounds: 2 of {N} rows are not\. Hint: sort crossing"
    with pytest.raises(ValueError, match=sentence):
        ucc.assess_frame(pl.LazyFrame(rows), names, coverage=0.9)


def test_levels_without_a_coverage_are_assessed_at_their_common_one_nearest_to_nine_tenths() -> (
    None
):
    rows, names, given = with_levels(ROWS)
    found = ucc.assess_frame(pl.LazyFrame(rows), names)
    models = {
        name: {level: ucc.Intervals.from_bounds(*columns[:4]) for level, columns in levels.items()}
        for name, levels in given.items()
    }
    exact = ucc.assess(models)
    assert found.settings.coverage == exact.settings.coverage == 0.95
    assert found.notes[0] == exact.notes[0]
    low, high = found.brackets["sharp"]["score"]
    assert low <= exact["sharp"].score.value <= high
    apart = {"sharp": names["sharp"], "vague": ("y_pred", {0.9: MODELS["vague"][1:]})}
    sentence = r"^models of several levels need `coverage` where they are streamed.*=0\.9\.$"
    with pytest.raises(ValueError, match=sentence):
        ucc.assess_frame(pl.LazyFrame(rows), apart)


# ---- the factor to ship


def test_a_factor_between_tied_scales_covers_what_it_promises() -> None:
    error = np.repeat(
        [0.2, 1.0, 1.01, 3.0], [500, 390, 20, 90]
    )  # two ties in one bin; the target lies on the lower
    rows = {"y_true": error, "y_pred": 0 * error, "lower": 0 * error - 1, "upper": 0 * error + 1}
    for coverage in (0.7, 0.8, 0.89):
        row = ucc.assess_frame(
            pl.LazyFrame(rows), {"a": ("y_pred", "lower", "upper")}, coverage=coverage
        )["a"]
        assert np.mean(error <= row.scale.value) >= coverage
        assert row.scale.value <= 1.01


# ---- how often it holds


def sketches(rows: dict[str, Any], days: int) -> dict[str, list[ucc.UCCSketch]]:
    whole = {name: intervals(rows, name) for name in ("sharp", "vague")}
    return {
        name: [ucc.UCCSketch().update(iv[rows["day"] == day]) for day in range(days)]
        for name, iv in whole.items()
    }


TRUTH = ucc.assess(
    {name: intervals(data(99, 400_000, 4000), name) for name in MODELS}, coverage=0.9
)


@pytest.mark.parametrize("repetitions", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_intervals_from_sketches_of_dependent_days_hold_as_often_as_they_say(
    repetitions: int,
) -> None:
    hits: dict[str, int] = dict.fromkeys(("coverage", "score", "skill", "crps", "half_width"), 0)
    for seed in range(repetitions):
        rows = data(seed, n=1000, days=25)
        row = ucc.assess_sketches({"sharp": sketches(rows, 25)["sharp"]}, coverage=0.9)["sharp"]
        for name in hits:
            estimate = getattr(row, name)
            hits[name] += estimate.low <= getattr(TRUTH["sharp"], name).value <= estimate.high
    assert min(hits.values()) >= 0.88 * repetitions, hits


@pytest.mark.parametrize("repetitions", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_intervals_of_independent_streamed_rows_hold_as_often_as_they_say(repetitions: int) -> None:
    hits: dict[str, int] = dict.fromkeys(("coverage", "score", "skill", "crps", "half_width"), 0)
    for seed in range(repetitions):
        rows = pl.LazyFrame(data(seed, n=500, days=500))
        row = ucc.assess_frame(rows, {"sharp": MODELS["sharp"]}, coverage=0.9)["sharp"]
        for name in hits:
            estimate = getattr(row, name)
            hits[name] += estimate.low <= getattr(TRUTH["sharp"], name).value <= estimate.high
    assert min(hits.values()) >= 0.86 * repetitions, hits


@pytest.mark.parametrize("repetitions", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_equal_models_are_seldom_told_apart(repetitions: int) -> None:
    alarms = 0
    for seed in range(repetitions):
        rows, other = data(seed, n=600, days=20), data(10_000 + seed, n=600, days=20)
        swapped = np.random.default_rng(seed).random(600) < 0.5  # exchangeable by construction
        rows |= {
            "vague_lower": np.where(
                swapped,
                rows["sharp_lower"],
                rows["y_pred"] - (other["y_pred"] - other["sharp_lower"]),
            ),
            "vague_upper": np.where(
                swapped,
                rows["sharp_upper"],
                rows["y_pred"] + (other["sharp_upper"] - other["y_pred"]),
            ),
        }
        first = {
            end: np.where(
                swapped,
                rows["y_pred"] + sign * np.abs(other[f"sharp_{end}"] - other["y_pred"]),
                rows[f"sharp_{end}"],
            )
            for end, sign in (("lower", -1), ("upper", 1))
        }
        rows |= {"sharp_lower": first["lower"], "sharp_upper": first["upper"]}
        (pair,) = ucc.assess_sketches(sketches(rows, 20), coverage=0.9).comparisons
        alarms += pair.pvalue <= 0.05
    assert alarms <= 0.05 * repetitions + 3 * np.sqrt(0.05 * 0.95 * repetitions)


# ---- bad input


def test_questions_that_cannot_be_answered_are_refused_in_one_sentence() -> None:
    lazy = pl.LazyFrame(ROWS)
    with pytest.raises(
        ValueError,
        match=r"^`block` must name a column of `frame`; got 'dya'\. Its columns are .*Did you mean 'day'",
    ):
        ucc.assess_frame(lazy, MODELS, block="dya")
    null = lazy.with_columns(day=pl.when(pl.col("day") > 2).then("day"))
    with pytest.raises(
        ValueError,
        match=rf"^`block` must hold a label in each row: 300 of {N} rows have none\. Hint:",
    ):
        ucc.assess_frame(null, MODELS, block="day")
    with pytest.raises(
        ValueError, match=rf"^`by` must hold a label in each row: 300 of {N} rows have none\. Hint:"
    ):
        ucc.assess_frame(null, MODELS, by="day")
    with pytest.raises(
        ValueError, match=r"^`models\['a'\]` must be three columns: y_pred, lower, upper"
    ):
        ucc.assess_frame(lazy, {"a": ("y_pred", "sharp_lower")})
    with pytest.raises(ValueError, match=r"^`models` must name at least one model\."):
        ucc.assess_frame(lazy, {})
    with pytest.raises(ValueError, match=r"^vague: `lower` must not exceed `upper`"):
        ucc.assess_frame(lazy.with_columns(vague_lower=pl.col("vague_upper") + 1), MODELS)
    with pytest.raises(ValueError, match=r"^`resolution` must be one of 16, 32, 64, 128; got 20\."):
        ucc.assess_frame(lazy, MODELS, resolution=20)
    with pytest.raises(ValueError, match=r"^`confidence_level` must lie between 0 and 1"):
        ucc.assess_frame(lazy, MODELS, confidence_level=95)
    with pytest.raises(
        TypeError, match=r"^labels of `by` and `block` must be text, numbers or dates"
    ):
        ucc.assess_frame(lazy.with_columns(day=pl.concat_list("day", "day")), MODELS, block="day")


def test_labels_are_few_and_no_floats() -> None:
    lazy = pl.LazyFrame(ROWS).with_columns(row=pl.int_range(N))
    with pytest.raises(
        TypeError,
        match=r"^`by` must name columns of labels; w holds floats\. Hint: cut them into bins",
    ):
        ucc.assess_frame(lazy, MODELS, by=["site", "w"])
    with pytest.raises(
        ValueError, match=r"^`by` must have at most 1,000 labels: site, row has 3,000\. Hint:"
    ):
        ucc.assess_frame(lazy, MODELS, by=["site", ("site", "row")])


@pytest.mark.parametrize("names", [["sharp"], ["sharp", "vague"]])
def test_rows_that_change_between_scans_are_refused(names: list[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    some = duckdb.from_arrow(pl.DataFrame(ROWS).to_arrow()).filter("random() < 0.5")
    with pytest.raises(
        ValueError, match=r"^`frame` must give the same rows each time it is read\. Hint:"
    ):
        ucc.assess_frame(some, {name: MODELS[name] for name in names}, coverage=0.9)


@pytest.mark.parametrize("block", [None, "day"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_perfect_predictions_are_assessed_as_in_memory(
    block: str | None, weight: str | None
) -> None:
    rows = ROWS | {"y_true": ROWS["y_pred"]}
    for names in (["sharp"], ["sharp", "vague"]):
        asked = {name: MODELS[name] for name in names}
        found = ucc.assess_frame(
            pl.LazyFrame(rows), asked, coverage=0.9, block=block, weight=weight
        )
        labels = None if block is None else rows[block]
        exact = ucc.assess(
            {name: intervals(rows, name, weight) for name in names}, coverage=0.9, block=labels
        )
        assert str(found.verdict) == str(exact.verdict)
        assert found["sharp"].scale.value == 0


def test_timestamps_are_labels_as_in_memory() -> None:
    time = np.datetime64("2026-01-01T06:00", "ns") + ROWS["day"] // 10 * np.timedelta64(1, "D")
    frame = pl.DataFrame(ROWS | {"time": time}).with_columns(date=pl.col("time").dt.date())
    assert frame["time"].dtype == pl.Datetime("ns")
    exact = ucc.assess(
        {"even": intervals(ROWS, "even")}, by={"time": time, "date": frame["date"].to_numpy()}
    )
    found = ucc.assess_frame(frame.lazy(), {"even": MODELS["even"]}, by=["time", "date"])
    assert [one.title for one in found.segments] == [one.title for one in exact.segments]
    assert found.segments[0].label == "2026-01-01 06:00:00"


def test_few_blocks_are_noted_as_in_memory() -> None:
    half = ROWS["day"] // 15
    exact = ucc.assess({"even": intervals(ROWS, "even")}, block=half)
    found = ucc.assess_frame(
        pl.LazyFrame(ROWS | {"half": half}), {"even": MODELS["even"]}, block="half"
    )
    assert found.notes == exact.notes
    assert found.notes[0].startswith("there are only 2 blocks")
    kept = {"even": [ucc.UCCSketch().update(intervals(ROWS, "even")[half == i]) for i in range(2)]}
    assert ucc.assess_sketches(kept).notes == exact.notes


def test_one_block_says_nothing_about_chance() -> None:
    found = ucc.assess_frame(
        pl.LazyFrame(ROWS).with_columns(day=pl.lit(1)), MODELS, coverage=0.9, block="day"
    )
    start = "all rows form one block, so there are no confidence intervals or tests"
    assert any(note.startswith(start) for note in found.notes)
    assert np.isnan(
        [found["sharp"].score.low, found["sharp"].coverage.low, found.comparisons[0].pvalue]
    ).all()
    assert found["sharp"].promise == "unclear"


def test_sketches_of_other_blocks_or_rows_are_refused() -> None:
    kept = sketches(ROWS, DAYS)
    with pytest.raises(
        ValueError, match=r"^`models` must have the same blocks for each model, at least one\."
    ):
        ucc.assess_sketches({"sharp": kept["sharp"], "vague": kept["vague"][:-1]})
    with pytest.raises(
        ValueError, match=rf"^all models must have the same rows: sharp {N:,}, vague {N - 1:,}\."
    ):
        ucc.assess_sketches(
            {
                "sharp": kept["sharp"],
                "vague": [
                    ucc.UCCSketch().update(intervals(ROWS, "vague")[ROWS["day"] == 0][1:]),
                    *kept["vague"][1:],
                ],
            }
        )
    with pytest.raises(
        TypeError, match=r"^`models` must hold a UCCSketch for each block; got int\."
    ):
        ucc.assess_sketches({"sharp": [1]})  # type: ignore[list-item]


def test_a_single_sketch_is_one_block() -> None:
    kept = ucc.UCCSketch().update(intervals(ROWS, "sharp"))
    found, listed = (ucc.assess_sketches({"sharp": one}, coverage=0.9) for one in (kept, [kept]))
    assert found.verdict.text == listed.verdict.text
    assert any("one block" in note for note in found.notes)


@pytest.mark.parametrize("weight", [None, "w"])
def test_few_rows_that_carry_half_the_area_are_noted_as_in_memory(weight: str | None) -> None:
    rows = {name: np.array(values[:400]) for name, values in data(3).items()}
    for k, band in ((7, 1e-4), (50, 2e-4), (90, 4e-4)):  # their critical scales are huge
        rows["even_lower"][k], rows["even_upper"][k] = (
            rows["y_pred"][k] - band,
            rows["y_pred"][k] + band,
        )
    rows["w"][[7, 50, 90]] = 1.0
    exact = ucc.assess({"even": intervals(rows, "even", weight)}, coverage=0.9)
    found = ucc.assess_frame(
        pl.LazyFrame(rows), {"even": MODELS["even"]}, coverage=0.9, weight=weight
    )
    assert found.rows[0].concentration == exact.rows[0].concentration
    assert any("half the area" in note for note in exact.notes)
    assert [note for note in found.notes if "half the area" in note] == [
        note for note in exact.notes if "half the area" in note
    ]


@pytest.mark.parametrize("seed", [20, 41, 44, 48])
def test_of_scales_that_are_equally_good_the_smallest_counts(seed: int) -> None:
    error = np.random.default_rng(seed).standard_t(
        5, size=300
    )  # any scale that misses 3 rows is as good
    rows = {
        "y_true": error,
        "y_pred": 0 * error,
        "lower": np.full(300, -1.7),
        "upper": np.full(300, 1.7),
    }
    found = ucc.assess_frame(
        pl.LazyFrame(rows), {"constant": ("y_pred", "lower", "upper")}, coverage=0.99
    ).rows[0]
    exact = ucc.assess(ucc.Intervals.from_bounds(*rows.values()), coverage=0.99).rows[0]
    assert_allclose(
        (found.best_score.low, found.best_score.high),
        (exact.best_score.low, exact.best_score.high),
        rtol=0.05,
    )


def test_the_curves_of_a_stream_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    found = ucc.assess_frame(pl.LazyFrame(ROWS), {"even": MODELS["even"]}, coverage=0.9)
    exact = ucc.assess({"even": intervals(ROWS, "even")}, coverage=0.9)
    drawn, both = (one.plot("curves").axes[0] for one in (found, exact))
    assert drawn.get_xlabel() == both.get_xlabel()
    assert_allclose(drawn.get_xlim(), both.get_xlim(), rtol=0.01)


SENTINELS = [1e9, 1e14, 1e16, 1e18, 1e20]


@pytest.mark.parametrize("endless", SENTINELS)
def test_a_bound_that_stands_for_none_leaves_a_bracket_around_the_truth(endless: float) -> None:
    rng = np.random.default_rng(0)
    error = rng.standard_t(3, 200)
    above = rng.lognormal(size=200)
    rows = {"y_true": error, "p": 0 * error, "lower": np.full(200, -endless), "upper": above}
    found = ucc.assess_frame(pl.LazyFrame(rows), {"m": ("p", "lower", "upper")}, coverage=0.9)
    exact = ucc.assess(ucc.Intervals.from_bounds(*rows.values()), coverage=0.9).rows[0]
    low, high = found.brackets["m"]["delivered_excess"]
    assert low <= exact.delivered.excess <= high
    numbers = flat(plain(exact))
    for name in ("score", "best_score", "crps"):
        low, high = found.brackets["m"][name]
        assert low * (1 - 1e-9) <= numbers[f"{name}.value"] <= high * (1 + 1e-9)


def test_bands_beside_which_no_error_counts_are_refused_as_in_memory() -> None:
    error = np.random.default_rng(0).standard_t(3, 200)
    rows = {"y_true": error, "p": 0 * error, "lower": np.full(200, -1e30), "upper": 0 * error + 1}
    sentence = (
        r"^bands and errors must be of comparable size: float64 cannot hold .* judge one side"
    )
    with pytest.raises(ValueError, match=sentence):
        ucc.assess_frame(pl.LazyFrame(rows), {"m": ("p", "lower", "upper")}, coverage=0.9)
    with pytest.raises(ValueError, match=sentence):
        ucc.assess(ucc.Intervals.from_bounds(*rows.values()), coverage=0.9)


def test_errors_beside_zero_bands_alone_are_assessed_as_in_memory() -> None:
    error = np.random.default_rng(0).standard_t(3, 50)
    rows = {"y_true": error, "p": 0 * error, "lower": 0 * error, "upper": 0 * error}
    found = ucc.assess_frame(pl.LazyFrame(rows), {"m": ("p", "lower", "upper")}, coverage=0.9)
    exact = ucc.assess({"m": ucc.Intervals.from_bounds(*rows.values())}, coverage=0.9)
    assert found.verdict.headline == exact.verdict.headline
    agree(found.to_dict(), exact.to_dict())


def test_columns_that_cannot_be_streamed_are_refused_in_one_sentence() -> None:
    lazy = pl.LazyFrame(ROWS).with_columns(
        none=pl.lit(None), below=-pl.lit(np.inf), **{"*": pl.col("y_true")}
    )
    bounds = MODELS["sharp"][1:]
    with pytest.raises(ValueError, match=r"^`lower` must be finite: .* load the rows to judge one"):
        ucc.assess_frame(lazy, {"a": ("y_pred", "below", bounds[1])}, coverage=0.9)
    with pytest.raises(ValueError, match=r"^`models\['a'\]` must be three columns"):
        ucc.assess_frame(lazy, {"a": ("y_pred", None, bounds[1])}, coverage=0.9)
    with pytest.raises(ValueError, match=r"^`y_true` must hold numbers: none has no value at all"):
        ucc.assess_frame(lazy, {"a": MODELS["sharp"]}, y_true="none")
    with pytest.raises(ValueError, match=r"^a column must not be called '\*' while it is streamed"):
        ucc.assess_frame(lazy, {"a": MODELS["sharp"]}, y_true="*")
    twice = {0.9: bounds, np.float32(0.9): bounds}
    with pytest.raises(ValueError, match=r"^`levels` must differ; level 0\.9 is given twice\.$"):
        ucc.assess_frame(lazy, {"a": ("y_pred", twice)}, coverage=0.9)


def test_sums_that_are_formed_in_parts_meet_by_their_keys() -> None:
    first = {
        "day": np.array(["a", "b", None]),
        "rows": np.array([1, 2, 3]),
        "x": np.array([0.1, 0.2, 0.3]),
    }
    second = {
        "day": np.array([None, "a", "b"]),
        "rows": np.array([3, 1, 2]),
        "z": np.array([3.0, 1.0, 2.0]),
    }
    whole = _second_pass._joined_by(["day"], [first, second])
    assert whole["x"].tolist() == [0.1, 0.2, 0.3]
    assert whole["z"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"^`frame` must give the same rows each time"):
        _second_pass._joined_by(["day"], [first, second | {"rows": np.array([3, 1, 1])}])
