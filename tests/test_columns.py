from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

import pytest

from model_rows import OPEN, SETTINGS, assessment, estimate, mean8, pair, row, segment, shifted
from uccurve.points import Estimate
from uccurve.results import WIS, AssessmentSettings, Cost, ModelRow
from uccurve.words import columns as _columns
from uccurve.words import formats as _formats
from uccurve.words.columns import (
    MODELS,
    PAIRS,
    SEGMENTS,
    TITLES,
    Column,
    filled,
    model_columns,
)
from uccurve.words.formats import factor, number, percent, pvalue, share, short
from uccurve.words.tables import frame_columns


def headings(
    group: _columns.Group, *rows: ModelRow, settings: AssessmentSettings = SETTINGS
) -> list[str]:
    return [column.heading for column in model_columns(group, rows, settings)]


def test_every_number_that_a_column_shows_is_in_the_full_frame() -> None:
    names = [column.name for column in MODELS if column.name != "crps"]
    assert len(names) == len(set(names))
    whole = row(
        wis=WIS(Estimate(3.0, 2.0, 4.0), 1.0, 1.0, 1.0, 2.5),
        cost=Cost(7.0, 6.0, 0.8),
        partial_gain=Estimate(0.2, 0.1, 0.3),
        level=0.9,
        pvalue=0.02,
    )
    cells = [value for values in frame_columns([whole], full=True).values() for value in values]
    numbers = {float(value) for value in cells if isinstance(value, int | float)}
    shown = [column.read(whole) for column in MODELS]
    kinds = int | float | Estimate | WIS
    shown_numbers = {float(value) for value in shown if isinstance(value, kinds)}
    assert shown_numbers <= numbers


def test_headings_and_help_name_what_was_asked_for_and_leave_no_placeholder() -> None:
    texts = [filled(text, SETTINGS) for column in MODELS for text in (column.heading, column.help)]
    assert "Weighted interval score of the delivered levels. Lower is better." in texts
    assert any("90%" in text for text in texts)
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
        "score as shipped",
        "adjusted p",
        "half-width as shipped",
        "own factor",
        "coverage as delivered",
        "promise",
        "skill",
    ]


def test_a_column_with_nothing_to_show_is_left_out() -> None:
    assert "adjusted p" not in headings("verdict", row())
    assert "own shift" in headings("verdict", row(move=shifted(2.0)))
    assert "own factor" not in headings("verdict", row(move=shifted(2.0)))
    assert headings("cost", row()) == []
    assert headings("cost", row(cost=Cost(3.0, 2.0, 0.9)))[1:] == [
        "as delivered",
        "minimum",
        "at scale",
    ]


def test_without_a_coverage_the_first_table_shows_the_crps_that_ranks_and_no_promise() -> None:
    shown = headings("verdict", row(promise=None), mean8(promise=None), settings=OPEN)
    assert "potential CRPS" in shown
    assert not {"score as shipped", "promise"} & set(shown)
    assert "potential CRPS" in headings("areas", row())


def test_a_new_column_needs_one_entry_to_be_in_text_notebook_and_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratio = Column(
        "excess_ratio",
        "excess ratio",
        number,
        "Excess by deficit.",
        lambda row: row.delivered.excess / row.delivered.deficit,
        "delivered",
    )
    monkeypatch.setattr(_columns, "MODELS", (*MODELS, ratio))
    found = assessment([row(), mean8()])
    assert "excess ratio" in found.to_text(full=True)
    assert "23.5" in found.to_text(full=True)
    table = model_columns("delivered", found.rows, SETTINGS)
    assert table[-1].help == "Excess by deficit."


def test_numbers_of_a_column_have_the_same_decimals() -> None:
    rows = [row(), row("far", 2, score=estimate(98.7654)), row("near", 3, score=estimate(1.5))]
    texts = [cell.text for cell in MODELS[1].cells(rows)]
    assert texts == ["1,710.00", "98.77", "1.50"]
    shares = [row(coverage=Estimate(0.998)), row(coverage=Estimate(0.879))]
    column = next(column for column in MODELS if column.name == "coverage")
    assert [cell.text for cell in column.cells(shares)] == ["99.80%", "87.90%"]


def test_an_interval_of_text_tables_is_left_out_where_the_column_is_brief() -> None:
    line = str(assessment([row()]))
    assert "14.5% [" not in line.split("\n\n")[1]
    assert "1,710 [1,642, 1,778]" in line


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
        (number(nan, 1.0, 2.0), "–"),
        (factor(0.966, 0.93, 1.004), "× 0.97 [0.93, 1.00]"),
        (factor(0.0), "× 0.00"),
        (factor(0.00421), "× 0.00421"),
        (factor(12345.6), "× 12,346"),
        (factor(inf), "none"),
        (factor(nan), "–"),
        (share(0.242), "24.2%"),
        (share(0.904, 0.8912, 0.9155), "90.4% [89.1, 91.5]"),
        (share(0.99996), ">99.99%"),
        (share(0.00004), "<0.01%"),
        (share(0.9987), "99.87%"),
        (share(1.0), "100%"),
        (share(1.0, 0.963, 1.0), "100.0% [96.3, 100.0]"),
        (share(nan), "–"),
        (percent(0.573, 0.551, 0.594), "57.3% [55.1, 59.4]"),
        (percent(-0.0004, -0.02, 0.01), "0.0% [-2.0, 1.0]"),
        (percent(-123456.0), "-1.23e+07%"),
        (percent(-inf), "-inf"),
        (pvalue(0.0312), "0.031"),
        (pvalue(0.03), "0.03"),
        (pvalue(0.00099), "<0.001"),
        (pvalue(0.0), "<0.001"),
        (pvalue(1.0), "1"),
        (pvalue(nan), "–"),
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


@pytest.mark.parametrize(
    ("columns", "one", "missing"),
    [(PAIRS, pair("A", "B"), []), (SEGMENTS, segment("14"), ["shift"])],
)
def test_every_column_of_pairs_and_segments_finds_its_value(
    columns: Sequence[Column], one: object, missing: list[str]
) -> None:
    assert [column.name for column in columns if column.read(one) is None] == missing


def test_the_difference_of_a_pair_is_shown_with_its_interval() -> None:
    assert str(PAIRS[1].cell(pair("A", "B"))) == "-140 [-264, -16]"
