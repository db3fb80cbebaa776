"""The command line and forecasts of several levels: quantiles, samples, forecast hubs, and rows matched by keys."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from test_cli import Run, refused, run
from uccurve.adapters import models_from_frame

__all__ = ["run"]  # the fixture
SERIES, STEPS = 24, 40
LEVELS = {80: 1.2816, 90: 1.6449, 95: 1.96}
MODELS = {"ETS": 1.0, "Naive": 1.4, "Net": 0.6}
"""Models, and the factor by which their bands are too wide; the 95% level of ETS is too narrow."""
KEYS = ("--on", "unique_id,ds")


def assert_close(found: Any, expected: Any) -> None:
    """Numbers of nested JSON agree to twelve digits."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_close(found[name], value)
    elif isinstance(expected, float):
        assert_allclose(found, expected, rtol=1e-12)
    else:
        assert found == expected


def panel(seed: int = 0) -> pl.DataFrame:
    """Forecasts of three models for 24 series in Nixtla's form, with three levels each."""
    rng = np.random.default_rng(seed)
    n = SERIES * STEPS
    centre = rng.normal(size=n)
    columns: dict[str, Any] = {
        "unique_id": [f"s{i // STEPS:02}" for i in range(n)],
        "ds": [i % STEPS for i in range(n)],
        "y": centre + rng.normal(size=n),
    }
    for name, factor in MODELS.items():
        columns[name] = centre + rng.normal(size=n) / 10
        for level, z in LEVELS.items():
            half = factor * z * (0.85 if (name, level) == ("ETS", 95) else 1)
            columns |= {
                f"{name}-lo-{level}": columns[name] - half,
                f"{name}-hi-{level}": columns[name] + 1.01 * half,
            }
    return pl.DataFrame(columns)


def hub(frame: pl.DataFrame, name: str = "ETS") -> pl.DataFrame:
    """The same forecasts of one model with one row per quantile, without the observations."""
    ends = {str((100 - level) / 200): f"{name}-lo-{level}" for level in LEVELS}
    ends |= {str((100 + level) / 200): f"{name}-hi-{level}" for level in LEVELS} | {"0.5": name}
    keys = ["unique_id", "ds"]
    parts = [
        frame.select(*keys, output_type_id=pl.lit(q), value=column) for q, column in ends.items()
    ]
    return pl.concat(parts).with_columns(output_type=pl.lit("quantile"), model_id=pl.lit(name))


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    panel().write_csv(tmp_path / "panel.csv")
    panel().select("unique_id", "ds", observation="y").write_csv(tmp_path / "observed.csv")
    hub(panel()).write_csv(tmp_path / "hub.csv")


def numbers(run: Run, *arguments: str) -> Any:
    found = run("assess", *arguments, "--coverage", "90%", "--json", "-")
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_a_panel_is_one_row_per_model_and_one_pair_for_each_two(run: Run) -> None:
    found = numbers(run, "panel.csv", "--block", "unique_id")
    series = panel()["unique_id"]
    a = ucc.assess(models_from_frame(panel()), coverage=0.9, block=series, series=series)
    assert found == json.loads(a.to_json())
    assert len(found["models"]) == len(found["comparisons"]) == 3
    unasked = run("assess", "panel.csv")
    assert "rows of the same ds form a block: --block COLUMN chooses another" in unasked.stderr
    assert f"Dependent rows: {STEPS} blocks by ds." in unasked.stdout
    independent = run("assess", "panel.csv", "--block", "none")
    assert "Dependent rows" not in independent.stdout


def test_a_hub_and_its_observations_are_matched_by_keys(run: Run, tmp_path: Path) -> None:
    own = panel().select(
        "unique_id", "ds", "y", *(name for name in panel().columns if name.startswith("ETS"))
    )
    own.write_csv(tmp_path / "own.csv")
    hub(panel()).sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "shuffled.csv")
    wide = numbers(run, "own.csv")["models"]
    for files in (
        ("hub.csv", "observed.csv"),
        ("observed.csv", "hub.csv"),
        ("observed.csv", "shuffled.csv"),
    ):
        found = numbers(run, *files, *KEYS)["models"]
        for field in ("coverage", "scale", "half_width", "score", "crps", "skill"):
            assert_close(found["ETS"][field], wide["ETS"][field])
    together = hub(panel()).join(panel().select("unique_id", "ds", "y"), on=["unique_id", "ds"])
    together.write_parquet(tmp_path / "together.parquet")
    assert numbers(run, "together.parquet")["models"] == wide
    said = run("assess", "hub.csv", "observed.csv", *KEYS).stderr
    assert "hub.csv: ETS is 7 quantiles" in said
    assert "observed.csv: observed is observation" in said
    refused(
        run("assess", "hub.csv"),
        "hub.csv has no column for the observation .* or --truth FILE where another file has",
    )


