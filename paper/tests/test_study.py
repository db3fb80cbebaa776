"""The study of interval methods: its trials, its methods, its ranks, its page, and what it refuses."""

import json
import re
import runpy
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("crepes")
pytest.importorskip("jinja2")
pytest.importorskip("lightgbm")
pytest.importorskip("mapie")
pytest.importorskip("matplotlib")
pytest.importorskip("polars")
pytest.importorskip("quantile_forest")
pytest.importorskip("sklearn")
pytest.importorskip("statsmodels")

from sklearn.model_selection import KFold

from pages import DOCS, ROOT
from paper import NAMES, _study, loaders, study
from paper.__main__ import main
from paper._study_bench import LEVELS, Bench, alone, score_of
from paper._study_data import ABOUT, DATA, QUICK, REAL, Table, few_values, trials
from paper._study_judge import group, ranking, signed_rank, worst_pocket
from paper._study_methods import BOOSTED, METHODS, boosting, constant, quantiles, split_quantiles
from paper._study_page import AFTER, answer, write
from uccurve import IntervalRegressor
from uccurve.train import BandRegressor

pytestmark = pytest.mark.slow

COMMITTED = DOCS / "study" / "study.json"
FILES = ("study.md", "study/study.json", "study/ranks.svg", "study/regrets.svg")
BUNDLED = ("diabetes", "engel", "cancer", "star98", "fair", "randhie")


class Ignorant:
    """One interval for all rows, of half of the coverage that is asked for."""

    def fit(self, _: Any, y: Any) -> None:
        self.y = y

    def predict_interval(self, X: Any, coverage: float) -> Any:
        bounds = np.quantile(self.y, [0.5 - coverage / 4, 0.5 + coverage / 4])
        return np.repeat(bounds[:, None], len(X), axis=1)


class Crossing(Ignorant):
    """The same with its bounds in the wrong order."""

    def predict_interval(self, X: Any, coverage: float) -> Any:
        return super().predict_interval(X, coverage)[::-1]


class Infinite(Ignorant):
    """A method that answers with no numbers."""

    def predict_interval(self, X: Any, coverage: float) -> Any:
        return super().predict_interval(X, coverage) * np.nan


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The folder of a whole quick run, and the CPU seconds that it took."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UCCURVE_CACHE", str(folder / "cache"))
        start = time.process_time()
        study(quick=True, out=folder / "out")
        return folder, time.process_time() - start


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "parts" / "study"


def bench_of(name: str) -> tuple[Bench, Any]:
    """The bench of a data set's quick trial, and the trial."""
    trial = trials(name, quick=True)[0]
    return _study.bench_of(trial), trial


def counted(calls: list[str], name: str, *, stop_at: int | None = None) -> Callable[[Bench], Any]:
    """A method that notes its calls, and is interrupted at one of them."""

    def method(bench: Bench) -> Any:
        calls.append(name)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return constant(bench)

    return method


# ---- runs


def test_a_quick_run_takes_less_than_a_minute_and_has_every_method(
    quick: tuple[Path, float],
) -> None:
    folder, seconds = quick
    assert seconds < 60
    found = json.loads((folder / "out" / "study" / "study.json").read_text(encoding="utf-8"))
    assert found["quick"] is True
    assert list(found["data"]) == list(QUICK)
    for about in found["data"].values():
        assert list(about["results"]) == [name for name in METHODS if name not in AFTER]
        for result in about["results"].values():
            for table in ("plain", "shipped"):
                assert min(result[table]["score"]) > 0
                assert len(result[table]["coverage"]) == len(LEVELS)
                assert 0 <= result[table]["worst_pocket"] <= 1
            assert set(result["settings"]) <= {0, 1, 2}
    assert set(found["groups"]["real"]["ranking"]["data"]) == set(QUICK) & set(REAL)


