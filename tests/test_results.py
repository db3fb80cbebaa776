"""Results are data: they pickle, copy and become JSON, frames, text and HTML without losing or inventing anything."""

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from model_rows import (
    OPEN,
    SETTINGS,
    assessment,
    crossing,
    lost,
    mean8,
    pair,
    row,
    scaled,
    segment,
)
from uccurve.points import Estimate
from uccurve.results import WIS, Assessment, Comparison, Cost, ModelRow, Segment, Verdict

HOSTILE = '<script>alert("1")</script> & <b>'
SECTIONS = [
    "schema",
    "verdict",
    "models",
    "comparisons",
    "wis_comparisons",
    "crossings",
    "segments",
    "winners",
    "across",
    "pockets",
    "missing",
    "notes",
    "not_tested",
    "settings",
    "engine",
    "brackets",
]


def whole(**given: Any) -> Assessment:
    """Two models with everything that can be found of them."""
    return assessment(
        [mean8(), row()],
        comparisons=[pair("OLS", "Mean8")],
        crossings=[crossing("OLS", "Mean8", "OLS needs less bandwidth at every miss rate")],
        segments=[
            segment("14"),
            segment("15", fails=False),
            segment("16", "Mean8", pvalue=1e-5),
        ],
        notes=["OLS: 3 bands were raised by min_band"],
        **given,
    )


def pickled(found: Assessment) -> Any:
    return pickle.loads(pickle.dumps(found))  # noqa: S301  our own


@pytest.mark.parametrize("clone", [pickled, copy.copy, copy.deepcopy])
def test_an_assessment_pickles_and_copies(clone: Callable[[Assessment], Assessment]) -> None:
    found = whole(curves={"OLS": [1.0, 2.0]})
    again = clone(found)
    assert again.to_dict() == found.to_dict()
    assert dict(again.curves) == {"OLS": [1.0, 2.0]}
    assert repr(again) == repr(found)


def test_curves_cannot_be_changed_through_the_assessment_or_the_mapping_given() -> None:
    given = {"OLS": 1}
    found = whole(curves=given)
    given["Mean8"] = 2
    assert list(found.curves) == ["OLS"]
    with pytest.raises(TypeError):
        found.curves["OLS"] = 3  # type: ignore[index]  # that is the point
    with pytest.raises(FrozenInstanceError):
        found.curves = {}  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    "result", [row(), pair("A", "B"), segment("14"), SETTINGS, whole().verdict]
)
def test_results_are_frozen_and_carry_nothing_but_their_fields(result: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(result, fields(result)[0].name, "other")
    assert not hasattr(result, "__dict__")


def test_rows_keep_the_order_given_and_the_ranking_is_by_rank() -> None:
    found = whole()
    assert [one.name for one in found.rows] == ["Mean8", "OLS"]
    assert [one.name for one in found.ranking] == ["OLS", "Mean8"]
    assert len(found) == 2
    assert found["Mean8"].rank == 2


def test_an_unknown_model_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        KeyError, match=r"no model is called 'Mean9'; there are Mean8, OLS. Did you mean 'Mean8'\?"
    ):
        whole()["Mean9"]
    with pytest.raises(KeyError, match=r"no model is called 7; there is OLS\."):
        assessment([row()])[7]  # type: ignore[index]  # what a user may try
    with pytest.raises(KeyError, match=r"M11, M12 and 8 more\."):
        assessment([row(f"M{i}", i) for i in range(1, 21)])["nothing like it"]


def test_failing_segments_come_surest_first() -> None:
    assert [one.title for one in whole().failing] == ["hour 16", "hour 14"]


