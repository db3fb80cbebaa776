"""The machinery behind the experiments: parts are kept, findings become results, results become files."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from paper import NAMES, load, run, store
from paper.bands import (
    BM,
    ED,
    EXCESS,
    GAINS,
    SUMMARY,
    crossing,
    flat,
    models_of,
    squared_error,
    summary,
    tuned,
)
from paper.experiment import (
    DECOMPOSITION,
    FIRST,
    SCORES,
    SECOND,
    Experiment,
    Findings,
    Parts,
    Settings,
    printed,
    scored,
)
from paper.figures import canvas, draw_curves
from paper.results import BLOCK, as_text, ours, refreshed, result, run_one, tables, write_page
from paper.store import Arrays, finished, part_path, write_whole
from uccurve import UCC, Intervals, assess

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Counted:
    """A part that notes each time it is computed."""

    def __init__(self, value: float = 1.0) -> None:
        self.value, self.calls = value, 0

    def __call__(self) -> Arrays:
        self.calls += 1
        return {"value": np.array(self.value), "text": np.array("plain")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "parts" / "part.npz"


def test_a_finished_part_is_not_computed_again(path: Path) -> None:
    part = Counted(3.5)
    for _ in range(3):
        assert_allclose(finished(path, part)["value"], 3.5)
    assert part.calls == 1


def test_other_settings_are_another_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path))
    for seed in (1, 2):
        found = finished(part_path("demo", "a part", {"seed": seed, "size": 3}), Counted(seed))
        assert_allclose(found["value"], seed)
    assert part_path("demo", "a part", {"size": 3, "seed": 1}).is_file()
    assert len(list(tmp_path.rglob("a-part-*.npz"))) == 2


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_damaged_part_is_computed_again(keep: int, path: Path) -> None:
    part = Counted()
    finished(path, part)
    path.write_bytes(path.read_bytes()[:keep])
    assert_allclose(finished(path, part)["value"], 1.0)
    assert part.calls == 2


def test_a_part_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> Arrays:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        finished(tmp_path / "part.npz", fail)
    assert not list(tmp_path.rglob("*"))


def test_a_write_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.txt"
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def npz(packing: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    """An archive of the given members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array: Any, **change: Any) -> bytes:
    """The bytes of one array, with a header that says something else."""
    buffer = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(np.asarray(array)) | change
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + np.asarray(array).tobytes()


