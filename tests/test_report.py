"""The report carries the numbers of the library, begins with the verdict, stands alone, and treats names as text."""

import base64
import hashlib
import json
import re
import shlex
import zlib
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from plotly.offline import get_plotlyjs

import uccurve as ucc
from model_rows import (
    OPEN,
    assessment,
    crossing,
    lost,
    mean8,
    pair,
    row,
    scaled,
    segment,
    shifted,
)
from model_rows import decomposition as parts_of
from uccurve._vocabulary import METRICS
from uccurve.points import Estimate
from uccurve.report._charts import Axis, calibration, decomposition, explorer_data, sample_data
from uccurve.report._page import page
from uccurve.report._sections import command, findings, pairs, segments
from uccurve.results import Missing
from uccurve.view import STATES, curve_data
from uccurve.words.columns import model_columns
from uccurve.words.formats import short
from uccurve.words.tables import Table
from uccurve.words.verdict import how_sure

EVIL = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


def intervals(n: int = 200, seed: int = 0) -> ucc.Intervals:
    rng = np.random.default_rng(seed)
    y_pred = rng.normal(size=n)
    band = rng.uniform(0.3, 2, n)
    return ucc.Intervals.from_bands(
        y_pred + band * rng.normal(size=n), y_pred, 0.8 * band, 1.1 * band
    )


def assessed(n: int = 200, **options: Any) -> ucc.Assessment:
    one = intervals(n)
    models = {"A": one, EVIL: ucc.Intervals.from_bands(one.y_true, one.y_pred, np.full(n, 0.9))}
    site = np.where(np.arange(n) % 3 > 0, "north", "<b>south</b>")
    return ucc.assess(models, by={"site": site}, coverage=0.8, **options)