def test_json_has_the_sections_of_the_schema_and_models_by_name() -> None:
    found = json.loads(whole().to_json())
    assert list(found) == SECTIONS
    assert found["schema"] == 2
    names = {field.name for field in fields(ModelRow)}
    assert set(found["models"]["OLS"]) == names - {"move"} | {"scale", "shift"}
    assert found["models"]["OLS"]["score"] == {"value": 1710.0, "low": 1641.6, "high": 1778.4}
    assert found["models"]["OLS"]["decomposition"]["prediction"] == 1900
    assert set(found["verdict"]) == {field.name for field in fields(Verdict)}
    assert set(found["comparisons"][0]) == {field.name for field in fields(Comparison)}
    names = {field.name for field in fields(Segment)}
    assert set(found["segments"][0]) == names - {"move"} | {"scale", "shift"}
    assert found["settings"]["axes"] == ["bandwidth", "miss_rate"]
    assert found["crossings"][0]["dominant"] is None


def test_json_begins_with_the_same_verdict_as_text_and_html() -> None:
    found = whole()
    assert json.loads(found.to_json())["verdict"]["text"] == found.verdict.text
    assert repr(found).startswith(found.verdict.text)
    assert found._repr_html_().startswith(f"<p><strong>{found.verdict.text}</strong></p>")


def test_what_is_not_finite_is_null_in_json() -> None:
    found = json.loads(assessment([lost("OLS", 1)]).to_json())
    model = found["models"]["OLS"]
    nothing = {"value": None, "low": None, "high": None}
    assert [model[name] for name in ("scale", "half_width", "skill", "shift")] == [nothing] * 4
    assert [model[name] for name in ("pvalue", "cost")] == [None] * 2
    assert [found["verdict"][name] for name in ("scale", "pvalue")] == [None] * 2
    assert found["verdict"]["half_width"] == nothing


def test_json_survives_names_that_no_file_can_encode() -> None:
    text = assessment([row("a\udc80b")]).to_json()
    assert list(json.loads(text.encode())["models"]) == ["a\udc80b"]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_a_row_per_model_and_every_number_in_a_column(backend: str) -> None:
    frame = whole().to_frame(backend)
    columns = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert {"name", "rank", "score", "score_low", "score_high", "scale", "scale_low"} < set(columns)
    assert len(columns) < 40
    assert len(frame) == 2
    full = whole().to_frame(backend, full=True)
    columns = full.column_names if backend == "pyarrow" else list(full.columns)
    assert {"decomposition_shipped", "delivered_miss_rate", "gains_excess_deficit_low"} < set(
        columns
    )
    assert "levels" not in columns


def test_a_frame_is_in_rank_order_and_has_few_columns_whatever_was_asked_for() -> None:
    wis = WIS(Estimate(3.0, 2.0, 4.0), 1.0, 1.0, 1.0, 2.5)
    rows = [mean8(), row(wis=wis, cost=Cost(7.0, 6.0, 0.8), partial_gain=Estimate(0.2, 0.1, 0.3))]
    frame = assessment(rows).to_frame("polars")
    assert frame["name"].to_list() == ["OLS", "Mean8"]
    assert len(frame.columns) < 40
    assert frame["wis_high"].to_list() == [4.0, None]


def test_metrics_are_flat_and_finite() -> None:
    logged = assessment([row(), lost("Q", 2)]).metrics()
    assert logged["OLS/score"] == 1710.0
    assert logged["OLS/scale"] == 0.966
    assert "OLS/shift" not in logged
    assert "Q/score" not in logged
    assert all(isinstance(value, float) for value in logged.values())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_segments_become_a_frame_as_they_are(library: str) -> None:
    frame = whole().segments_frame(library)
    assert {"feature", "label", "model", "shipped_coverage_low", "at_most"} < set(frame.columns)
    assert list(frame["label"]) == ["14", "15", "16"]


def test_text_shows_the_models_in_rank_order_below_the_verdict() -> None:
    lines = repr(whole()).splitlines()
    assert lines[1] == ""
    assert [line.split()[0] for line in lines[2:5]] == ["model", "OLS", "Mean8"]


def test_text_aligns_its_columns() -> None:
    lines = repr(whole()).splitlines()[2:5]
    assert len({line.index("× ") for line in lines[1:]}) == 1
    assert len({line.index("[6") for line in lines[1:]}) == 1
    assert lines[1].index("kept") == lines[2].index("too narrow") == lines[0].index("promise")