POISON = {
    "a pickle": npy(b"cos\nsystem\n", descr="|O", shape=(1,)),
    "a header that promises 8 TB": npy([1.0], shape=(10**12,)),
    "fewer values than bytes": npy([1.0, 2.0, 3.0], shape=(1,)),
    "dates": npy(np.array(["2020-01-01"], dtype="datetime64[D]")),
    "no array at all": b"#!/bin/sh\n",
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_a_poisoned_part_is_refused_before_its_arrays_are_read(
    poison: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Counted()
    write_whole(path, npz(value=poison))
    monkeypatch.setattr(np.lib.format, "read_array", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(
        OSError,
        match=r"the kept part .*holds 'value\.npy', .*no run has written it\. Hint: remove it",
    ):
        finished(path, part)
    assert part.calls == 0


def test_a_part_packed_in_a_way_that_no_run_uses_is_refused(path: Path) -> None:
    write_whole(path, npz(zipfile.ZIP_LZMA, value=npy([1.0])))
    with pytest.raises(OSError, match=r"holds 'value\.npy', packed in another way or encrypted"):
        finished(path, Counted())


def test_a_part_that_would_fill_the_memory_is_refused_unread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(path, npz(value=npy(np.zeros(100_000))))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(store, "LARGEST", 100_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was read"))
    with pytest.raises(
        OSError, match="would unpack to more than 100,000 bytes, so no run has written it"
    ):
        finished(path, Counted())
    monkeypatch.setattr(store, "LARGEST", 100)
    with pytest.raises(OSError, match="is not a regular file of at most 100 bytes"):
        finished(path, Counted())


def test_a_pipe_in_the_place_of_a_part_does_not_block_the_run(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(OSError, match="is not a regular file"):
        finished(path, Counted())


def test_a_part_replaces_a_link_instead_of_writing_through_it(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    finished(path, Counted())
    assert not (tmp_path / "elsewhere").exists()
    assert path.is_file()
    assert not path.is_symlink()


def test_one_seed_has_no_spread() -> None:
    assert ours([2.0]) == {"mean": 2.0, "sd": None, "values": [2.0]}


def three_rows(width: float = 3.0) -> Intervals:
    return Intervals.from_bands([1.0, 2.0, 4.0], [0.0, 0.0, 0.0], [1.0, 2.0, width])


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the paper of the toy experiment prints."""
    toy = {
        "title": "Toy",
        "seeds": 2,
        "quick_seeds": [7],
        "libraries": ["numpy"],
        "settings": {"size": 2},
        "quick": {"size": 1},
        "second": {"note": "Inferred.", "seeds": 1},
        "reasons": {"Sums": "Because."},
        "captions": {"toy-ucc": "A toy <curve>."},
        "claims": {"Sec. 1": {"positive": "total is positive"}},
        "values": {"Sums": {"measures": ["total", "mean"], "A": [3.0, np.nan]}},
    }
    monkeypatch.setitem(printed(), "synthetic", toy)


def toy(work: Callable[[str, int, Settings], Arrays]) -> Experiment:
    """An experiment in miniature: each part holds one number; the second reading uses the first seed only."""

    def read(_reading: str, parts: Parts, seed: int) -> Findings:
        total = float(sum(float(parts[name]["value"]) for name in ("one", "two")))
        models = {"A": three_rows(), "Constant": flat(three_rows())}
        cells = {("Sums", "A", "total"): total + seed}
        return Findings(cells, {"positive": total > 0}, models, orders=(("A", "Constant"),))

    def draw(parts: Parts) -> dict[str, Any]:
        figure, (ax,) = canvas(1)
        iv = three_rows(float(parts["one"]["value"]))
        draw_curves(ax, {"A": iv, "Constant": flat(iv)})
        return {"toy-ucc": figure}

    parts = {name: partial(work, name) for name in ("one", "two")}
    return Experiment("synthetic", parts, read, draw, (FIRST, SECOND))


@pytest.mark.usefixtures("words")
def test_rows_carry_mean_spread_and_the_papers_value() -> None:
    found = [
        Findings({("Sums", "A", "total"): v, ("Sums", "A", "mean"): np.inf}, {}, {})
        for v in (1.0, 2.0, 6.0)
    ]
    area, extra = result(
        toy(lambda *_: {}), {i: {FIRST: one} for i, one in enumerate(found)}, quick=False
    )["rows"]
    assert area["paper"] == 3.0
    assert [area[key] for key in ("reading", "table", "model", "measure")] == [
        FIRST,
        "Sums",
        "A",
        "total",
    ]
    assert_allclose([area["ours"]["mean"], area["ours"]["sd"]], [3.0, np.sqrt(7.0)])
    assert area["ours"]["values"] == [1.0, 2.0, 6.0]
    assert extra["ours"] == {"mean": None, "sd": None, "values": [None] * 3}
    assert extra["paper"] is None


@pytest.mark.usefixtures("words")
def test_claims_count_the_seeds_in_which_they_hold() -> None:
    said = {"Sec. 1": {"a": "A wins"}, "Sec. 2": {"b": "B wins"}}
    models = {"A": three_rows(), "B": flat(three_rows())}
    found = [
        scored(Findings({}, {"a": holds, "b": True}, models, orders=(("B", "A"),)), said)
        for holds in (True, False, True)
    ]
    claims = result(
        toy(lambda *_: {}), {i: {FIRST: one} for i, one in enumerate(found)}, quick=False
    )["claims"]
    assert claims[:3] == [
        {"reading": FIRST, "text": "A wins", "where": "Sec. 1", "holds": 2, "seeds": 3},
        {"reading": FIRST, "text": "B wins", "where": "Sec. 2", "holds": 3, "seeds": 3},
        {
            "reading": FIRST,
            "text": "The interval score at 95% as shipped ranks B, A",
            "where": SCORES,
            "holds": 0,
            "seeds": 3,
        },
    ]


@pytest.mark.usefixtures("words")
def test_an_interrupted_run_resumes_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path / "cache"))
    done: list[tuple[str, int]] = []
    broken = True

    def work(name: str, seed: int, settings: Settings) -> Arrays:
        if name == "two" and seed == 1 and broken:
            raise KeyboardInterrupt
        done.append((name, seed))
        return {"value": np.array(settings["size"])}

    steps: list[tuple[int, int]] = []
    start: dict[str, Any] = {"quick": False, "seeds": None, "folder": tmp_path / "out"}
    with pytest.raises(KeyboardInterrupt):
        run_one(toy(work), **start, progress=lambda *_: None)
    assert not (tmp_path / "out").exists()
    broken = False
    found = run_one(toy(work), **start, progress=lambda _, i, n: steps.append((i, n)))
    write_page(tmp_path / "out")
    assert sorted(done) == [("one", 0), ("one", 1), ("two", 0), ("two", 1)]
    assert steps == [(i, 6) for i in range(7)]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["index.html", "synthetic.json", "toy-ucc.svg"]
    assert json.loads((tmp_path / "out" / "synthetic.json").read_text()) == found
    page = (tmp_path / "out" / "index.html").read_text()
    assert "4.500 ± 0.707 (3.000)" in page
    assert "2 of 2" in page
    assert "Inferred." in page
    assert {row["reading"] for row in found["rows"]} == {FIRST, SECOND}
    assert {name: about["seeds"] for name, about in found["readings"].items()} == {
        FIRST: [0, 1],
        SECOND: [0],
    }
    assert '<th scope="row">size</th>\n<td>2</td>' in page
    assert "A toy &lt;curve&gt;." in page
    assert "4.500 ± 0.707 (3.000)" in as_text(found)


def test_the_page_keeps_the_results_of_earlier_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path / "cache"))
    run(["concepts"], quick=True, out=tmp_path)
    earlier = json.loads((tmp_path / "concepts.json").read_text()) | {
        "experiment": "wine",
        "title": "An earlier wine",
    }
    (tmp_path / "wine.json").write_text(json.dumps(earlier))
    run(["concepts"], quick=True, out=tmp_path)
    assert "An earlier wine" in (tmp_path / "index.html").read_text()


@pytest.mark.usefixtures("words")
def test_seeds_are_cut_or_continued() -> None:
    experiment = toy(lambda *_: {})
    assert experiment.seeds() == (0, 1)
    assert experiment.seeds(1) == (0,)
    assert experiment.seeds(3, quick=True) == (7, 8, 9)


def test_an_unknown_name_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"got 'trafic'\. Did you mean 'traffic'\?"):
        run(["trafic"], out=tmp_path)
    with pytest.raises(ValueError, match="`seeds` must be at least 1; got 0"):
        run(["concepts"], seeds=0, out=tmp_path)


def test_figures_are_the_same_for_the_same_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path / "cache"))
    for name in ("first", "second"):
        run(["concepts"], quick=True, out=tmp_path / name)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


def test_operating_points_are_rings_or_an_arrow_at_the_edge_of_the_view() -> None:
    iv = Intervals.from_bands([1.0, 2.0, 4.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    models, scales = (
        {"A": iv, "Constant": iv.calibrated(scale=3.0)},
        {"A": 4.0, "Constant": 2.0},
    )  # bandwidths 4 and 6
    _, (ax,) = canvas(1)
    draw_curves(ax, models, scales=scales)
    for xmax, expected in ((7.0, ["o", "o"]), (5.0, ["o", ">"]), (3.0, [">", ">"])):
        ax.set_xlim(0, xmax)
        points = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
        assert [line.get_marker() for line in points] == expected
        assert_allclose([line.get_xdata() for line in points], [[min(4, xmax)], [min(6, xmax)]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "A (gain 0.0%)",
        "Constant",
    ]


def two_models() -> Arrays:
    """An asymmetric model, a symmetric one and their held-out rows, with errors on both sides."""
    y_true, y_pred = np.array([1.0, -2.0, 0.5, 3.0]), np.zeros(4)
    lower, upper = -np.array([1.0, 1.0, 2.0, 2.0]), np.array([2.0, 1.0, 1.0, 4.0])
    wide = np.array([1.0, 2.5, 1.0, 2.0])
    sets = {
        "GBR": np.stack([y_true, y_pred, lower, upper]),
        "Meta": np.stack([y_true, y_pred, -wide, wide]),
    }
    return {
        f"{period} {name}": array for period in ("test", "held out") for name, array in sets.items()
    }


def test_summary_cells_follow_their_definitions() -> None:
    test, held_out = (
        models_of(two_models(), ("GBR", "Meta"), period) for period in ("test", "held out")
    )
    assert list(test) == ["GBR", "Constant", "Meta"]
    scales = tuned(held_out, BM, 2.0)
    cells = summary(test, scales, 2.0)
    error, active = np.array([1.0, 2.0, 0.5, 3.0]), np.array([2.0, 1.0, 1.0, 4.0])
    curve = UCC(test["GBR"])
    # critical scales 1/2, 2, 1/2, 3/4; bandwidth 7/4 at scale 1; miss rates 1/2, 1/4 and 0 after them
    by_hand = [
        0.1 * 1.75 * k / 2 + 0.9 * m for k, m in ((0.0, 1.0), (0.5, 0.5), (0.75, 0.25), (2.0, 0.0))
    ]
    assert_allclose(cells[SUMMARY, "GBR", "BM optimal cost"], min(by_hand))
    assert_allclose(scales["GBR"], (0.0, 0.5, 0.75, 2.0)[int(np.argmin(by_hand))])
    assert_allclose(cells[SUMMARY, "GBR", "BM area"], 1.75 / 2 * np.mean(error / active))
    assert_allclose(cells[SUMMARY, "GBR", "MAE"], np.mean((error - scales["GBR"] * active) ** 2))
    assert_allclose(squared_error(curve, 0.0), np.mean(error**2))
    assert_allclose(cells[GAINS, "GBR", "ED"], 100 * curve.gain(axes=ED))
    assert (GAINS, "Constant", "ED") not in cells


@pytest.mark.parametrize("name", ["synthetic", "housing", "wine"])
def test_the_papers_gains_follow_from_its_areas(name: str) -> None:
    cells = load(name).paper
    for kind in ("ED", "BM"):
        area = {
            model: cells[SUMMARY, model, f"{kind} area"]
            for _, model, measure in cells
            if measure == "ED area"
        }
        for model in area.keys() - {"Constant"}:
            assert_allclose(
                cells[GAINS, model, kind], 100 * (1 - area[model] / area["Constant"]), atol=1e-5
            )
            assert cells[EXCESS, model, "area"] == area[model] or kind == "BM"


def test_the_constant_band_is_the_same_width_on_both_sets() -> None:
    part = two_models()
    part["held out GBR"] = part["held out GBR"] * np.array([[1.0], [1.0], [5.0], [5.0]])
    test, held_out = (models_of(part, ("GBR", "Meta"), period) for period in ("test", "held out"))
    assert_array_equal(test["Constant"].upper_band, held_out["Constant"].upper_band)


def test_curves_cross_only_where_each_is_clearly_lower_somewhere() -> None:
    rng = np.random.default_rng(0)
    sigma = np.linspace(0.2, 2.0, 400)
    y_true = sigma * rng.standard_normal(400)
    follows, against = (
        Intervals.from_std(y_true, np.zeros(400), sigma),
        Intervals.from_std(y_true, np.zeros(400), sigma**-1),
    )
    assert crossing(follows, flat(follows), axes=BM)
    assert not crossing(follows, follows, axes=BM)
    assert not crossing(follows, against, axes=ED)


def forty_rows() -> Intervals:
    """Enough rows for a conformal factor at 95%; the bands know which errors are large."""
    size = np.linspace(0.2, 2.0, 40)
    error = size * np.where(np.arange(40) % 3 == 0, -1.0, 1.3)
    return Intervals.from_bands(error, np.zeros(40), size, 1.5 * size)


def test_scores_of_today_are_those_of_assess_and_check_the_papers_ranking() -> None:
    iv = forty_rows()
    models = {"A": iv, "Constant": flat(iv)}
    found = scored(
        Findings({}, {}, models, unit=2.0, orders=(("A", "Constant"), ("Constant", "A"))), {}
    )
    row = assess(models, coverage=0.95, unit=2.0)["A"]
    assert found.cells[SCORES, "A", "score"] == row.score.value
    assert_allclose(found.cells[SCORES, "A", "skill, %"], 100 * UCC(iv).skill(coverage=0.95))
    parts = [
        found.cells[DECOMPOSITION, "A", part] for part in ("climatology", "- prediction", "- bands")
    ]
    whole = parts[0] - parts[1] - parts[2] + found.cells[DECOMPOSITION, "A", "+ rescaling"]
    assert_allclose(found.cells[DECOMPOSITION, "A", "delivered"], whole)
    assert found.claims == {
        ("The interval score at 95% as shipped ranks A, Constant", SCORES): True,
        ("The potential CRPS ranks A, Constant", SCORES): True,
        ("The interval score at 95% as shipped ranks Constant, A", SCORES): False,
        ("The potential CRPS ranks Constant, A", SCORES): False,
    }
    assert found.verdict["model"] == "A"


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_words_for_its_figures_and_readings(name: str) -> None:
    experiment = load(name)
    assert experiment.name == name
    assert set(experiment.settings(quick=True)) == set(experiment.settings())
    assert json.loads(json.dumps(dict(experiment.settings())))
    assert experiment.words["title"]
    assert experiment.words["captions"]
    if SECOND in experiment.readings:
        note = experiment.words["second"]["note"]
        assert "nferred" in note
        assert "For it" in note
        assert "Against it" in note


def test_the_page_shows_the_committed_results() -> None:
    """Else: python -m paper.results docs/paper-recomputed.md docs/paper."""
    text = (DOCS / "paper-recomputed.md").read_text(encoding="utf-8")
    assert refreshed(text, DOCS / "paper") == text
    shown = {(block["name"], block["reading"] or FIRST) for block in BLOCK.finditer(text)}
    assert shown == {(name, reading) for name in NAMES for reading in load(name).readings}


@pytest.mark.usefixtures("words")
def test_results_have_tables_per_reading_in_the_order_of_the_cells() -> None:
    cells = {("one", "A", "x"): 1.0, ("one", "B", "y"): 2.0, ("two", "A", "x"): 3.0}
    first, second = (
        Findings(numbers, {}, {}, verdict={"model": "A", "decided": decided})
        for numbers, decided in ((cells, False), ({("one", "A", "x"): 5.0}, True))
    )
    judged = {0: {FIRST: first, SECOND: second}, 1: {FIRST: first}}
    found = result(toy(lambda *_: {}), judged, quick=False)
    assert list(tables(found)) == ["one", "two", "claims", "verdicts"]
    assert tables(found)["one"] == [
        ["", "x", "y"],
        ["A", "1.000 ± 0.000", ""],
        ["B", "", "2.000 ± 0.000"],
    ]
    assert tables(found)["verdicts"][1:] == [["A", "2 of 2", "0 of 2"]]
    assert tables(found, SECOND)["one"] == [["", "x"], ["A", "5.000"]]
    assert tables(found, SECOND)["verdicts"][1:] == [["A", "1 of 1", "1 of 1"]]
    assert found["readings"][SECOND] == {"seeds": [0], "note": "Inferred."}