def test_a_run_from_kept_parts_fits_nothing_and_writes_the_same_bytes(
    quick: tuple[Path, float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("a kept part was computed again")

    monkeypatch.setenv("UCCURVE_CACHE", str(quick[0] / "cache"))
    for name in METHODS:
        monkeypatch.setitem(METHODS, name, never)
    study(quick=True, out=tmp_path)
    for file in FILES:
        assert (tmp_path / file).read_bytes() == (quick[0] / "out" / file).read_bytes(), file


def test_an_interrupted_run_resumes_where_it_stopped(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("Constant", "Meta"):
        method = counted(calls, name, stop_at=2)
        monkeypatch.setitem(METHODS, name, method)
    chosen: Any = {"methods": ["Constant", "Meta"], "data": ["engel"], "quick": True}
    with pytest.raises(KeyboardInterrupt):
        study(**chosen, out=tmp_path)
    assert len(list(cache.glob("*.npz"))) == 1
    assert not (tmp_path / "study.md").exists()
    study(**chosen, out=tmp_path)
    assert calls == ["Constant", "Meta", "Meta"]


def test_two_processes_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for jobs in (1, 2):
        monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path / f"cache{jobs}"))
        chosen: Any = {"methods": ["Constant"], "data": ["engel", "diabetes"], "quick": True}
        result = study(**chosen, jobs=jobs, out=tmp_path)
        found.append([about["results"]["Constant"]["shipped"] for about in result["data"].values()])
    assert found[0] == found[1]


# ---- methods at equal care


def test_own_methods_are_calibrated_like_the_others_and_never_kept(
    cache: Path, tmp_path: Path
) -> None:
    ours = {"Ignorant": Ignorant(), "Crossing": [Crossing()] * 3}
    found = study(own=ours, methods=["Constant"], data=["engel"], quick=True, out=tmp_path)
    results = found["data"]["engel"]["results"]
    assert [path.name.partition("-fold")[0] for path in cache.glob("*.npz")] == ["engel-Constant"]
    assert not hasattr(ours["Ignorant"], "y")
    assert results["Ignorant"]["shipped"] == results["Crossing"]["shipped"]
    assert results["Ignorant"]["plain"]["coverage"][1] < 0.65
    assert results["Ignorant"]["shipped"]["coverage"][1] > 0.8


def test_a_method_sees_no_target_of_a_test_row() -> None:
    bench, trial = bench_of("diabetes")
    assert not hasattr(bench, "y_test")
    assert len(bench.y) == len(trial.y)
    for seen, rest in bench.folds:
        assert not set(bench.group[seen]) & set(bench.group[rest])


def test_what_several_methods_share_is_fitted_once_and_counted_for_each() -> None:
    bench, _ = bench_of("engel")
    fits: list[int] = []

    def fit(_: Any, setting: int, __: int) -> Any:
        fits.append(setting)
        return lambda X, _: np.vstack(
            [np.zeros(len(X)), *[np.full(len(X), s) for s in (-1, -1, -1, 1, 1, 1)]]
        )

    first = bench.tuned("recipe", fit)
    spent = bench.seconds
    again = bench.tuned("recipe", fit)
    assert again is first
    assert bench.seconds == 2 * spent > 0
    assert fits == [
        0,
        0,
        1,
        1,
        2,
        2,
        0,
        0,
        0,
        0,
    ]  # three settings on two folds, then all five, then all rows


def test_the_setting_is_the_one_with_the_best_shipped_score() -> None:
    bench, _ = bench_of("engel")

    def fit(rows: Any, setting: int, _: int) -> Any:
        slope, constant = np.polyfit(rows.X[:, 0], rows.y, 1)
        wrong = 0 if setting == 1 else 5

        def predict(X: Any, __: Any) -> Any:
            y_pred = (1 + wrong) * slope * X[:, 0] + constant
            band = np.maximum(X[:, 0], 1)
            return np.vstack([y_pred, *[y_pred - band] * 3, *[y_pred + band] * 3])

        return predict

    assert bench.tuned("recipe", fit).setting == 1


def test_the_conformal_factor_brings_unseen_training_rows_to_their_coverage() -> None:
    bench, _ = bench_of("diabetes")
    unseen = bench.tuned("point", _point()).unseen
    shipped = _scaled(bench.y, unseen)
    for place, level in enumerate(LEVELS):
        inside = (shipped[1 + place] <= bench.y + 1e-9) & (bench.y <= shipped[4 + place] + 1e-9)
        rank = int(np.ceil(level * (len(bench.y) + 1)))
        assert inside.sum() == rank


def _point() -> Any:
    from paper._study_methods import point

    return point


def _scaled(y: Any, unseen: Any) -> Any:
    from paper._study_bench import scaled_by

    return scaled_by(y, unseen, unseen)


def test_ours_is_what_interval_regressor_gives_for_the_chosen_setting() -> None:
    bench, trial = bench_of("diabetes")
    with alone():
        found = METHODS["Ours (BD)"](bench)
        point_setting = bench.tuned("point", _point()).setting
        trees, leaves = BOOSTED[found.setting]
        band = BandRegressor(
            n_estimators=trees, max_leaf_nodes=leaves, backend="lightgbm", random_state=0
        )
        model = IntervalRegressor(
            boosting(point_setting, 0), band=band, cv=bench.folds, random_state=0
        ).fit(trial.X, trial.y)
        lower, upper = model.predict_interval(trial.X_test)
    assert_allclose(found.shipped[2], lower)
    assert_allclose(found.shipped[5], upper)


def test_cv_plus_is_mapies() -> None:
    from mapie.regression import CrossConformalRegressor

    bench, trial = bench_of("diabetes")
    folds = np.empty(len(trial.y), int)
    for number, (_, rest) in enumerate(bench.folds):
        folds[rest] = number
    with alone():
        found = METHODS["CV+"](bench)
        learner = boosting(found.setting, 0)
        model = CrossConformalRegressor(
            learner, confidence_level=list(LEVELS), cv=_Given(bench.folds), random_state=0
        ).fit_conformalize(trial.X, trial.y)
        _, bounds = model.predict_interval(trial.X_test)
    for place in range(3):
        assert_allclose(found.shipped[1 + place], bounds[:, 0, place])
        assert_allclose(found.shipped[4 + place], bounds[:, 1, place])


class _Given(KFold):  # type: ignore[misc]  # sklearn is untyped
    """The study's folds as a splitter."""

    def __init__(self, folds: Any) -> None:
        super().__init__(len(folds))
        self.folds = folds

    def split(self, *_: Any, **__: Any) -> Any:
        return iter(self.folds)


def test_split_cqr_is_mapies() -> None:
    from mapie.regression import ConformalizedQuantileRegressor

    bench, trial = bench_of("diabetes")
    with alone():
        found = split_quantiles(bench)
        seen, held_out = bench.split(0.25)
        setting = found.setting
        from paper._study_methods import boosted_quantile

        models = [boosted_quantile(setting, 0, q) for q in (0.05, 0.95, 0.5)]
        for model in models:
            model.fit(trial.X[seen], trial.y[seen])
        mapie = ConformalizedQuantileRegressor(models, confidence_level=0.9, prefit=True)
        mapie.conformalize(trial.X[held_out], trial.y[held_out])
        _, bounds = mapie.predict_interval(trial.X_test, symmetric_correction=True)
    assert_allclose(found.shipped[2], bounds[:, 0, 0])
    assert_allclose(found.shipped[5], bounds[:, 1, 0])


@pytest.mark.parametrize("name", sorted(METHODS))
def test_intervals_cover_about_nine_rows_in_ten(name: str) -> None:
    X, y = DATA["varying"]().X, DATA["varying"]().y
    size = 300 if name == "GP" else 600
    bench = Bench(X[:size], y[:size], np.arange(size), X[2000:])
    with alone():
        found = METHODS[name](bench)
    assert (found.shipped[1:4] <= found.shipped[4:7]).all()
    assert (found.plain[1:4] <= found.plain[4:7]).all()
    covered = np.mean((found.shipped[2] <= y[2000:]) & (y[2000:] <= found.shipped[5]))
    # three standard errors of the rows that calibrate: a quarter of them for a split
    rows = size / 4 if name == "CQR (split)" else size
    assert abs(covered - 0.9) < 3 * np.sqrt(0.09 / rows) + 0.01
    assert all(np.diff(score_of(y[2000:], found.shipped)) > 0)


def test_quantiles_are_those_of_the_levels() -> None:
    asked: list[float] = []

    def make(setting: int, seed: int, quantile: float) -> Any:
        asked.append(quantile)
        return boosting(setting, seed, objective="quantile", alpha=quantile)

    bench, _ = bench_of("engel")
    with alone():
        quantiles(make)(bench.rows(), 0, 0)
    assert_allclose(asked, [0.1, 0.05, 0.025, 0.9, 0.95, 0.975])


# ---- data


@pytest.mark.parametrize("name", BUNDLED)
def test_rows_with_the_same_features_stay_together(name: str) -> None:
    for trial in trials(name, quick=False):
        trained = {row.tobytes() for row in trial.X}
        assert not trained & {row.tobytes() for row in trial.X_test}
        assert len(trial.y) <= 2000
        assert len(trial.y_test) <= 3000


def test_small_sets_are_tested_on_every_row() -> None:
    whole = DATA["diabetes"]()
    tested = np.concatenate([trial.y_test for trial in trials("diabetes", quick=False)])
    assert_array_equal(np.sort(tested), np.sort(whole.y))


def test_the_future_is_never_trained_on(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCCURVE_DATA", str(shared_data))
    whole = DATA["traffic"]()
    assert whole.time is not None
    clock = Table(np.column_stack([whole.X, whole.time]), whole.y, whole.group, whole.time)
    monkeypatch.setitem(DATA, "traffic", lambda: clock)
    (trial,) = trials("traffic", quick=False)
    assert trial.X[:, -1].max() < trial.X_test[:, -1].min()


def test_the_gap_is_tested_but_never_trained_on() -> None:
    (trial,) = trials("gap", quick=False)
    in_gap = np.abs(trial.X_test[:, 0] - 0.6) < 0.1
    assert 0.1 < in_gap.mean() < 0.3
    assert (np.abs(trial.X[:, 0] - 0.6) >= 0.1).all()


def test_enough_real_sets_of_different_origin_and_each_says_which() -> None:
    assert len(REAL) >= 16
    assert len({ABOUT["data"][name]["origin"] for name in REAL}) >= 6
    assert all(("origin" in ABOUT["data"][name]) == (name in REAL) for name in DATA)
    assert list(ABOUT["data"]) == list(DATA)
    assert list(ABOUT["methods"]) == list(METHODS)


@pytest.mark.parametrize(
    ("name", "rows", "features"),
    [("concrete", 1030, 8), ("energy", 768, 8), ("naval", 11934, 16), ("yacht", 308, 6)],
)
def test_the_uci_sets_are_read_whole_and_without_a_second_target(
    name: str, rows: int, features: int, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (shared_data / "uci").is_dir():
        pytest.skip(f"the UCI sets are not in {shared_data}")
    monkeypatch.setenv("UCCURVE_DATA", str(shared_data))
    whole = DATA[name]()
    assert whole.X.shape == (rows, features)
    if name == "naval":  # the compressor's decay, not the turbine's
        assert_allclose([whole.y.min(), whole.y.max()], [0.95, 1.0])


def test_a_damaged_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCCURVE_DATA", str(tmp_path))
    (tmp_path / "vega_datasets-0.9.0-py3-none-any.whl").write_bytes(b"PK")
    with pytest.raises(loaders.DataError, match="is not the published vega_datasets"):
        DATA["cars"]()


def test_a_count_has_few_values() -> None:
    assert few_values(DATA["counts"]().y)
    assert not few_values(DATA["varying"]().y)


# ---- judgement


DEMSAR = """.763 .768 .771 .798; .599 .591 .590 .569; .954 .971 .968 .967; .628 .661 .654 .657; .882 .888 .886 .898;
    .936 .931 .916 .931; .661 .668 .609 .685; .583 .583 .563 .625; .775 .838 .866 .875; 1.0 1.0 1.0 1.0;
    .940 .962 .965 .962; .619 .666 .614 .669; .972 .981 .9751 .975; .957 .978 .946 .970"""


def test_mean_ranks_and_their_critical_difference_are_demsars() -> None:
    # Demšar (2006), Table 6 and Section 3.2.2: C4.5 with and without two options on 14 data sets; CD = 1.25 for k = 4.
    # Two values that are printed alike, .975, are ranked 2 and 3 there. His are accuracies, so large is good.
    rows = [[2 - float(value) for value in row.split()] for row in DEMSAR.split(";")]
    scores = {f"set {i}": dict(zip("abcd", row, strict=True)) for i, row in enumerate(rows)}
    found = ranking(scores)
    assert found.critical_difference is not None
    assert found.friedman_pvalue is not None
    assert_allclose(found.critical_difference, 1.25, atol=0.005)
    assert_allclose(
        [found.mean_rank[name] for name in "abcd"], [3.143, 2.000, 2.893, 1.964], atol=5e-4
    )
    # the paper's chi-square of 9.28 with three degrees of freedom; ours corrects for ties, so p is a little smaller
    assert 0.015 < found.friedman_pvalue < 0.0258
    assert found.leader == "d"


def test_a_method_that_is_not_on_all_data_sets_has_no_rank() -> None:
    found = ranking({"x": {"a": 1.0, "b": 2.0, "c": 3.0}, "y": {"b": 3.0, "c": 1.0}})
    assert found.mean_rank == {"b": 1.5, "c": 1.5}


@pytest.mark.parametrize(("ratio", "zone"), [(0.9, "better"), (1.004, "same"), (1.2, "worse")])
def test_the_bayesian_signed_rank_test_sees_what_is_plain(ratio: float, zone: str) -> None:
    rng = np.random.default_rng(0)
    scores = {f"{i}": {"a": ratio * (1 + 0.002 * rng.normal()), "b": 1.0} for i in range(20)}
    found = signed_rank(scores, "a", "b")
    assert getattr(found, zone) > 0.99
    assert_allclose(found.better + found.same + found.worse, 1)


def test_the_bayesian_signed_rank_test_agrees_with_its_mirror() -> None:
    rng = np.random.default_rng(1)
    scores = {f"{i}": {"a": np.exp(0.05 * rng.normal()), "b": 1.0} for i in range(25)}
    found, mirrored = signed_rank(scores, "a", "b"), signed_rank(scores, "b", "a")
    assert_allclose([found.better, found.worse], [mirrored.worse, mirrored.better], atol=1e-12)
    assert found.same < 0.95


def test_the_worst_pocket_is_measured_on_rows_that_did_not_name_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 3))
    fair = rng.uniform(size=4000) < 0.1
    assert (
        abs(worst_pocket(X, fair) - 0.9) < 0.02
    )  # the worst-looking of eight would show about 86%
    rare = np.where(X[:, 0] > 0.8, 0.4, 0.05)
    assert abs(worst_pocket(X, rng.uniform(size=4000) < rare) - 0.6) < 0.05


def test_leaving_an_origin_out_tells_who_owes_the_lead_to_it() -> None:
    scores = {f"a{i}": {"x": 1.0, "y": 2.0} for i in range(5)}
    scores |= {f"b{i}": {"x": 2.0, "y": 1.0} for i in range(3)}
    found = group(scores, {name: name[0] for name in scores})
    assert found.ranking.leader == "x"
    assert found.origins.without == {"a": "y", "b": "x"}
    # of two origins drawn twice, both are a in a quarter of the draws, and both are b in another
    assert_allclose(found.origins.lead["y"], 0.25, atol=0.02)


def result_of(scores: dict[str, dict[str, float]]) -> dict[str, Any]:
    """A study's result with these scores at every level, each data set of its own origin."""
    judged = {
        name: {
            "origin": name,
            "training_rows": 1000,
            "few_values": False,
            "results": {
                method: {
                    table: {"score": [score] * 3, "coverage": [0.9] * 3, "width": [1.0] * 3}
                    for table in ("plain", "shipped")
                }
                for method, score in row.items()
            },
        }
        for name, row in scores.items()
    }
    return {
        "methods": {name: ABOUT["methods"][name] for name in next(iter(scores.values()))},
        "data": judged,
        "groups": _study.grouped(judged),
    }


@pytest.mark.parametrize("leader", ["Constant", "CQR", "Ours (BD)"])
def test_the_sentences_name_whoever_leads(leader: str) -> None:
    names = ("Constant", "CQR", "Ours (BD)")
    scores = {data: {name: 1.0 if name == leader else 1.3 for name in names} for data in REAL}
    found = answer(result_of(scores))
    assert found.leads.startswith(
        f"On {len(REAL)} real data sets **{leader}** has the best mean rank, 1.0 of 3"
    )
    others = [name for name in names if name != leader]
    assert f"it is better than {others[0]} and {others[1]}." in found.leads
    assert f"with more {leader} (1.0" in found.depends
    assert "no origin left out takes the lead away" in found.holds
    assert "of ours the best is Ours (BD)" in found.holds


def test_the_sentences_do_not_call_equal_methods_worse() -> None:
    scores = {data: {"Constant": 1.0, "CQR": 1.001} for data in REAL}
    found = answer(result_of(scores))
    assert "as good for all practical purposes as CQR" in found.leads
    assert "better than" not in found.leads


# ---- refusals


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"methods": ["CV"]},
            r"`methods` must be one of Constant, .*; got 'CV'\. Did you mean 'CV\+'\?",
        ),
        (
            {"data": ["wien"]},
            r"`data` must be one of housing, .*; got 'wien'\. Did you mean 'wine'\?",
        ),
        (
            {"own": {"Mine": boosting(0, 0)}},
            "`own` must hold objects with fit and predict_interval: 'Mine' has no pred",
        ),
        (
            {"own": {"CQR": Ignorant()}},
            r"`own` must not use a name of the study: 'CQR' is one of its methods\.",
        ),
        (
            {"own": {"Mine": [Ignorant()] * 2}},
            r"`own` must hold one object or three: 'Mine' has 2\.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    asked: dict[str, Any], sentence: str, tmp_path: Path, cache: Path
) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        study(**asked, quick=True, out=tmp_path)
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
def test_a_method_that_answers_with_no_numbers_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"of Infinite must return lower and upper bounds, \d+ finite"
    ):
        study(own={"Mine": Infinite()}, methods=[], data=["engel"], quick=True, out=tmp_path)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("crepes", "'Normalised' of the study needs crepes: pip install --group paper"),
        ("statsmodels", "'engel' of the study needs statsmodels: pip install --group paper"),
    ],
)
def test_a_missing_library_is_named_with_its_group_before_anything_is_computed(
    module: str, sentence: str, monkeypatch: pytest.MonkeyPatch, cache: Path, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    chosen: Any = {"methods": ["Constant", "Normalised"], "data": ["diabetes", "engel"]}
    with pytest.raises(ImportError, match=sentence):
        study(**chosen, quick=True, out=tmp_path)
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
def test_one_method_alone_has_a_page_too(tmp_path: Path) -> None:
    found = study(methods=["Meta"], data=["engel"], quick=True, out=tmp_path)
    assert found["groups"]["real"]["ranking"]["mean_rank"] == {"Meta": 1}
    assert "**Meta** has the best mean rank" in (tmp_path / "study.md").read_text(encoding="utf-8")


def test_without_results_the_page_says_what_will_be_done(tmp_path: Path) -> None:
    blank = {"quick": False, "groups": {}, "data": {}, "methods": ABOUT["methods"], "versions": {}}
    write(blank, tmp_path)
    page = (tmp_path / "study.md").read_text(encoding="utf-8")
    assert "committed before the study was run" in page
    assert all(f"| {name} |" in page for name in (*METHODS, *DATA))


# ---- the command and the example


def test_without_scikit_learn_the_group_is_named() -> None:
    code = "import sys; sys.modules['sklearn'] = None; from paper import study; study(quick=True)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert "ImportError: the study needs sklearn" in done.stderr
    assert "pip install --group paper" in done.stderr


@pytest.mark.usefixtures("cache")
def test_the_command_answers_and_is_no_part_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "study" not in NAMES
    chosen = ("--data", "engel", "--method", "Constant", "--method", "Ours (BD)")
    assert main(("study", "--quick", *chosen, "--out", str(tmp_path))) == 0
    said = capsys.readouterr()
    assert said.out.startswith("# Which interval method?\n")
    assert "has the best mean rank" in said.out
    assert re.search(r": open .*study\.md", said.err)


def test_an_interrupted_command_says_what_happens_next(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("paper.study", interrupted)
    assert main(["study"]) == 130
    said = capsys.readouterr().err
    assert (
        "interrupted: finished parts are kept, so the same command resumes where this one stopped"
        in said
    )


def test_the_study_s_own_options_need_the_study(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["wine", "--data", "engel"])
    assert "--method, --data and --jobs are for the study" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["paper", "study"])
def test_make_runs_the_command(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(rf"^{target}: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    wanted = {"paper": "-m paper all -o docs/paper", "study": "-m paper study -o docs"}
    assert wanted[target] in recipe


def test_the_command_writes_values_beside_the_papers(tmp_path: Path) -> None:
    assert main(["concepts", "--quick", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "concepts.json").read_text(encoding="utf-8"))
    assert (tmp_path / "index.html").is_file()


def test_the_example_adds_a_method_in_ten_lines_and_the_page_shows_it(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ROOT / "examples" / "own_method.py"
    code = path.read_text(encoding="utf-8")
    assert f"```python\n{code}```" in (DOCS / "study.md").read_text(encoding="utf-8")
    own = code[code.index("class ") : code.index("if __name__")]
    assert len([line for line in own.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert "'Neighbours': " in capsys.readouterr().out
    assert "| Neighbours | a method of your own | uccurve " in (tmp_path / "study.md").read_text(
        encoding="utf-8"
    )
    assert not list(cache.glob("*Neighbours*"))


# ---- what is committed


def committed() -> dict[str, Any]:
    """The committed result; none before the full run."""
    if not COMMITTED.exists():
        page = (DOCS / "study.md").read_text(encoding="utf-8")
        assert "committed before the study was run" in page
        pytest.skip("the full run has not been made yet, as the page says")
    found: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
    return found


def test_the_committed_study_is_whole_and_its_page_is_made_from_it(tmp_path: Path) -> None:
    found = committed()
    assert found["quick"] is False
    assert list(found["data"]) == list(DATA)
    assert list(found["methods"]) == list(METHODS)
    write(found, tmp_path)
    assert (tmp_path / "study.md").read_text(encoding="utf-8") == (DOCS / "study.md").read_text(
        encoding="utf-8"
    )


def test_the_page_s_first_lines_follow_from_the_committed_numbers() -> None:
    found = committed()
    said = answer(found)
    lines = (DOCS / "study.md").read_text(encoding="utf-8").splitlines()[2:5]
    assert lines == [f"1. {said.leads}", f"2. {said.depends}", f"3. {said.holds}"]
