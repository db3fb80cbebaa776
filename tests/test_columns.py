from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace

import pytest

from model_rows import OPEN, SETTINGS, assessment, mean8, pair, row, segment
from uccurve.results import AssessmentSettings, ModelRow
from uccurve.words import columns as _columns
from uccurve.words import formats as _formats
from uccurve.words.columns import (
    MODELS,
    PAIRS,
    SEGMENTS,
    TITLES,
    Column,
    filled,
    frame_columns,
    model_columns,
)
from uccurve.words.formats import factor, number, percent, pvalue, share, short


def headings(
    group: _columns.Group, *rows: ModelRow, settings: AssessmentSettings = SETTINGS
) -> list[str]:
    return [column.heading for column in model_columns(group, rows, settings)]


def test_every_number_of_a_row_is_described_by_exactly_one_column() -> None:
    described = [column.field.replace(".", "_") for column in MODELS]
    ends = {f"{name}{end}" for name in described for end in ("_low", "_high")}
    assert sorted(set(frame_columns([row()])) - ends) == sorted(described)


def test_headings_and_help_name_what_was_asked_for_and_leave_no_placeholder() -> None:
    texts = [filled(text, SETTINGS) for column in MODELS for text in (column.heading, column.help)]
    assert "factor for 90%" in texts
    assert not [
        text
        for text in [*texts, *(filled(title, OPEN) for title in TITLES.values())]
        if "{" in text
    ]


@pytest.mark.parametrize(
    ("unit", "words"), [("raw", "of y"), ("std", "standard deviations of y"), (7.5, "of 7.5")]
)
def test_help_says_in_which_unit_a_number_is(unit: str | float, words: str) -> None:
    assert filled("{unit}", replace(SETTINGS, unit=unit)).endswith(words)


def test_the_first_table_has_the_columns_of_the_decision_in_order() -> None:
    assert headings("verdict", row(), mean8()) == [
        "model",
        "coverage as delivered",
        "promise",
        "factor for 90%",
        "half-width at 90%",
        "score at 90%",
        "adjusted p",
        "skill",
    ]


def test_a_column_with_nothing_to_show_is_left_out() -> None:
    assert "adjusted p" not in headings("verdict", row())
    assert "shift for 90%" in headings("verdict", row(scale=nan, shift=2.0))
    assert "factor for 90%" not in headings("verdict", row(scale=nan, shift=2.0))
    assert headings("cost", row()) == []
    assert headings("cost", row(cost=3.0, cheapest_cost=2.0, cheapest_scale=0.9))[1:] == [
        "as delivered",
        "minimum",
        "at scale",
    ]


def test_without_a_coverage_the_first_table_shows_the_crps_that_ranks_and_no_promise() -> None:
    shown = headings("verdict", row(promise=None), mean8(promise=None), settings=OPEN)
    assert "potential CRPS" in shown
    assert not {"score at 90%", "promise"} & set(shown)
    assert "potential CRPS" in headings("areas", row())


def test_a_column_reads_any_object_that_has_its_field() -> None:
    bracket = SimpleNamespace(name="streamed", coverage=0.5, coverage_low=0.4, coverage_high=0.6)
    found = model_columns("verdict", [bracket], SETTINGS)
    assert [str(column.cell(bracket)) for column in found] == ["streamed", "50.0% [40.0, 60.0]"]


def test_a_computed_column_needs_one_entry_to_be_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratio = Column(
        "excess_ratio",
        "excess ratio",
        number,
        "Excess by deficit.",
        "delivered",
        lambda one: one.excess / one.deficit,
    )
    monkeypatch.setattr(_columns, "MODELS", (*MODELS, ratio))
    found = assessment([row(excess=30.0, deficit=4.0)])
    assert "excess ratio" in found.to_text(full=True)
    assert found.to_dict()["models"]["OLS"]["excess_ratio"] == 7.5
    assert found.to_frame("polars")["excess_ratio"].to_list() == [7.5]