class Parsed(HTMLParser):
    """Elements with their attributes, and the text of scripts and of everything else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, _: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


@pytest.fixture(scope="module")
def found() -> ucc.Assessment:
    return assessed()


@pytest.fixture(scope="module")
def parsed(found: ucc.Assessment) -> Parsed:
    return Parsed(found.to_html())


def data_of(parsed: Parsed) -> Any:
    (text,) = (text for attributes, text in parsed.scripts if attributes.get("id") == "report-data")
    return json.loads(text)


# What the page carries


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_a_short_curve_is_carried_whole(vary: Any) -> None:
    c = ucc.UCC(intervals(), vary=vary)
    data = curve_data(c, most=3000)
    table = c.table()
    assert data["exact"]
    assert data["off"] == 0
    assert data["vertices"] == len(table[vary]) <= len(data["t"])
    for name in METRICS:
        assert_allclose(data[name][: len(table[name])], table[name], rtol=1e-5)


@pytest.mark.parametrize("most", [40, 400])
def test_a_long_curve_is_off_by_no_more_than_it_says(most: int) -> None:
    c = ucc.UCC(intervals(30_000))
    data, table = curve_data(c, most=most), c.table()
    assert not data["exact"]
    assert len(data["t"]) <= most + 8
    end = np.searchsorted(
        data["t"], data["end"] * (1 + 1e-5), side="right"
    )  # what follows is beyond the curve
    settled = table["miss_rate"] <= 0.01
    for name in METRICS:
        line = np.interp(table["scale"], data["t"][:end], data[name][:end])
        size = (
            table[name][0] if name in ("miss_rate", "deficit") else table[name][np.argmax(settled)]
        )
        assert np.abs(line - table[name]).max() <= 1.001 * data["off"] * size + 2e-5 * size
    assert data["off"] < (0.05 if most == 40 else 0.002)


def test_a_long_curve_is_exact_where_the_page_opens() -> None:
    c = ucc.UCC(intervals(30_000))
    at = c.find(coverage=0.9, conformal=True)
    data = curve_data(c, 40, [at.scale])
    place = data["t"].index(float(f"{at.scale:.6g}"))
    for name in METRICS:
        assert_allclose(data[name][place], getattr(at, name), rtol=1e-5)


def test_the_model_as_delivered_is_carried_where_it_lies_beyond_the_curve() -> None:
    c = ucc.UCC(intervals().calibrated(scale=20))
    data = curve_data(c)
    place = data["t"].index(1.0)
    assert data["end"] < 1
    for name in METRICS:
        assert_allclose(data[name][place], getattr(c.at(1.0), name), rtol=1e-5)


def test_sampled_rows_are_ordered_by_prediction_and_named_by_number() -> None:
    iv = intervals(1000)
    sample = sample_data(ucc.UCC(iv), most=50)
    assert len(sample["row"]) == 50
    assert sample["y_pred"] == sorted(sample["y_pred"])
    assert_allclose(sample["y_true"], iv.y_true[sample["row"]], rtol=1e-5)
    assert_allclose(sample["upper_band"], iv.upper_band[sample["row"]], rtol=1e-5)


def test_models_share_one_constant_band_only_if_they_share_predictions() -> None:
    one = intervals()
    other = ucc.Intervals.from_bands(one.y_true, one.y_pred + 0.2, one.lower_band)
    shared = explorer_data(ucc.assess({"A": one, "B": one.calibrated(scale=3)}))
    apart = explorer_data(ucc.assess({"A": one, "B": other}))
    assert len(shared["references"]) == 1
    assert len(apart["references"]) == 2
    assert shared["comparable"]
    assert not apart["comparable"]


def test_a_page_is_made_from_sketches_too() -> None:
    curve = ucc.UCCSketch().update(intervals()).ucc()
    found = assessment([row("A", move=scaled(1.31))], curves={"A": curve})
    parsed = Parsed(page(found))
    (model,) = data_of(parsed)["models"]
    assert model["sample"] is None
    assert not model["curve"]["exact"]
    assert_allclose(model["curve"]["deficit"], curve.table()["deficit"], rtol=1e-5)
    assert "The curves are those of sketches" in parsed.text
    assert list(data_of(parsed)["units"]) == ["that of y"]


def test_the_explorer_opens_on_the_model_to_ship_at_the_scale_of_the_verdict(
    found: ucc.Assessment,
) -> None:
    data = explorer_data(found)
    assert data["chosen"] == [one.name for one in found.ranking].index(found.verdict.model)
    assert data["coverage"] == 0.8
    for model, ranked in zip(data["models"], found.ranking, strict=True):
        is_chosen = ranked.name == found.verdict.model
        shipped = found.verdict.scale if is_chosen else ranked.scale.value
        width = found.curves[ranked.name].at(shipped).bandwidth
        if not is_chosen:
            assert_allclose(width, ranked.half_width.value, rtol=1e-9)
        assert_allclose(model["target"], shipped, rtol=1e-5)
        at = np.interp(model["target"], model["curve"]["t"], model["curve"]["bandwidth"])
        assert_allclose(at, width, rtol=1e-5)


def test_a_model_of_levels_is_explored_on_the_interval_that_the_verdict_scales() -> None:
    one = intervals()
    levels = {0.5: one.calibrated(scale=0.4), 0.8: one, 0.95: one.calibrated(scale=2)}
    found = ucc.assess({"levels": levels, "flat": one.constant()}, coverage=0.8)
    data = explorer_data(found)
    place = [ranked.name for ranked in found.ranking].index("levels")
    model = data["models"][place]
    shipped = found.verdict.scale if place == data["chosen"] else found["levels"].scale.value
    assert_allclose(model["target"], shipped, rtol=1e-5)
    assert model["delivered"] == 1
    at = np.interp(1.0, model["curve"]["t"], model["curve"]["bandwidth"])
    assert_allclose(at, np.mean(one.upper - one.lower) / 2, rtol=1e-5)


@pytest.mark.parametrize("unit", ["raw", "std", 2.5])
def test_the_unit_that_was_asked_for_comes_first(unit: Any) -> None:
    one = intervals()
    units = explorer_data(ucc.assess({"A": one}, unit=unit))["units"]
    std = float(np.std(one.y_true))
    expected = {
        "raw": ("that of y", 1.0),
        "std": ("standard deviations of y", std),
        2.5: ("units of 2.5", 2.5),
    }
    name, size = next(iter(units.items()))
    assert name == expected[unit][0]
    assert_allclose(size, expected[unit][1])


def test_ten_models_of_many_rows_make_a_page_of_less_than_3_mb() -> None:
    models = {f"model {i}": intervals(20_000, seed=0).calibrated(scale=1 + i) for i in range(10)}
    assert len(ucc.assess(models, coverage=0.9).to_html().encode()) < 3_000_000


def test_forty_models_with_segments_make_a_page_of_less_than_3_5_mb() -> None:
    rng = np.random.default_rng(1)
    one = intervals(400)
    models = {
        f"model {i}": ucc.Intervals.from_bands(
            one.y_true, one.y_pred + 0.1 * rng.normal(size=400), one.upper_band
        )
        for i in range(40)
    }
    by = {"hour": rng.integers(0, 24, 400).astype(str)}
    assert len(ucc.assess(models, coverage=0.9, by=by).to_html().encode()) < 3_500_000


# What the page may do


def test_only_its_own_scripts_may_run_and_nothing_may_be_requested(parsed: Parsed) -> None:
    (policy,) = (
        a["content"]
        for tag, a in parsed.elements
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {
        "default-src",
        "script-src",
        "style-src",
        "img-src",
        "base-uri",
        "form-action",
    }
    assert rules["img-src"] == "data: blob:"
    (own,) = (text for attributes, text in parsed.scripts if "type" not in attributes)
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (own, get_plotlyjs())
    ]
    assert rules["script-src"].split() == hashes


def test_plotlys_own_script_is_packed_into_less_than_half(parsed: Parsed) -> None:
    (text,) = (
        text for attributes, text in parsed.scripts if attributes.get("id") == "plotly-packed"
    )
    assert zlib.decompress(base64.b64decode(text)).decode() == get_plotlyjs()
    assert len(text) < len(get_plotlyjs()) / 2


def test_the_policy_comes_before_anything_it_has_to_rule(parsed: Parsed) -> None:
    tags = [tag for tag, _ in parsed.elements]
    place = next(i for i, (_, a) in enumerate(parsed.elements) if a.get("http-equiv"))
    assert set(tags[:place]) <= {"html", "head", "meta"}


def test_no_attribute_runs_a_script_or_fetches_a_file(parsed: Parsed) -> None:
    for tag, attributes in parsed.elements:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        for name in ("src", "href", "action", "data"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), (tag, attributes)


def test_names_are_text_everywhere(found: ucc.Assessment, parsed: Parsed) -> None:
    assert "img" not in [tag for tag, _ in parsed.elements]
    assert len([tag for tag, _ in parsed.elements if tag == "b"]) == 1  # in the words about the map
    assert len(parsed.scripts) == 3
    assert EVIL in [a.get("title") for _, a in parsed.elements]
    assert EVIL not in found.to_html()


def test_embedded_data_come_back_and_cannot_leave_their_element(parsed: Parsed) -> None:
    (text,) = (text for attributes, text in parsed.scripts if attributes.get("id") == "report-data")
    assert short(EVIL) in [model["name"] for model in json.loads(text)["models"]]
    assert not set("<>&'") & set(text)


def test_names_that_no_file_can_hold_do_no_harm() -> None:
    names = ["lone \ud800 surrogate", "x" * 10_000, "שלום", "over\u202eride"]
    models = {name: intervals().calibrated(scale=1 + i) for i, name in enumerate(names)}
    by = {"by \udfff": np.where(np.arange(200) % 2, "y" * 9000, "\ud801")}
    text = ucc.assess(models, coverage=0.9, by=by).to_html(title="t\ud800")
    assert text.encode("utf-8").decode("utf-8") == text
    assert "x" * 1000 not in text
    assert "\u202e" not in text


# What the page says


def first_screen(parsed: Parsed) -> str:
    """Words of the page up to its first table."""
    return parsed.text.partition("Models, best first")[0]


def test_the_page_begins_with_the_decision_how_sure_it_is_and_what_to_do(
    found: ucc.Assessment, parsed: Parsed
) -> None:
    screen = first_screen(parsed)
    places = [screen.index(part) for part in (found.verdict.headline, how_sure(found), "Copy")]
    assert places == sorted(places)
    assert places[0] < 300
    assert screen.count(found.verdict.headline) == 1
    assert len(screen) < 1000


def test_how_sure_the_decision_is_is_one_sentence() -> None:
    two, three = [row(), mean8()], [row(), mean8(), row("M3", 3)]
    assert how_sure(assessment(two, comparisons=[pair("OLS", "Mean8")])) == (
        "OLS is better than Mean8, the other model (adjusted p = 0.03), on 2,000 rows."
    )
    assert "Mean8, the next of 3 models (not tested), on" in how_sure(assessment(three))
    tied = assessment(two, comparisons=[pair("OLS", "Mean8", 0.41)], tied=["Mean8"])
    assert how_sure(tied) == (
        "The data do not show that OLS is better than Mean8 (p = 0.41), on 2,000 rows."
    )
    assert how_sure(assessment([row()])) == "One model on 2,000 rows; nothing to compare it with."


def test_dropped_rows_and_what_was_not_tested_are_on_the_first_screen() -> None:
    found = assessment(
        [row(), mean8()],
        missing=Missing(20, 80, {"OLS": 0, "Mean8": 20}),
        not_tested=["2 of 12 segments, each a single block (a and b)"],
        curves={name: ucc.UCC(intervals()) for name in ("OLS", "Mean8")},
    )
    screen = first_screen(Parsed(page(found)))
    assert "Dropped: 20 of 100 rows (Mean8 lacks 20)." in screen
    assert "Not tested: 2 of 12 segments, each a single block (a and b)." in screen


def test_what_is_left_of_the_verdict_is_said_once_below(found: ucc.Assessment) -> None:
    text = Parsed(found.to_html()).text
    rest = re.sub(r"\s+", " ", found.verdict.text.split("\n")[0]).removeprefix(
        found.verdict.headline
    )
    assert text.count(rest.strip()) == 1
    assert rest.strip() not in first_screen(Parsed(found.to_html()))


def test_one_command_ships_the_factor_of_the_verdict() -> None:
    found = assessment([row(), mean8()], multiplier=1.1)
    line = command(found, ["my data.csv", "--missing", "drop"])
    assert shlex.split(line) == [
        *("uccurve", "calibrate", "--from", "ASSESSMENT.json", "new.csv", "-o", "calibrated.csv"),
        *("--missing", "drop"),
    ]
    assert command(found, None) == "intervals.calibrated(scale=1.0626)"
    assert (
        command(assessment([row(move=shifted(0.35))]), None) == "intervals.calibrated(shift=0.35)"
    )
    level = assessment([row(level=0.9)])
    assert command(level, None) == "curve.intervals_at(level=0.9).calibrated(scale=0.966)"


def test_where_nothing_is_to_be_done_there_is_no_command() -> None:
    assert command(assessment([row()], unchanged=True), ["x.csv"]) == ""
    assert command(assessment([lost("Q", 1)]), ["x.csv"]) == ""


def test_the_first_table_has_the_columns_of_the_terminal_in_rank_order(
    found: ucc.Assessment, parsed: Parsed
) -> None:
    columns = model_columns("verdict", found.rows, found.settings)
    text = parsed.text
    table = text[text.index("Models, best first") :]
    places = [table.index(column.heading) for column in columns]
    assert places == sorted(places)
    for column in columns[1:]:
        for one in found.rows:
            assert column.cell(one).text.rstrip("0%") in table
    first, second = (table.index(part) for part in (found.ranking[0].name[:10], "Brackets"))
    assert first < second


def test_every_number_in_a_table_can_be_sorted_by_its_value(
    parsed: Parsed, found: ucc.Assessment
) -> None:
    values = [
        float(a["data-value"] or "nan")
        for tag, a in parsed.elements
        if tag == "td" and "data-value" in a
    ]
    for one in found.rows:
        for name in (
            "coverage",
            "scale",
            "half_width",
            "score",
            "skill",
        ):
            assert float(getattr(one, name)) in values
        assert one.delivered.overshoot in values
        assert one.gains["bandwidth_deficit"].value in values
    assert float(found.comparisons[0].difference) in values


def test_sections_stand_in_the_order_of_interest(parsed: Parsed) -> None:
    named = [a["id"] for tag, a in parsed.elements if tag == "section"]
    assert named == [
        *(
            "verdict",
            "why",
            "calibration",
            "curves-section",
            "pairs",
            "segments",
            "paper",
            "reading",
            "made",
        )
    ]
    links = [a["href"] for tag, a in parsed.elements if tag == "a" and a.get("class") != "skip"]
    assert links == [f"#{name}" for name in named]


def test_one_model_needs_no_pairs_and_no_segments() -> None:
    parsed = Parsed(page(ucc.assess(intervals()), title="Only <one>"))
    named = [a["id"] for tag, a in parsed.elements if tag == "section"]
    assert "pairs" not in named
    assert "segments" not in named
    assert "Only <one>" in parsed.text
    assert "One model, 200 rows, no coverage was asked for." in parsed.text


def test_a_page_is_made_of_data_with_undefined_answers() -> None:
    y = np.array([1.0, 1.0, 1.0, 1.0])
    zero = ucc.Intervals.from_bands(y, np.array([0.0, 1, 1, 1]), np.array([0.0, 0, 0, 1]))
    data = data_of(Parsed(ucc.assess({"zero": zero}, coverage=0.9).to_html()))
    assert list(data["units"]) == ["that of y"]
    assert data["models"][0]["target"] is None


def test_notes_are_told_and_differing_predictions_explained() -> None:
    one = intervals()
    other = ucc.Intervals.from_bands(one.y_true, one.y_pred + 0.2, one.lower_band)
    found = ucc.assess({"A": one, "B": other}, coverage=0.9)
    text = Parsed(found.to_html()).text
    assert found.notes
    assert all(f"Note: {note}." in text for note in found.notes)
    assert "a lower curve shows better intervals" in text


def test_no_sentence_is_said_twice_at_first_sight() -> None:
    one = intervals(400)
    models = {f"model {i}": one.calibrated(scale=0.3 * (1 + i)) for i in range(6)}
    found = ucc.assess(models, coverage=0.9, by={"hour": np.arange(400) % 4})
    text = re.sub(r"<details>.*?</details>", "", found.to_html(), flags=re.DOTALL)
    sentences = [part for part in re.split(r"(?<=\.) ", Parsed(text).text) if len(part.split()) > 5]
    assert len(sentences) > 20
    assert [part for part in set(sentences) if sentences.count(part) > 1] == []


def test_how_the_page_was_made_names_what_was_asked(found: ucc.Assessment) -> None:
    made = Parsed(page(found, files=["a.csv", "b.csv"])).text.partition(
        "How this page was made files"
    )[2]
    for words in (
        "a.csv, b.csv",
        "rows 200",
        "coverage 80%",
        "ranked by interval score",
        "in units of y",
    ):
        assert words in made
    assert "influence of each row" in made
    blocked = ucc.assess(intervals(), coverage=0.9, block=10, n_resamples=50, seed=3)
    text = Parsed(blocked.to_html()).text
    assert "dependent rows blocks of 10 rows" in text
    assert "bootstrap, 50 resamples, random seed 3" in text


def test_every_column_is_explained(found: ucc.Assessment, parsed: Parsed) -> None:
    for column in model_columns("verdict", found.rows, found.settings)[1:]:
        assert column.help in parsed.text


# Charts


def test_ticks_are_round_and_lie_where_they_say() -> None:
    axis = Axis(0.0, 686.2)
    assert [text for _, text in axis.ticks()] == ["0", "100", "200", "300", "400", "500", "600"]
    for place, text in axis.ticks():
        assert_allclose(place, 100 * float(text) / 686.2, atol=1e-3)


def test_the_waterfall_of_each_model_is_drawn_to_one_scale() -> None:
    chart = decomposition(assessment([row(), mean8()]))
    own, other = (line.bars for line in chart.lines)
    assert [bar.tag for bar in own] == [
        "one interval for all rows 3,900",
        "predictions save 1,900",
        "bands save 290",
        "score as shipped 1,710",
        "as delivered 12 more",
    ]
    assert_allclose([bar.width * 39 for bar in own], [3900, 1900, 290, 1710, 12], atol=0.1)
    assert_allclose([bar.left * 39 for bar in other], [0, 2120, 1850, 0, 1850], atol=0.1)


def test_a_bar_that_is_cut_says_so() -> None:
    hopeless = mean8(decomposition=parts_of(rescaling=1e6))
    cost = decomposition(assessment([row(), hopeless])).lines[1].bars[-1]
    assert cost.kind == "costs cut"
    assert cost.left + cost.width == 100
    assert cost.tag == "as delivered 1,000,000 more"


def test_calibration_marks_the_promise_and_who_breaks_it() -> None:
    chart = calibration(assessment([row(), mean8()]))
    assert [line.said for line in chart.lines] == ["90.4% ✓ kept", "83.9% ✗ too narrow"]
    assert [line.kind for line in chart.lines] == ["kept", "broken"]
    kept = chart.lines[0].bars[0]
    (mark,) = chart.marks
    assert kept.left < mark < kept.left + kept.width
    assert calibration(assessment([row(promise=None)], settings=OPEN)).marks == []


# Pairs and segments


def texts(table: Table, heading: str) -> list[str]:
    """What one column of a table shows."""
    (column,) = (column for column in table.columns if column.heading == heading)
    return [column.cell(one).text for one in table.rows]


def test_pairs_with_the_model_to_ship_come_first_and_all_behind_a_disclosure() -> None:
    rows = [row(), mean8(), row("third", 3)]
    tested = [pair("Mean8", "third", 0.5), pair("OLS", "third"), pair("OLS", "Mean8", 0.3)]
    shown = pairs(
        assessment(rows, comparisons=tested, crossings=[crossing("OLS", "Mean8", "OLS leads")])
    )
    assert shown is not None
    assert shown.of_shipped.title == "OLS vs. the others: paired tests, adjusted by Holm's method"
    assert texts(shown.of_shipped, "vs.") == ["Mean8", "third"]
    assert texts(shown.of_shipped, "result") == ["–", "better"]
    assert shown.full is not None
    assert len(shown.full.rows) == 3
    assert shown.crossings == ["OLS vs. Mean8: OLS leads"]


def test_a_single_pair_is_told_in_words() -> None:
    found = assessment([row(), mean8()], comparisons=[pair("OLS", "Mean8", 0.3)])
    assert findings(found)["pairs"] == "The two models do not differ significantly"
    shown = pairs(found)
    assert shown is not None
    assert shown.full is None


def test_each_section_is_headed_by_what_it_found(found: ucc.Assessment) -> None:
    made = found.to_html()
    headings = [" ".join(Parsed(text).text.split()) for text in re.findall(r"<h2.*?</h2>", made)]
    topics = {"why": "Why", "calibration": "Calibration", "curves": "Curves", "pairs": "Pairs"}
    topics |= {"segments": "Segments", "paper": "The paper's areas"}
    said = findings(found)
    for place, topic in topics.items():
        assert said[place]
        assert f"{topic} {said[place]}" in headings
    share = found[found.verdict.model].decomposition
    saved = f"{100 * share.prediction / share.climatology:.0f}%"
    assert f"predictions save {saved}" in said["why"]


def test_the_model_to_ship_and_those_tied_with_it_are_marked() -> None:
    one = intervals(400)
    wider = ucc.Intervals.from_bands(one.y_true, one.y_pred, 1.01 * one.lower_band, one.upper_band)
    flat = ucc.Intervals.from_bands(one.y_true, one.y_pred, np.full(400, 1.0))
    found = ucc.assess({"one": one, "other": wider, "flat": flat}, coverage=0.9)
    assert found.verdict.tied
    made = found.to_html()
    marked = re.findall(r"<bdi>([a-z]+)</bdi></span> <span class=\"decided( ships)?\">(\w+)<", made)
    wanted = {(name, "", "tied") for name in found.verdict.tied}
    assert set(marked) == {(found.verdict.model, " ships", "ships"), *wanted}


def test_a_state_has_a_sign_and_a_word_beside_its_colour() -> None:
    found = assessed()
    states = re.findall(
        r'class="state (\w+)"><span aria-hidden="true">(.)</span> ([a-z ]+)<', found.to_html()
    )
    assert {word for _, _, word in states} >= {row.promise for row in found.rows}
    assert all(STATES[word].colour == colour for colour, _, word in states)
    assert all(STATES[word].sign == sign for _, sign, word in states)


def test_the_worst_segments_come_first_with_the_factor_they_would_need() -> None:
    found = [segment(f"{i:02}", shipped_pvalue=i / 1000) for i in range(14)]
    found += [segment(f"{i:02}", fails=False) for i in range(14, 40)]
    shown = segments(assessment([row()], segments=found))
    assert shown is not None
    assert (
        shown.headline
        == "Even after rescaling, 14 of 40 segments cover significantly less than 90%."
    )
    assert shown.worst.title == "The worst 10 of 14: OLS, which needs bands × 0.97 as a whole"
    assert texts(shown.worst, "segment") == [f"hour {i:02}" for i in range(10)]
    assert "model" not in [column.heading for column in shown.worst.columns]
    assert texts(shown.worst, "own factor")[0] == "× 1.62"
    assert len(shown.full.rows) == 40


def test_segments_that_the_factor_for_all_rows_fixes_are_one_sentence() -> None:
    own = [segment(f"{i}", "Mean8", short=False, shipped_coverage=Estimate(0.9)) for i in range(48)]
    own += [segment(f"{i}", "OLS", fails=False) for i in range(48)]
    shown = segments(assessment([row(), mean8()], segments=own))
    assert shown is not None
    assert shown.headline == (
        "Even after rescaling, 0 of 96 model-segment pairs cover significantly less than 90%."
    )
    assert shown.sentences == ["Bands × 1.36 fix all 48 failing segments of Mean8."]
    assert shown.worst.title.startswith("Lowest coverage: OLS")
    assert len(shown.worst.rows) == 10


def test_a_segment_that_the_factor_itself_breaks_is_told_with_both_coverages() -> None:
    broken: dict[str, Any] = {
        "fails": False,
        "short": True,
        "coverage": Estimate(1.0, 0.98, 1.0),
        "shipped_coverage": Estimate(0.609, 0.5, 0.7),
    }
    one = segments(assessment([row(), mean8()], segments=[segment("1", "OLS", **broken)]))
    assert one is not None
    assert one.headline == (
        "After rescaling, 1 of 1 model-segment pairs covers significantly less than 90%."
    )
    assert one.sentences == ["Bands × 0.97 take hour 1 of OLS from 100% to 60.9%."]
    own = [segment(f"{i}", "OLS", **broken) for i in range(5)]
    own.append(segment("6", "OLS", fails=True))
    several = segments(assessment([row(), mean8()], segments=own))
    assert several is not None
    assert several.sentences == [
        (
            "Bands × 0.97 take 5 segments of OLS below 90%, hour 0 from 100% to 60.9%, "
            "hour 1 from 100% to 60.9%, hour 2 from 100% to 60.9% and two more."
        )
    ]


def test_without_a_promise_segments_are_held_against_the_models_other_rows() -> None:
    found = [segment("a", target=None), segment("b", fails=False, target=None)]
    shown = segments(assessment([row(promise=None)], segments=found, settings=OPEN))
    assert shown is not None
    assert shown.headline == (
        "1 of 2 segments covers significantly less than the model's other rows."
    )
    drawn = assessment(
        [row(promise=None)], segments=found, settings=OPEN, curves={"OLS": ucc.UCC(intervals())}
    )
    text = Parsed(page(drawn)).text
    assert "Red is covered less often than the model as a whole" in text


def test_the_map_has_every_segment_and_deepens_with_the_distance() -> None:
    found = [
        segment("b", fails=False, shipped_coverage=Estimate(0.87)),
        segment("a", shipped_coverage=Estimate(0.71)),
        segment("b", "Mean8", fails=False, shipped_coverage=Estimate(0.96)),
    ]
    shown = segments(assessment([row(), mean8()], segments=found))
    assert shown is not None
    assert shown.map.models == ["OLS", "Mean8"]
    assert shown.map.titles == ["hour a", "hour b"]
    assert ("hour a", "Mean8") not in shown.map.cells
    curves = {name: ucc.UCC(intervals()) for name in shown.map.models}
    drawn = Parsed(page(assessment([row(), mean8()], segments=found, curves=curves)))
    shaded = [a for tag, a in drawn.elements if tag == "td" and "--heat" in (a.get("style") or "")]
    heats = [cell for cell in shaded if cell["class"] != "behind"]
    assert [(one["class"], one["style"]) for one in heats] == [
        ("below fails", "--heat: 1.0"),
        ("below", "--heat: 0.2"),
        ("above", "--heat: 0.4"),
    ]
    assert heats[0]["title"] == "OLS, hour a: 71.0%, 83 rows"


def test_a_map_of_scores_tells_who_is_best_where_and_by_how_much() -> None:
    found = [segment("a", score=2.0), segment("b", score=3.0)]
    found += [segment("a", "Mean8", score=2.5), segment("b", "Mean8", score=1.5)]
    curves = {name: ucc.UCC(intervals()) for name in ("OLS", "Mean8")}
    made = page(assessment([row(), mean8()], segments=found, curves=curves))
    drawn = made.partition('id="scores-title"')[2].partition("</table>")[0]
    cells = re.findall(r"<td[^>]*>(?:<strong>)?([^<]+)", drawn)
    assert cells == ["best", "+25.0%", "+100.0%", "best"]
    assert re.findall(r"--heat: ([0-9.]+)", drawn) == ["0.5", "1.0"]


def test_seven_models_have_colours_and_the_rest_are_grey() -> None:
    one = intervals()
    rng = np.random.default_rng(3)
    models = {
        f"model {i:02}": ucc.Intervals.from_bands(
            one.y_true, one.y_pred, rng.uniform(0.2, 1 + i, 200)
        )
        for i in range(9)
    }
    few = dict(list(models.items())[:3])
    assert data_of(Parsed(ucc.assess(few).to_html()))["colours"] == 3
    found = ucc.assess(models)
    parsed = Parsed(found.to_html())
    assert data_of(parsed)["colours"] == 7
    assert [model["name"] for model in data_of(parsed)["models"]] == [
        one.name for one in found.ranking
    ]
    swatches = {
        a["class"] for tag, a in parsed.elements if (a.get("class") or "").startswith("swatch")
    }
    assert swatches == {f"swatch model-{i}" for i in range(7)}