def test_weights_are_those_of_the_forecasts_where_another_file_has_the_observations(
    run: Run, tmp_path: Path
) -> None:
    weighted = panel().with_columns(w=1.0 + pl.int_range(pl.len()) % 3)
    weighted.write_csv(tmp_path / "weighted.csv")
    weighted.drop("y").write_csv(tmp_path / "forecasts.csv")
    asked = ("--weight", "w")
    whole = numbers(run, "weighted.csv", *asked)["models"]
    assert numbers(run, "forecasts.csv", "observed.csv", *KEYS, *asked)["models"] == whole


def test_segments_and_blocks_may_be_columns_of_any_file(run: Run, tmp_path: Path) -> None:
    labelled = panel().select("unique_id", "ds", "y", region=pl.col("unique_id").str.slice(0, 2))
    labelled.write_csv(tmp_path / "labelled.csv")
    found = numbers(run, "hub.csv", "labelled.csv", *KEYS, "--by", "region", "--block", "unique_id")
    assert [one["label"] for one in found["segments"]] == ["s0", "s1", "s2"]
    assert found["settings"]["block"] == "24 blocks by unique_id"


def test_forecasts_of_series_that_the_truth_lacks_do_not_wait(run: Run, tmp_path: Path) -> None:
    some = panel().select("unique_id", "ds", "y")
    lacking = some.filter(~pl.col("unique_id").is_in(["s00", "s01", "s02", "s03"]))
    lacking.write_csv(tmp_path / "lacking.csv")
    lacking.filter(pl.col("ds") < lacking["ds"].max()).write_csv(tmp_path / "waiting.csv")
    of_series = panel().filter(pl.col("unique_id").is_in(["s00", "s01", "s02", "s03"])).height
    last = lacking.filter(pl.col("ds") == lacking["ds"].max()).height
    asked = (*KEYS, "--coverage", "90%", "--json", "-")
    alone = json.loads(run("assess", "hub.csv", "lacking.csv", *asked).stdout)
    which = "does not have the unique_id (s00, s01, s02 and one more)"
    note = f"lacking.csv {which} of {of_series} of 960 forecasts, which were left out"
    assert note in alone["notes"]
    both = json.loads(run("assess", "hub.csv", "waiting.csv", *asked).stdout)
    note = (
        f"waiting.csv {which} of {of_series} of 960 forecasts, and {last} wait for their observation: "
        f"these {of_series + last} were left out"
    )
    assert note in both["notes"]


def test_forecasts_without_an_observation_wait_and_are_counted(run: Run, tmp_path: Path) -> None:
    panel().select("unique_id", "ds", "y").head(930).write_csv(tmp_path / "part.csv")
    asked = ("assess", "hub.csv", "part.csv", *KEYS, "--coverage", "90%")
    found = json.loads(run(*asked, "--json", "-").stdout)
    assert "30 of 960 forecasts wait for their observation and were left out" in found["notes"]
    assert found["models"]["ETS"]["n"] == 930
    assert found["missing"] is None
    weeks = panel().rename({"ds": "week"})
    weeks.drop("y").write_csv(tmp_path / "weeks.csv")
    early = weeks.filter(pl.col("week") < weeks["week"].max())
    early.select("unique_id", "week", "y").write_csv(tmp_path / "early.csv")
    told = run("assess", "weeks.csv", "early.csv", "--on", "unique_id,week", "--json", "-").stdout
    waiting = f"{len(weeks) - len(early)} of 960 forecasts wait for their observation"
    assert any(waiting in note for note in json.loads(told)["notes"])
    pl.concat([panel(), panel().head(3)]).write_csv(tmp_path / "twice.csv")
    refused(
        run("assess", "hub.csv", "twice.csv", *KEYS),
        "unique_id, ds must name each row once: 6 of 963 rows of twice.csv",
    )
    panel().with_columns(ds=pl.col("ds") + 100).write_csv(tmp_path / "later.csv")
    refused(
        run("assess", "hub.csv", "later.csv", *KEYS),
        "files must have rows in common by unique_id, ds",
    )
    refused(run("assess", "panel.csv", "part.csv"), "part.csv has no prediction with its bounds")
    panel().head(900).write_csv(tmp_path / "shorter.csv")
    sentence = "files must have the same rows: panel.csv 960, shorter.csv 900. Hint: --on unique_id,ds matches them"
    refused(run("assess", "panel.csv", "shorter.csv"), sentence)