def test_an_interval_of_text_tables_is_left_out_where_the_column_is_brief() -> None:
    line = str(assessment([row(score=1710.0, score_low=1600.0, score_high=1800.0)]))
    assert "1,710 [" not in line
    assert "686 [659, 714]" in line


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (number(686.2, 659.8, 712.4), "686 [660, 712]"),
        (number(1710.4, 1600.0, 1800.2), "1,710 [1,600, 1,800]"),
        (number(2.0), "2.00"),
        (number(0.98765, 0.98701, 0.98829), "0.9877 [0.9870, 0.9883]"),
        (number(0.0), "0.00"),
        (number(-0.0), "0.00"),
        (number(-0.001, -5.0, 5.0), "0.00 [-5.00, 5.00]"),
        (number(123456789.0), "1.23e+08"),
        (number(1.2e-9), "1.2e-09"),
        (number(inf, inf, inf), "inf [inf, inf]"),
        (number(4.0, 3.0, inf), "4.00 [3.00, inf]"),
        (number(nan, 1.0, 2.0), "-"),
        (factor(0.966, 0.93, 1.004), "x 0.97 [0.93, 1.00]"),
        (factor(0.0), "x 0.00"),
        (factor(0.00421), "x 0.00421"),
        (factor(12345.6), "x 12,346"),
        (factor(inf), "none"),
        (factor(nan), "-"),
        (share(0.242), "24.2%"),
        (share(0.904, 0.8912, 0.9155), "90.4% [89.1, 91.5]"),
        (share(0.99996), ">99.99%"),
        (share(0.00004), "<0.01%"),
        (share(0.9987), "99.87%"),
        (share(1.0), "100%"),
        (share(1.0, 0.963, 1.0), "100.0% [96.3, 100.0]"),
        (share(nan), "-"),
        (percent(0.573, 0.551, 0.594), "57.3% [55.1, 59.4]"),
        (percent(-0.0004, -0.02, 0.01), "0.0% [-2.0, 1.0]"),
        (percent(-123456.0), "-1.23e+07%"),
        (percent(-inf), "-inf"),
        (pvalue(0.0312), "0.031"),
        (pvalue(0.03), "0.03"),
        (pvalue(0.00099), "<0.001"),
        (pvalue(0.0), "<0.001"),
        (pvalue(1.0), "1"),
        (pvalue(nan), "-"),
        (_formats.count(1234567), "1,234,567"),
        (_formats.coverage(0.29), "29%"),
        (_formats.coverage(0.9999), "99.99%"),
        (_formats.amount(0.35), "+0.350"),
        (_formats.amount(-0.35), "-0.350"),
        (_formats.amount(0.0), "0.00"),
    ],
)
def test_numbers_are_written_as_people_read_them(cell: _formats.Cell, text: str) -> None:
    assert str(cell) == text


def test_short_keeps_both_ends_of_a_long_name_and_its_width() -> None:
    name = "lightgbm_quantile_" + "9" * 10_000 + "_fold_7"
    assert len(short(name)) == 40
    assert (short(name)[:9], short(name)[-7:]) == ("lightgbm_", "_fold_7")
    assert short("x" * 40) == "x" * 40


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mb", "a\u202eb", "a\udc80b"])
def test_short_replaces_what_a_terminal_or_a_file_cannot_show(name: str) -> None:
    assert short(name).isprintable()
    assert short(name).encode()


@pytest.mark.parametrize(("columns", "one"), [(PAIRS, pair("A", "B")), (SEGMENTS, segment("14"))])
def test_every_column_of_pairs_and_segments_finds_its_value(
    columns: Sequence[Column], one: object
) -> None:
    assert [column.field for column in columns if column.read(one) is None] == []


def test_the_difference_of_a_pair_is_shown_with_its_interval() -> None:
    assert str(PAIRS[1].cell(pair("A", "B"))) == "-140 [-264, -16]"