def test_text_of_two_models_leaves_pairs_to_the_verdict_and_full_text_shows_them() -> None:
    assert "OLS vs. Mean8" not in repr(whole())
    full = whole().to_text(full=True)
    assert "1 of 1 pair differs significantly" in full
    assert "OLS vs. Mean8     -140 [-264, -16]  0.01        0.03  OLS" in full
    three = assessment(
        [row(), mean8(), row("M3", 3)], comparisons=[pair("OLS", "Mean8"), pair("M3", "OLS")]
    )
    assert "\nM3         140 [16, 264]    0.01        0.03  worse" in repr(
        three
    )  # the same test, from the other side


def test_text_of_many_models_shows_the_five_next_best_pairs_of_the_one_to_ship() -> None:
    rows = [row(), *(row(f"M{i}", i) for i in range(2, 13))]
    pairs = [pair("OLS", one.name) for one in reversed(rows[1:])] + [pair("M2", "M3", 0.9)]
    text = repr(assessment(rows, comparisons=pairs))
    assert "OLS vs. the others (of all models, 11 of 12 pairs differ significantly)" in text
    listed = text.partition("differ significantly)\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed[1:]] == [
        "M2",
        "M3",
        "M4",
        "M5",
        "M6",
    ]


def test_full_text_adds_the_reasons_and_the_paper() -> None:
    full = whole().to_text(full=True)
    for text in (
        "- As shipped, the score of OLS is 140 lower",
        "Where the score at 90% comes from, in units of y",
        "Over all scales: potential CRPS and areas under the curve",
        "Gains over the constant band",
        "rows with half the area",
    ):
        assert text in full
        assert text not in repr(whole())


def test_costs_and_partial_gains_are_shown_only_where_they_were_asked_for() -> None:
    assert "Cost" not in whole().to_text(full=True)
    asked = replace(SETTINGS, c=0.1, partial=(0.0, 0.5))
    one = row(cost=Cost(7.0, 6.0, 0.8), partial_gain=Estimate(0.2, 0.192, 0.208))
    text = assessment([one], settings=asked).to_text(full=True)
    assert "Cost 0.1 × bandwidth + 0.9 × miss rate" in text
    assert "partial (miss rate 0 to 0.5)" in text
    assert "20.0% [19.2, 20.8]" in text


def test_segments_of_the_model_to_ship_come_first_and_at_most_ten_are_shown() -> None:
    segments = [segment(str(i), shipped_pvalue=0.04, fails=i < 8) for i in range(16)]
    segments += [segment(str(i), "Mean8", shipped_pvalue=0.01, fails=i < 8) for i in range(16)]
    found = assessment([row(), mean8()], segments=segments)
    _, by_model, failing = repr(found).split("\nsegment ")
    lines = [line.split() for line in failing.splitlines() if line.startswith("hour")]
    assert [line[2] for line in lines] == ["OLS"] * 8 + ["Mean8"] * 2
    assert by_model.count("\nhour") == 10
    assert "16 of 32 model-segment pairs cover significantly less than 90%; the first 10" in repr(
        found
    )
    assert found.to_text(full=True).count("\nhour") == 16 + 16


def test_segments_that_the_factor_for_all_rows_fixes_are_one_sentence() -> None:
    segments = [
        segment("1"),
        segment("2", fails=False),
        *(segment(str(i), "Mean8", short=False, shipped_coverage=Estimate(0.9)) for i in range(48)),
    ]
    text = repr(assessment([row(), mean8()], segments=segments))
    assert "Bands × 1.36 fix all 48 failing segments of Mean8." in text
    assert "1 of 50 model-segment pairs covers significantly less than 90%\n" in text