def test_one_observation_belongs_to_forecasts_of_several_horizons(run: Run, tmp_path: Path) -> None:
    ahead = pl.concat(
        [hub(panel()).with_columns(horizon=h, value=pl.col("value") + h / 10) for h in range(3)]
    )
    ahead = ahead.with_columns(target=pl.lit("admissions"))
    ahead.write_csv(tmp_path / "ahead.csv")
    shuffled = ahead.with_columns(model_id=pl.lit("Other")).sample(fraction=1, shuffle=True, seed=2)
    shuffled.write_csv(tmp_path / "other.csv")
    found = numbers(run, "ahead.csv", "other.csv", "observed.csv", *KEYS, "--by", "horizon")
    assert found["models"]["ETS"]["n"] == 3 * SERIES * STEPS
    assert found["models"]["ETS"]["score"] == found["models"]["Other"]["score"]
    assert [one["label"] for one in found["segments"]][:3] == ["0", "1", "2"]
    wide = numbers(run, "hub.csv", "observed.csv", *KEYS)["models"]["ETS"]
    assert_close(found["segments"][0]["coverage"], wide["coverage"])
    pl.concat([ahead, ahead.filter(pl.col("horizon") == 2)]).write_csv(tmp_path / "twice.csv")
    refused(run("assess", "twice.csv", "observed.csv", *KEYS), "must occur once in each forecast")


def test_crossing_quantiles_are_counted_model_by_model(run: Run, tmp_path: Path) -> None:
    swapped = pl.int_range(pl.len()) < 5
    frame = panel().with_columns(
        pl.when(swapped).then("Net-hi-95").otherwise("Net-hi-90").alias("Net-hi-90"),
        pl.when(swapped).then("Net-hi-90").otherwise("Net-hi-95").alias("Net-hi-95"),
    )
    frame.write_csv(tmp_path / "crossing.csv")
    sentence = r"Net: `quantiles` must not cross from one level to the next: 5 of 960 rows do, .* --sort-crossing"
    refused(run("assess", "crossing.csv"), sentence)
    found = run("assess", "crossing.csv", "--sort-crossing")
    assert "uccurve: Net: sorted crossing quantiles in 5 of 960 rows" in found.stderr
    assert found.stdout == run("assess", "panel.csv").stdout


def test_samples_are_one_model_of_many_levels(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"y": rng.normal(size=80), **{f"net_sample_{i}": rng.normal(size=80) for i in range(150)}}
    )
    frame.write_parquet(tmp_path / "samples.parquet")
    found = run("assess", "samples.parquet", "--coverage", "90%", "--json", "-")
    assert "samples.parquet: net is 150 samples; observed is y" in found.stderr
    a = ucc.assess(models_from_frame(frame), coverage=0.9)
    assert json.loads(found.stdout) == json.loads(a.to_json())
    refused(
        run("assess", "samples.parquet", "--engine", "polars"),
        "a model of samples needs the rows in memory",
    )
    refused(
        run("calibrate", "samples.parquet", "--save", "c.json"),
        "net has samples, and bounds are calibrated",
    )


def test_a_hub_that_cannot_be_put_together_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    bad = hub(panel()).with_columns(output_type_id=pl.col("output_type_id").replace("0.5", "1.5"))
    bad.write_csv(tmp_path / "bad.csv")
    refused(
        run("assess", "bad.csv", "observed.csv", *KEYS),
        "bad.csv: `quantile` must lie between 0 and 1",
    )
    pl.concat([hub(panel()), hub(panel()).head(2)]).write_csv(tmp_path / "bad.csv")
    rule = r"bad.csv: `output_type_id` must occur once in each forecast \(unique_id, ds\)"
    sentence = f"{rule}: 4 of 6722 rows are repeated"
    refused(run("assess", "bad.csv", "observed.csv", *KEYS), sentence)


