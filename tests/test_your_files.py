"""Files as the field has them: hubs, panels, folders, partitions and databases, each by the obvious command."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from test_cli import Run, models, refused, run

__all__ = ["run"]  # the fixture
DATA = Path(os.environ.get("UCCURVE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
HUBS = DATA / "hubs"
real = pytest.mark.skipif(not HUBS.is_dir(), reason=f"real files are not in {DATA}")


def numbers(found: subprocess.CompletedProcess[str]) -> Any:
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


# Published by others: scoringutils' README prints three digits of WIS, overprediction, underprediction, dispersion and
# of the coverage of 50% and 90% (epiforecasts/scoringutils at 936cae0d8707).
SCORINGUTILS: dict[str, dict[str, tuple[float, ...]]] = {
    "Cases": {
        "EuroCOVIDhub-ensemble": (17900, 10000, 4240, 3660, 0.391, 0.805),
        "EuroCOVIDhub-baseline": (28500, 14100, 10300, 4100, 0.328, 0.820),
        "epiforecasts-EpiNow2": (20800, 11900, 3260, 5660, 0.469, 0.789),
    },
    "Deaths": {
        "EuroCOVIDhub-ensemble": (41.4, 7.14, 4.1, 30.2, 0.875, 1),
        "EuroCOVIDhub-baseline": (159, 65.9, 2.1, 91.4, 0.664, 1),
        "UMass-MechBayes": (52.7, 8.98, 16.8, 26.9, 0.461, 0.875),
        "epiforecasts-EpiNow2": (66.6, 18.9, 15.9, 31.9, 0.42, 0.908),
    },
}


@real
@pytest.mark.parametrize("target", SCORINGUTILS)
def test_scoringutils_own_example_has_the_scores_that_its_authors_print(
    run: Run, target: str
) -> None:
    asked = (str(HUBS / "example_quantile.csv"), "--where", f"target_type={target}")
    found = numbers(run("assess", *asked, "--missing", "pairwise", "--json", "-"))
    assert set(found["models"]) == set(SCORINGUTILS[target])
    for name, expected in SCORINGUTILS[target].items():
        model = found["models"][name]
        wis = model["wis"]
        parts = (wis[part] for part in ("overprediction", "underprediction", "dispersion"))
        coverage = {level["level"]: level["coverage"]["value"] for level in model["levels"]}
        values = (wis["score"]["value"], *parts, coverage[0.5], coverage[0.9])
        assert [f"{value:.3g}" for value in values] == [f"{value:.3g}" for value in expected]


@real
def test_a_table_of_several_targets_is_refused_with_what_chooses_one(run: Run) -> None:
    path = str(HUBS / "example_quantile.csv")
    refused(run("assess", path), r"2 targets \(Cases, Deaths\).* Hint: --where 'target_type=Cases'")
    found = run("assess", path, "--where", "target_type=Deaths")
    assert found.returncode == 0, found.stderr
    # Rows that only observe are no missing rows; those that one model lacks are told.
    assert "Dropped: 9 of 128 rows (epiforecasts-EpiNow2 lacks 9)." in found.stdout
    assert "Dependent rows: 11 blocks by forecast_date." in found.stdout
    by_target = run("assess", path, "--by", "target_type", "--block", "none")
    assert by_target.returncode == 0, by_target.stderr


@real
def test_a_hub_and_its_truth_have_the_published_scores(run: Run) -> None:
    files = (str(HUBS / "eu_inc_case.csv.gz"), "--truth", str(HUBS / "eu_truth.csv"))
    found = numbers(run("assess", *files, "--json", "-"))
    assert found["missing"]["kept"] == 1095
    published = {
        "EuroCOVIDhub-ensemble": 728.5,
        "epiforecasts-tsensemble": 980.4,
        "EuroCOVIDhub-baseline": 1125.8,
        "Lydia-SARIMA": 2628.0,
    }
    for name, wis in published.items():
        assert_allclose(found["models"][name]["wis"]["score"]["value"], wis, atol=0.05)
    assert any("these 488 were left out" in note for note in found["notes"])
    unnamed = numbers(run("assess", files[0], files[2], "--json", "-"))
    assert unnamed == found


@real
@pytest.mark.parametrize("form", ["folders", "hub", "files"])
def test_a_hubs_own_folders_are_a_model_each(run: Run, form: str) -> None:
    layout = HUBS / "eu_layout"
    paths = {
        "folders": [str(path) for path in sorted(layout.iterdir())],
        "hub": [str(layout)],
        "files": [str(path) for path in sorted(layout.glob("*/*.csv"))],
    }
    files = [*paths[form], "--truth", str(HUBS / "eu_truth.csv")]
    several = run("assess", *files)
    refused(several, r"3 targets \(inc case, inc death, inc hosp\)")
    hint = re.search(r"Hint: --where '(.*)'", several.stderr)
    assert hint is not None
    found = run("assess", *files, "--where", hint[1])
    assert found.returncode == 0, found.stderr
    assert "No clear winner: ship EuroCOVIDhub-ensemble unchanged for 90% coverage" in found.stdout
    assert "Dropped: 296 of 476 rows (EuroCOVIDhub-ensemble lacks 296)." in found.stdout
    assert "only 4 origins (forecast_date): the evidence is weak" in found.stdout
    assert "dropped" not in found.stderr  # point forecasts are not needed


@real
def test_each_series_in_its_own_unit_is_another_answer_and_said_in_the_headings(run: Run) -> None:
    asked: tuple[str, ...] = ("assess", str(DATA / "panel" / "m4_hourly_cv.csv"))
    asked = (*asked, "--coverage", "95%")
    whole = numbers(run(*asked, "--json", "-"))
    raw = whole["models"]
    found = run(*asked, "--unit-by", "unique_id", "--reference", "SeasonalNaive")
    assert found.returncode == 0, found.stderr
    assert "in units of each unique_id's own spread" in found.stdout
    assert "skill vs. SeasonalNaive" in found.stdout
    assert "Over 69 values of unique_id, each counted once" in found.stdout
    asked = (*asked, "--unit-by", "unique_id", "--by", "horizon", "--reference", "SeasonalNaive")
    unit = numbers(run(*asked, "--json", "-"))
    assert unit["settings"]["row_unit"] == "each unique_id's own spread"
    hint = "carry more than half of the score; --unit-by unique_id divides rows"
    noted = [note for note in whole["notes"] if hint in note]
    assert any("2 of 69 series (unique_id H121 and H103)" in note for note in noted)
    assert not any("more than half" in note for note in unit["notes"])
    assert unit["models"]["SeasonalNaive"]["rank"] == 3
    assert unit["verdict"]["model"] == "AutoETS"
    labels = [segment["label"] for segment in unit["segments"] if segment["model"] == "MSTL"]
    assert labels == [str(step) for step in range(1, 25)]
    assert {winner["model"] for winner in unit["winners"]} <= {"AutoETS", "MSTL"}
    # Three series carry most of the score where all are in units of y; factors do not depend on the unit.
    assert raw["AutoETS"]["skill"]["value"] > 0.8
    assert unit["models"]["AutoETS"]["skill"]["value"] < 0.4
    for name, model in raw.items():
        assert model["scale"] == unit["models"][name]["scale"]
        assert unit["models"][name]["wis"]["score"]["value"] < 1


def test_units_say_what_they_cannot_measure(run: Run, tmp_path: Path) -> None:
    frame = models(80).with_columns(
        shop=pl.int_range(pl.len()) % 4, size=1.0 + pl.int_range(pl.len()) % 4
    )
    still = frame.with_columns(y=pl.when(pl.col("shop") == 2).then(1.0).otherwise("y"))
    frame.write_csv(tmp_path / "a.csv")
    still.write_csv(tmp_path / "still.csv")
    asked = ("assess", "still.csv", "--unit-by", "shop")
    refused(run(*asked), "each series needs a spread to be its unit: 2 of shop has one value only")
    assert run(*asked, "--unit-floor", "1").returncode == 0
    refused(run("assess", "a.csv", "--unit", "sice"), "a.csv has no column sice; .*'size'")
    found = numbers(run("assess", "a.csv", "--unit", "size", "--json", "-"))
    unit = frame["size"].to_numpy()
    intervals = {
        name: ucc.Intervals.from_bounds(
            frame["y"], *(frame[f"{name}_{role}"] for role in ("pred", "lower", "upper")), unit=unit
        )
        for name in "ab"
    }
    expected = ucc.assess(intervals)
    for name in "ab":
        assert_allclose(found["models"][name]["crps"]["value"], expected[name].crps.value)
        assert_allclose(
            found["models"][name]["half_width"]["value"], expected[name].half_width.value
        )
    assert found["settings"]["row_unit"] == "size"


def test_rows_are_chosen_before_anything_else(run: Run, tmp_path: Path) -> None:
    frame = models(90).with_columns(
        kind=pl.Series(["x", "y", "z"] * 30),
        when=pl.Series([f"2026-01-{1 + i % 30:02d}" for i in range(90)]),
    )
    frame.write_csv(tmp_path / "a.csv")
    frame.with_columns(pl.col("when").str.to_date()).write_parquet(tmp_path / "a.parquet")
    for path in ("a.csv", "a.parquet"):
        for conditions, kept in {
            ("kind=x",): 30,
            ("kind!=x",): 60,
            ("when>=2026-01-16",): 45,
            ("when<2026-01-04", "kind=y"): 3,
            ("id<=10",): 11 if path == "a.csv" else None,
        }.items():
            if kept is None:
                continue
            words = [word for condition in conditions for word in ("--where", condition)]
            found = numbers(run("assess", path, *words, "--block", "none", "--json", "-"))
            assert found["models"]["a"]["n"] == kept
    refused(
        run("assess", "a.csv", "--where", "kind=w"),
        "leaves no row of a.csv: column kind holds x, y, z",
    )
    refused(
        run("assess", "a.csv", "--where", "knd=x"), "a.csv has no column knd; .*Did you mean 'kind'"
    )
    together = ("--where", "kind=x", "--where", "when=2026-01-02")
    refused(run("assess", "a.csv", *together), "together leave no row of a.csv")
    assert run("assess", "a.csv", "--where", "kind").returncode == 2


def test_partitions_and_dated_files_are_one_table(run: Run, tmp_path: Path) -> None:
    frame = models(60)
    whole = run_of(run, tmp_path, frame)
    for place, day in enumerate(("2026-03-01", "2026-03-02", "2026-03-03")):
        part = frame[20 * place : 20 * (place + 1)]
        for kind in ("hive", "hive_csv", "nested"):
            name = day if kind == "nested" else f"day={day}"
            (tmp_path / kind / name).mkdir(parents=True)
        part.write_parquet(tmp_path / "hive" / f"day={day}" / "part-0.parquet")
        part.write_csv(tmp_path / "hive_csv" / f"day={day}" / "part-0.csv")
        part.write_parquet(tmp_path / "nested" / day / "part-0.parquet")
        part.write_csv(tmp_path / f"scored_{day}.csv")
    for paths in (
        ["hive"],
        ["hive_csv"],
        ["nested"],
        sorted(p.name for p in tmp_path.glob("scored_*")),
    ):
        found = numbers(run("assess", *paths, "--json", "-"))
        assert found["models"] == whole
    for path in ("hive", "hive_csv"):
        found = numbers(run("assess", path, "--by", "day", "--json", "-"))
        assert [segment["label"] for segment in found["segments"][:3]] == [
            "2026-03-01",
            "2026-03-02",
            "2026-03-03",
        ]
        streamed = run("assess", path, "--by", "day", "--engine", "polars", "--coverage", "80%")
        assert streamed.returncode == 0, streamed.stderr
    (tmp_path / "scored_2026-03-04.csv").write_text("y,pred\n1,2\n")
    paths = sorted(path.name for path in tmp_path.glob("scored_*"))
    refused(
        run("assess", *paths),
        "files of one table must have the same columns: .*2026-03-04.csv lacks",
    )


def run_of(run: Run, folder: Path, frame: pl.DataFrame) -> Any:
    frame.write_csv(folder / "whole.csv")
    return numbers(run("assess", "whole.csv", "--json", "-"))["models"]


def test_a_model_is_called_by_what_tells_its_path_from_the_others(run: Run, tmp_path: Path) -> None:
    frame = models(60).select("y", pred="a_pred", lower="a_lower", upper="a_upper")
    for name in ("gbr", "net"):
        for seed in ("1", "2"):
            (tmp_path / "runs" / name / seed).mkdir(parents=True, exist_ok=True)
            frame.write_csv(tmp_path / "runs" / name / seed / "out.csv")
    paths = [f"runs/{name}/{seed}/out.csv" for name in ("gbr", "net") for seed in "12"]
    found = numbers(run("assess", *paths, "--json", "-"))
    assert list(found["models"]) == ["gbr/1", "gbr/2", "net/1", "net/2"]
    frame.write_parquet(tmp_path / "2026-01-01.parquet")
    quoted = numbers(run("assess", "2026-01-0*.parquet", "--json", "-"))
    assert list(quoted["models"]) == [tmp_path.name]


def test_a_hubverse_folder_is_read_with_its_target_data(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    dates = pl.Series([f"2026-01-{3 + 7 * i:02d}" for i in range(4)])
    origins = pl.DataFrame({"reference_date": dates}).join(
        pl.DataFrame({"horizon": [0, 1, 2]}), how="cross"
    )
    tasks = origins.join(pl.DataFrame({"location": [f"{i:02d}" for i in range(20)]}), how="cross")
    ends = pl.col("reference_date").str.to_date() + pl.duration(weeks=pl.col("horizon"))
    tasks = tasks.with_columns(
        target=pl.lit("wk inc flu hosp"), target_end_date=ends.cast(pl.String)
    )
    quantiles = {"0.05": -1.64, "0.25": -0.67, "0.5": 0.0, "0.75": 0.67, "0.95": 1.64}
    for name, spread in {"team-flat": 1.0, "team-wide": 2.0}.items():
        rows = [
            tasks.with_columns(
                output_type=pl.lit("quantile"), output_type_id=pl.lit(q), value=10 + spread * z
            )
            for q, z in quantiles.items()
        ]
        mean = tasks.with_columns(
            output_type=pl.lit("mean"), output_type_id=pl.lit("NA"), value=10.0
        )
        for date in dates:
            place = tmp_path / "hub" / "model-output" / name
            place.mkdir(parents=True, exist_ok=True)
            table = pl.concat([*rows, mean]).filter(pl.col("reference_date") == date)
            table.write_csv(place / f"{date}-{name}.csv")
    observed = tasks.select("location", "target", "target_end_date").unique(maintain_order=True)
    observed = observed.with_columns(oracle_value=10 + rng.normal(size=len(observed)))
    (tmp_path / "hub" / "target-data").mkdir()
    observed.write_csv(tmp_path / "hub" / "target-data" / "oracle-output.csv")
    found = run("assess", "hub")
    assert found.returncode == 0, found.stderr
    assert "4 origins (reference_date): the evidence is weak" in found.stdout
    assert re.search(r"ship team-flat|Ship team-flat", found.stdout)
    # The same with truth as `date, value`, and the forecasts as samples.
    truth = observed.select("location", date="target_end_date", value="oracle_value")
    truth.write_csv(tmp_path / "truth.csv")
    named = run("assess", "hub/model-output", "--truth", "truth.csv")
    assert named.stdout == found.stdout
    samples = [
        tasks.with_columns(sample_id=pl.lit(i), value=10 + rng.normal(size=len(tasks)))
        for i in range(60)
    ]
    pl.concat(samples).write_parquet(tmp_path / "samples.parquet")
    sampled = run("assess", "samples.parquet", "--truth", "truth.csv", "--coverage", "80%")
    assert sampled.returncode == 0, sampled.stderr
    assert "samples.parquet: 60 samples" in sampled.stderr


def test_counts_stop_at_zero_where_that_is_said(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    mean = rng.uniform(1, 6, 400)
    y = rng.poisson(mean)
    frame = pl.DataFrame(
        {"y": y, "pred": mean, "lower": np.maximum(mean - 1, 0), "upper": mean + 1}
    )
    frame.write_csv(tmp_path / "demand.csv")
    asked = ("calibrate", "demand.csv", "demand.csv", "--coverage", "90%", "--block", "none")
    plain = run(*asked, "-o", "plain.csv")
    assert plain.returncode == 0, plain.stderr
    assert pl.read_csv(tmp_path / "plain.csv")["lower"].to_numpy().min() < 0
    clipped = run(*asked, "--support", "0:", "--save", "cal.json", "-o", "clipped.csv")
    assert clipped.returncode == 0, clipped.stderr
    bounds = pl.read_csv(tmp_path / "clipped.csv")
    assert bounds["lower"].min() == 0
    assert clipped.stdout == plain.stdout  # the factor and its promise are unchanged
    later = run("apply", "cal.json", "demand.csv", "-o", "later.csv")
    assert later.returncode == 0, later.stderr
    assert (tmp_path / "later.csv").read_bytes() == (tmp_path / "clipped.csv").read_bytes()
    widths = [
        numbers(run("assess", "demand.csv", "--coverage", "90%", *more, "--json", "-"))["models"][
            "demand"
        ]
        for more in ([], ["--support", "0:"])
    ]
    assert widths[0]["scale"] == widths[1]["scale"]
    assert widths[0]["half_width"]["value"] > widths[1]["half_width"]["value"]
    refused(
        run("assess", "demand.csv", "--support", "2:"),
        "`y_true` must lie within the support|support",
    )


def test_a_duckdb_table_is_read_by_its_name(run: Run, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    frame = models(60)
    whole = run_of(run, tmp_path, frame)
    with duckdb.connect(str(tmp_path / "dw.duckdb")) as connection:
        connection.execute("CREATE TABLE scored AS SELECT * FROM frame")
        connection.execute("CREATE TABLE other AS SELECT 1 AS x")
    assert numbers(run("assess", "dw.duckdb::scored", "--json", "-"))["models"] == whole
    refused(run("assess", "dw.duckdb"), r"it has other, scored\. Hint: dw\.duckdb::other")
    refused(run("assess", "dw.duckdb::scord"), "no table scord: .*Did you mean 'scored'")
    refused(run("assess", "nowhere.duckdb::scored"), "nowhere.duckdb does not exist")
    streamed = run("assess", "dw.duckdb::scored", "--engine", "polars", "--coverage", "80%")
    assert streamed.returncode == 0, streamed.stderr


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of PostgreSQL of our own on the loopback, with a table of models."""
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(binaries[-1]) if binaries else None)
    if initdb is None:
        pytest.skip("PostgreSQL's server (Debian: postgresql) is not installed")
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    folder = tmp_path_factory.mktemp("postgres")
    as_user: list[str] = []
    if os.geteuid() == 0:
        as_user = ["runuser", "-u", "postgres", "--"]
        for place in (folder, *list(folder.parents)[:2]):
            place.chmod(0o755)
        shutil.chown(folder, "postgres")
    data, server = folder / "data", Path(initdb).with_name("postgres")
    made = subprocess.run(
        [*as_user, initdb, "-D", str(data), "-A", "trust", "-U", "ann"],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"initdb failed: {made.stderr.strip().splitlines()[-1]}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder)]
    process = subprocess.Popen([*as_user, str(server), *options], stderr=subprocess.DEVNULL)
    address = f"postgresql://ann@127.0.0.1:{port}/postgres"
    try:
        yield _filled(address, process)
    finally:
        process.terminate()
        process.wait(30)


def _filled(address: str, process: Any) -> str:
    """Wait for the server, and write a table of models into it."""
    from time import sleep

    from adbc_driver_postgresql import dbapi  # type: ignore[import-untyped]  # it has no types

    for _ in range(100):
        try:
            connection = dbapi.connect(address)
            break
        except dbapi.Error:
            if process.poll() is not None:
                pytest.skip("PostgreSQL's server does not start here")
            sleep(0.2)
    else:
        pytest.skip("PostgreSQL's server does not answer")
    with connection, connection.cursor() as cursor:
        cursor.adbc_ingest("scored", models(60).to_arrow())
        connection.commit()
    return address


def test_a_table_of_postgresql_is_read_by_its_address(
    run: Run, tmp_path: Path, postgres: str
) -> None:
    whole = run_of(run, tmp_path, models(60))
    assert numbers(run("assess", f"{postgres}::scored", "--json", "-"))["models"] == whole
    refused(run("assess", f"{postgres}::scord"), "Did you mean 'scored'")
    secret = postgres.replace("ann@", "ann:secret@").rpartition(":")[0] + ":1/postgres"
    found = run("assess", f"{secret}::scored")
    refused(found, "cannot be reached")
    assert "secret" not in found.stderr


def test_three_million_rows_and_models_are_streamed_unless_memory_is_asked_for(
    run: Run, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    n = 3_000_000
    y = rng.normal(size=n).round(3)
    frame = pl.DataFrame({"y": y, "pred": np.zeros(n), "lower": -np.ones(n), "upper": np.ones(n)})
    frame.write_parquet(tmp_path / "large.parquet")
    found = run("assess", "large.parquet", "--coverage", "68%")
    assert found.returncode == 0, found.stderr
    assert (
        "streamed by polars, in bins of scales (--engine memory loads all rows, and is exact)"
        in found.stderr
    )
    frame.head(1000).write_parquet(tmp_path / "small.parquet")
    assert "streamed" not in run("assess", "small.parquet", "--coverage", "68%").stderr


def test_integers_of_few_values_are_labels_in_python_and_on_the_command_line(
    run: Run, tmp_path: Path
) -> None:
    hours = np.arange(800) % 14
    frame = models(800).with_columns(h=hours, k=pl.int_range(pl.len()) % 51)
    frame.write_csv(tmp_path / "a.csv")
    found = numbers(run("assess", "a.csv", "--by", "h", "--by", "k", "--json", "-"))
    iv = ucc.Intervals.from_bounds(frame["y"], frame["a_pred"], frame["a_lower"], frame["a_upper"])
    segments = ucc.assess({"a": iv}, by={"h": hours, "k": frame["k"].to_numpy()}).segments
    labels = [segment["label"] for segment in found["segments"] if segment["model"] == "a"]
    assert labels == [segment.label for segment in segments]
    assert labels[:14] == [str(hour) for hour in range(14)]
    assert len(labels) == 14 + 4


def test_the_same_warning_is_said_once(run: Run, tmp_path: Path) -> None:
    frame = models(60).select("y", pred="a_pred", lower="a_lower", upper="a_upper")
    for name in "abc":
        frame.write_csv(tmp_path / f"{name}.csv")
    found = run("assess", "a.csv", "b.csv", "c.csv", "--coverage", "90%")
    assert found.returncode == 0, found.stderr
    lines = found.stderr.splitlines()
    assert len(lines) == len(set(lines))


# What is right by construction is called right


def poisson_levels(n: int, seed: int, *, zeros: float = 0.0, wider: float = 1.0) -> Any:
    """The true quantiles of counts, some of which are zero anyway, by level."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    mean = rng.uniform(0.5, 8, n)
    y = np.where(rng.random(n) < zeros, 0, rng.poisson(mean)).astype(float)

    def quantile(q: float) -> Any:
        rest = np.clip((q - zeros) / (1 - zeros), 0, 1)
        at_zero = zeros + (1 - zeros) * np.exp(-mean)
        return np.where(q <= at_zero, 0.0, stats.poisson.ppf(rest, mean))

    levels = {}
    for level in (0.5, 0.8, 0.9, 0.95):
        lower, upper = quantile((1 - level) / 2), quantile((1 + level) / 2)
        centre = quantile(0.5)
        bands = centre - wider * (centre - lower), centre + wider * (upper - centre)
        levels[level] = ucc.Intervals.from_bounds(
            y, centre, *bands, support=(0, None) if wider == 1 else None
        )
    return levels


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("n", [300, 2000])
def test_the_true_quantiles_of_counts_keep_their_promise(zeros: float, n: int) -> None:
    promises = []
    for seed in range(20):
        row = ucc.assess({"m": poisson_levels(n, seed, zeros=zeros)}, coverage=0.9, progress=False)[
            "m"
        ]
        promises += [row.promise, *(level.promise for level in row.levels)]
    assert promises.count("kept") >= 0.95 * len(promises)
    assert "too wide" not in promises


def test_bands_of_counts_that_are_too_wide_are_still_called_so() -> None:
    row = ucc.assess({"m": poisson_levels(2000, 0, wider=2.5)}, coverage=0.9, progress=False)["m"]
    assert row.promise == "too wide"


def test_series_of_pure_noise_have_no_skill_in_their_own_units() -> None:
    skills: dict[str, list[float]] = {"raw": [], "own": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        size = np.repeat([1.0, 1000.0], 500)
        y = size * rng.normal(size=1000)
        iv = ucc.Intervals.from_bands(y, np.zeros(1000), 1.645 * size)
        units: dict[str, Any] = {"raw": "raw", "own": size}
        for name, unit in units.items():
            skills[name].append(float(ucc.assess(iv, coverage=0.9, unit=unit).rows[0].skill))
    assert min(skills["raw"]) > 0.1  # that one series is larger than the other is no skill
    assert abs(np.mean(skills["own"])) < 0.005
    assert max(map(abs, skills["own"])) < 0.02


def test_the_median_skill_and_the_wins_over_series_are_those_of_each_series() -> None:
    rng = np.random.default_rng(5)
    n, count = 4000, 40
    series = np.arange(n) % count
    y = rng.normal(size=n) * (1 + series % 3)
    bands = {"flat": np.full(n, 2.0), "sized": 1.0 + series % 3}
    given = {name: ucc.Intervals.from_bands(y, np.zeros(n), band) for name, band in bands.items()}
    found = ucc.assess(given, coverage=0.9, series=series, progress=False)
    segments = ucc.assess(given, coverage=0.9, by={"series": series}, progress=False)
    by_segments = {across.model: across for across in segments.across}
    wins = dict.fromkeys(given, 0)
    ties = 0
    for label in range(count):
        scores = {s.model: s.score for s in segments.segments if s.label == str(label)}
        wins[min(scores, key=lambda name: scores[name])] += 1
        ties += bool(np.isclose(scores["flat"], scores["sized"], rtol=1e-12))
    assert ties <= 2
    for across in found.across:
        assert across.segments == count
        for best_in in (across.best_in, by_segments[across.model].best_in):
            assert best_in is not None
            assert_allclose(best_in, wins[across.model] / count, atol=ties / count + 1e-12)
        skills = [s.skill for s in segments.segments if s.model == across.model]
        assert_allclose(float(across.skill), np.median(skills))
        assert across.skill.low <= float(across.skill) <= across.skill.high
    winners = {winner.label: winner for winner in segments.winners}
    assert len(winners) == count
    for s in segments.segments:
        assert winners[s.label].score <= s.score * (1 + 1e-12)


def test_winners_of_equal_models_are_seldom_significant() -> None:
    significant = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=800)
        noise = [np.exp(rng.normal(0, 0.3, 800)) for _ in range(3)]
        given = {
            f"m{i}": ucc.Intervals.from_bands(y, np.zeros(800), band)
            for i, band in enumerate(noise)
        }
        found = ucc.assess(given, coverage=0.9, by={"s": np.arange(800) % 4}, progress=False)
        significant += any(winner.pvalue < 0.05 for winner in found.winners)
    assert significant <= 0.1 * 60