def test_notes_and_what_brackets_mean_end_the_text() -> None:
    settings = replace(SETTINGS, block="blocks of 24 rows", confidence_level=0.9)
    assert repr(whole(settings=settings)).splitlines()[-3:] == [
        "Note: OLS: 3 bands were raised by min_band.",
        "Brackets are 90% confidence intervals.",
        "Dependent rows: blocks of 24 rows.",
    ]


def test_brackets_are_explained_only_where_some_are_shown() -> None:
    rng = np.random.default_rng(0)
    y, p, band = rng.normal(size=50), np.zeros(50), rng.gamma(2, size=50)
    models = {
        "A": ucc.Intervals.from_bands(y, p, band),
        "B": ucc.Intervals.from_bands(y, p, band[::-1]),
    }
    for blocks in (50, 5):
        text = ucc.assess(models, coverage=0.9, block=blocks).to_text(full=True)
        assert ("Brackets are 95% confidence intervals." in text) == ("[" in text) == (blocks == 5)
        assert text.count("all rows form one block") == (blocks == 50)


def test_a_table_of_text_without_an_interval_chooses_its_digits_without_it() -> None:
    found = assessment([row(skill=Estimate(0.0312, -5.0, 4000.0))])
    assert " 3.1%" in repr(found)


def test_segments_that_the_factor_for_all_rows_fixes_are_counted() -> None:
    segments = [segment(str(i), short=False, shipped_coverage=Estimate(0.9)) for i in range(20)] + [
        segment(str(i), fails=False) for i in range(20, 24)
    ]
    narrow = row(promise="too narrow", move=scaled(1.3))
    found = assessment([narrow], segments=segments)
    assert "Bands × 1.30 fix all 20 failing segments of OLS." in repr(found)
    assert "Worst segment" not in found.verdict.text
    left = segment("30", move=scaled(1.9), shipped_coverage=Estimate(0.81), shipped_pvalue=0.002)
    assert "Bands × 1.30 fix 20 of the 21 failing segments of OLS." in repr(
        assessment([narrow], segments=[*segments, left])
    )


def test_without_a_coverage_the_text_has_no_promise() -> None:
    found = assessment([row(promise=None), mean8(promise=None)], settings=OPEN)
    assert "promise" not in found.to_text(full=True)


def test_long_names_are_shortened_in_text() -> None:
    long = [row("a" * 5000 + "1"), mean8()]
    found = assessment(
        long,
        comparisons=[pair("a" * 5000 + "1", "Mean8")],
        segments=[segment("b" * 5000, "a" * 5000 + "1")],
    )
    assert max(map(len, found.to_text(full=True).splitlines())) < 400
    assert "a1" in repr(found)


class Reader(HTMLParser):
    """Collects the tags, the text of the cells and what is shown on hover."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.hovers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.hovers += [value for name, value in attrs if name == "title" and value]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_html_in_names_labels_and_notes_is_text() -> None:
    found = assessment(
        [row(HOSTILE), mean8()],
        comparisons=[pair(HOSTILE, "Mean8")],
        segments=[segment(HOSTILE, HOSTILE)],
        notes=[HOSTILE],
    )
    reader = read(found._repr_html_())
    assert reader.tags <= {
        "p",
        "strong",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "small",
    }
    assert HOSTILE in reader.texts


def test_html_shows_a_shortened_name_in_full_on_hover() -> None:
    name = '"quoted" ' + "n" * 60 + " end"
    reader = read(assessment([row(name)])._repr_html_())
    assert name in reader.hovers
    assert name not in reader.texts
    assert (
        read(assessment([row("short ... name")])._repr_html_()).hovers.count("short ... name") == 0
    )
    assert len(assessment([row("n" * 10_000)])._repr_html_()) < 6000


def test_html_shows_the_same_numbers_as_the_text() -> None:
    texts = " ".join(read(whole()._repr_html_()).texts)
    for number in (
        "90.4% ",
        "× 1.36",
        "686  [659, 714]",
        "1,850",
        "14.5%  [13.9, 15.1]",
        "hour 14",
    ):
        assert number in texts