def test_calibrated_levels_are_nested_and_cover_what_they_promise(run: Run, tmp_path: Path) -> None:
    panel(1).write_parquet(tmp_path / "new.parquet")
    found = run("calibrate", "panel.csv", "new.parquet", "-o", "out.parquet", "--save", "cal.json")
    assert found.returncode == 0, found.stderr
    out = pl.read_parquet(tmp_path / "out.parquet")
    for name in MODELS:
        ends = [out[f"{name}-lo-{level}"].to_numpy() for level in reversed(LEVELS)]
        ends += [out[name].to_numpy()] + [out[f"{name}-hi-{level}"].to_numpy() for level in LEVELS]
        assert (np.diff(ends, axis=0) >= 0).all()
        for level in LEVELS:
            covered = (
                out["y"].is_between(out[f"{name}-lo-{level}"], out[f"{name}-hi-{level}"]).to_numpy()
            )
            assert_allclose(
                covered.mean(), level / 100, atol=0.03
            )  # two sets of 960 rows: 3 standard errors at 80%
    later = run("apply", "cal.json", "new.parquet", "-o", "later.parquet")
    assert later.returncode == 0, later.stderr
    assert pl.read_parquet(tmp_path / "later.parquet").equals(out)


def test_levels_that_would_no_longer_be_nested_are_widened_and_counted(
    run: Run, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    half = rng.uniform(0.5, 1.5, 400)
    frame = pl.DataFrame({"y": rng.normal(size=400), "m": np.zeros(400)})
    for level, band in (
        (80, half),
        (95, np.full(400, 2.5)),
    ):  # once scaled, the outer bands of some rows are too small
        frame = frame.with_columns(
            pl.Series(f"m-lo-{level}", -band), pl.Series(f"m-hi-{level}", band)
        )
    frame.write_csv(tmp_path / "m.csv")
    found = run("calibrate", "m.csv", "m.csv", "-o", "out.csv")
    assert found.returncode == 0, found.stderr
    out = pl.read_csv(tmp_path / "out.csv")
    factors = [
        ucc.IntervalCalibrator(coverage=level / 100)
        .fit(ucc.Intervals.from_bands(frame["y"], frame["m"], frame[f"m-hi-{level}"]))
        .scale_
        for level in (80, 95)
    ]
    inner, outer = (
        factor * frame[f"m-hi-{level}"].to_numpy()
        for factor, level in zip(factors, (80, 95), strict=True)
    )
    count = int((inner > outer).sum())
    assert 0 < count < 400
    assert (
        f"m: wider levels were widened to contain narrower ones in {count} of 400 rows"
        in found.stderr
    )
    assert_allclose(out["m-hi-95"].to_numpy(), np.maximum(inner, outer), rtol=1e-12)
    assert_allclose(out["m-hi-80"].to_numpy(), inner, rtol=1e-12)


def test_calibrating_one_level_never_crosses_the_others(run: Run, tmp_path: Path) -> None:
    one = ("--model", "Net=Net,Net-lo-80,Net-hi-80")  # bands of 0.6 of what they should be
    found = run("calibrate", "panel.csv", "panel.csv", "-o", "out.csv", "--save", "cal.json", *one)
    sentence = (
        r"panel.csv, Net: calibrated bounds must not cross the model's other levels \(Net-lo-95, Net-lo-90, Net-hi-90, "
        r"Net-hi-95\): they would in 960 of 960 rows, first row 0. Hint: calibrate all levels together, or leave"
    )
    refused(found, sentence)
    assert not (tmp_path / "out.csv").exists()
    alone = panel().select("unique_id", "ds", "y", "Net", "Net-lo-80", "Net-hi-80")
    alone.write_csv(tmp_path / "alone.csv")
    assert (
        run(
            "calibrate", "panel.csv", "alone.csv", "-o", "out.csv", "--save", "cal.json", *one
        ).returncode
        == 0
    )
    refused(run("apply", "cal.json", "panel.csv", "-o", "other.csv"), sentence)
    inner = (
        "--model",
        "Naive=Naive,Naive-lo-80,Naive-hi-80",
    )  # too wide, so that it shrinks and stays inside
    assert run("calibrate", "panel.csv", "panel.csv", "-o", "inner.csv", *inner).returncode == 0


def test_a_hub_is_calibrated_into_one_row_per_forecast(run: Run, tmp_path: Path) -> None:
    hub(panel()).join(panel().select("unique_id", "ds", "y"), on=["unique_id", "ds"]).write_csv(
        tmp_path / "cal.csv"
    )
    found = run("calibrate", "cal.csv", "hub.csv", "-o", "out.csv", "--y", "y")
    assert found.returncode == 0, found.stderr
    refused(run("assess", "hub.csv", "--y", "Y"), "hub.csv has no column Y; it has unique_id, ds")
    out = pl.read_csv(tmp_path / "out.csv")
    assert out.columns[:2] == ["unique_id", "ds"]
    assert len(out) == SERIES * STEPS
    covered = panel()["y"].is_between(out["ETS 0.025"], out["ETS 0.975"]).to_numpy()
    assert_allclose(covered.mean(), 0.95, atol=0.002)
