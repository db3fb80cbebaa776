"""Which rows belong together, labels of any kind, and what is refused."""

from __future__ import annotations

import time
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from refusal import refused
from uccurve.evidence.inference import paired_t_test
from uccurve.evidence.models import repeated_rows
from uccurve.evidence.units import Blocks, Repeated, codes, generator, labels, positive

OWN = "Hint: give such rows a label of their own."
POSITION = (
    "Hint: labels are matched to rows by position; leave out those of rows that were dropped."
)
LIST = "Hint: pass a list or an array."
FLATTEN = "Hint: flatten a single column with .ravel(), and join several into one label per row."
JOIN = "Hint: join several labels of a row into one."
SUCH_AS = "such as a number, a date or text"


def rows(n: int, **options: Any) -> ucc.Intervals:
    y = np.linspace(-1, 2, n) ** 2
    return ucc.Intervals.from_bands(y, np.zeros(n), np.ones(n), **options)


def outputs(n: int, k: int, **options: Any) -> ucc.Intervals:
    return ucc.Intervals.from_bands(
        np.arange(n * k).reshape(n, k) / 7, np.zeros((n, k)), np.ones((n, k)), **options
    )


def test_every_row_is_a_block_unless_told_otherwise() -> None:
    blocks = Blocks.of(rows(4))
    assert_array_equal(blocks.of_row, [0, 1, 2, 3])
    assert (blocks.count, blocks.independent, blocks.rows) == (4, True, 4)


def test_the_outputs_of_a_row_are_a_block() -> None:
    blocks = Blocks.of(outputs(3, 2))
    assert_array_equal(blocks.of_row, [0, 0, 1, 1, 2, 2])
    assert_array_equal(blocks.row, [0, 0, 1, 1, 2, 2])
    assert (blocks.count, blocks.independent, blocks.rows, blocks.given) == (3, False, 6, 3)


def test_an_integer_makes_consecutive_blocks_of_which_the_last_may_be_shorter() -> None:
    blocks = Blocks.of(outputs(5, 2), 2)
    assert_array_equal(blocks.of_row, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    assert blocks.count == 3
    assert Blocks.of(rows(5), np.int8(1)).independent


def test_rows_of_weight_0_are_in_no_block() -> None:
    blocks = Blocks.of(rows(5, weight=[1, 0, 2, 0, 3]), ["a", "b", "a", "c", "d"])
    assert_array_equal(blocks.of_row, [0, 0, 1])
    assert_array_equal(blocks.row, [0, 2, 4])
    assert (blocks.count, blocks.rows, blocks.given) == (2, 3, 5)
    flattened = Blocks.of(outputs(3, 2, weight=[[1, 0], [0, 0], [2, 1]]))
    assert_array_equal(flattened.of_row, [0, 1, 1])
    assert_array_equal(flattened.row, [0, 2, 2])


@given(st.lists(st.tuples(st.integers(-3, 3), st.floats(-9, 9)), min_size=1, max_size=40))
def test_sums_are_those_of_a_loop(given: list[tuple[int, float]]) -> None:
    label, value = zip(*given, strict=True)
    blocks = Blocks.of(rows(len(label)), list(label))
    sums = blocks.sums(np.array(value))
    assert sorted(sums) == pytest.approx(
        sorted(sum(v for one, v in given if one == other) for other in set(label)), abs=1e-12
    )
    assert_allclose(
        sums[blocks.of_row],
        [sum(v for one, v in given if one == other) for other in label],
        atol=1e-12,
    )


def test_distinct_labels_in_any_order_make_independent_rows() -> None:
    blocks = Blocks.of(rows(3), ["c", "a", "b"])
    assert blocks.independent
    assert_array_equal(blocks.sums(np.array([3.0, 1.0, 2.0])), [3, 1, 2])


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.booleans(), st.sampled_from([0.0, 1.0, 2.5])),
        min_size=2,
        max_size=30,
    )
)
def test_a_subset_has_the_blocks_of_the_chosen_rows(given: list[tuple[int, bool, float]]) -> None:
    label, flags, weight = (np.array(column) for column in zip(*given, strict=True))
    flags[0], weight[0] = True, 1.0
    whole = rows(len(label), weight=weight)
    blocks, expected = Blocks.of(whole, label), Blocks.of(whole[flags], label[flags])
    flattened = flags[blocks.row]
    for subset in (blocks.subset(flattened), blocks.subset(np.flatnonzero(flattened))):
        assert_array_equal(subset.of_row, expected.of_row)
        assert subset.count == expected.count


def test_a_subset_of_several_outputs_keeps_their_blocks() -> None:
    blocks = Blocks.of(outputs(4, 2, weight=[[1, 1], [1, 1], [0, 1], [1, 1]]), 2)
    subset = blocks.subset(np.array([True, False, True, True])[blocks.row])
    assert_array_equal(subset.of_row, [0, 0, 1, 1, 1])
    assert_array_equal(subset.row, [0, 0, 2, 3, 3])
    assert (subset.count, subset.rows, subset.given) == (2, 5, 4)


def test_an_empty_subset_has_no_blocks() -> None:
    empty = Blocks.of(rows(4), 2).subset(np.zeros(4, bool))
    assert (empty.count, len(empty.row), len(empty.of_row)) == (0, 0, 0)


EQUAL: dict[str, Any] = {
    "list": ["b", "a", "b", "c"],
    "tuple": ("b", "a", "b", "c"),
    "str": np.array(["b", "a", "b", "c"]),
    "bytes": np.array([b"b", b"a", b"b", b"c"]),
    "object": np.array(["b", "a", "b", "c"], object),
    "string": np.array(["b", "a", "b", "c"], np.dtypes.StringDType()),
    "int": [3, -7, 3, 5],
    "int8": np.array([3, -128, 3, 127], np.int8),
    "wide": [0, -(2**60), 0, 2**60],
    "widest": [0, -(2**63), 0, 2**63 - 1],
    "uint64": np.array([2**63 + 1, 3, 2**63 + 1, 2**64 - 1], np.uint64),
    "huge": [2**70, 1, 2**70, 2**71],
    "float": [0.5, -np.inf, 0.5, np.inf],
    "date": [date(2024, 2, 1), date(2024, 1, 1), date(2024, 2, 1), date(2025, 1, 1)],
    "datetime64": np.array(["2024-02-01", "2024-01-01", "2024-02-01", "2025-01-01"], "M8[ns]"),
    "unmasked": np.ma.array([2, 1, 2, 3], mask=False),
    "pandas": None,
    "categories": None,
    "polars": None,
    "pyarrow": None,
}


def labels_of(kind: str) -> Any:
    text = ["b", "a", "b", "c"]
    if kind == "pandas":
        return pytest.importorskip("pandas").Series(text, index=[7, 7, 1, 0])
    if kind == "categories":
        return pytest.importorskip("pandas").Categorical(text)
    if kind == "polars":
        return pytest.importorskip("polars").Series(text)
    return pytest.importorskip("pyarrow").array(text) if kind == "pyarrow" else EQUAL[kind]


@pytest.mark.parametrize("kind", EQUAL)
def test_labels_of_every_kind_make_the_same_blocks_in_ascending_order(kind: str) -> None:
    assert_array_equal(Blocks.of(rows(4), labels_of(kind)).of_row, [1, 0, 1, 2])


def test_labels_come_back_as_python_objects_in_the_order_of_their_codes() -> None:
    assert codes("by", np.array([5, -2, 5], np.int8))[1] == [-2, 5]
    assert codes("by", np.array([True, False]))[1] == [False, True]
    times = np.array(["2024-02-01T12:30", "2023-01-01"], "M8[ns]")
    assert [str(label) for label in codes("by", times)[1]] == [
        "2023-01-01 00:00:00",
        "2024-02-01 12:30:00",
    ]
    assert codes("by", np.array(["2024-02-01"], "M8[D]"))[1] == [date(2024, 2, 1)]


def test_labels_without_a_common_order_keep_the_one_they_come_in() -> None:
    code, found = codes("by", labels("by", ["x", 3, "x"], 3))
    assert (code.tolist(), found) == ([0, 1, 0], ["x", 3])


def test_a_number_is_not_its_text() -> None:
    assert codes("by", labels("by", [1, "1", 1], 3))[0].tolist() == [0, 1, 0]


def test_numbers_stay_numbers() -> None:
    assert labels("by", [3, 1, 2], 3).dtype.kind == "i"
    assert labels("by", (0.5, 1), 2).dtype.kind == "f"


def missing_of_pandas(name: str) -> Any:
    return getattr(pytest.importorskip("pandas"), name)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["a", None, "b", None], "None"),
        ([1.0, np.nan, 2.0, np.nan], "nan"),
        (["a", np.nan, "b", float("nan")], "nan"),
        (np.array(["2024", "NaT", "2025", "NaT"], "M8[D]"), "NaT"),
        (np.ma.array([1, 2, 3, 4], mask=[False, True, False, True]), "masked"),
        (np.ma.array(["a", "b", "c", "d"], mask=[False, True, False, True]), "masked"),
        ([1, np.ma.masked, 2, np.ma.masked], "masked"),
        ("NA", "<NA>"),
        ("NaT", "NaT"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_missing_labels_are_counted_and_refused(given: Any, shown: str) -> None:
    if isinstance(given, str):
        missing = missing_of_pandas(given)
        given = ["a", missing, "b", missing]
    refused(
        f"`block` must hold a label in each row: 2 of 4 rows have none, first row 1 ({shown}). {OWN}",
        Blocks.of,
        rows(4),
        given,
    )


@pytest.mark.parametrize("dtype", ["Int64", "float", "category"])
def test_a_pandas_column_with_a_missing_value_is_refused(dtype: str) -> None:
    column = pytest.importorskip("pandas").Series([1, None], dtype=dtype)
    with pytest.raises(
        ValueError, match=r"1 of 2 rows has none, first row 1 \((nan|<NA>)\)\. Hint: give such rows"
    ):
        Blocks.of(rows(2), column)


@pytest.mark.parametrize(
    ("block", "error", "sentence"),
    [
        (0, ValueError, "`block` must be an integer of at least 1; got 0."),
        (-2, ValueError, "`block` must be an integer of at least 1; got -2."),
        (2.5, ValueError, "`block` must be an integer of at least 1; got 2.5."),
        (True, ValueError, "`block` must be an integer of at least 1; got True."),
        (
            6,
            ValueError,
            "`block` must not be longer than the data: 6 for 5 rows. Hint: pass a shorter block.",
        ),
        pytest.param(
            10**5000,
            ValueError,
            "`block` must not be longer than the data: a huge int for 5 rows. Hint: pass a shorter block.",
            id="huge",
        ),
        (
            [1, 2],
            ValueError,
            f"`block` must hold one label per row: 2 labels for 5 rows. {POSITION}",
        ),
        ([1], ValueError, f"`block` must hold one label per row: 1 label for 5 rows. {POSITION}"),
        (
            [[1]] * 5,
            ValueError,
            f"`block` must hold one label per row: 5x1 labels for 5 rows. {FLATTEN}",
        ),
        (
            [[1, 2], [3], 4, 5, 6],
            ValueError,
            f"`block` must hold one label per row: its items differ in length. {JOIN}",
        ),
        (
            np.array([1, 2, {}, 4, 5], object),
            TypeError,
            f"`block` must hold one label per row, {SUCH_AS}: row 2 holds a value of type dict. {JOIN}",
        ),
        ("abcde", TypeError, f"`block` must hold one label per row; got a single string. {LIST}"),
        ({1, 2}, TypeError, f"`block` must hold one label per row; got set. {LIST}"),
    ],
)
def test_a_bad_block_is_refused_in_one_sentence(
    block: Any, error: type[Exception], sentence: str
) -> None:
    refused(sentence, Blocks.of, rows(5), block, error=error)


def test_one_block_is_refused_by_what_needs_two() -> None:
    hint = "Hint: pass shorter blocks, or labels that differ."
    sentence = f"a standard error needs at least two blocks of rows; there is only one. {hint}"
    refused(sentence, Blocks.of(rows(5), 5).require_two, "a standard error")
    sentence = "a bootstrap needs at least two rows; there is only one. Hint: pass more rows."
    refused(sentence, Blocks.of(rows(1)).require_two, "a bootstrap")
    Blocks.of(rows(5), 3).require_two("a standard error")


def test_runs_over_the_same_rows_are_recognised() -> None:
    one, other = rows(4), rows(4, min_band=2)
    repeated = repeated_rows([one, other])
    assert repeated is not None
    assert_array_equal(repeated.row, [0, 1, 2, 3, 0, 1, 2, 3])
    assert_array_equal(repeated.run, [0, 0, 0, 0, 1, 1, 1, 1])
    assert repeated_rows([one, rows(5)]) is None
    assert repeated_rows([one]) is None


def repetitions(parts: list[ucc.Intervals], named: Any) -> list[int]:
    """Which row each row of the folds is."""
    repeated = repeated_rows(parts, named)
    assert repeated is not None
    return [int(row) for row in repeated.row]


def test_labels_tell_which_rows_of_the_runs_are_the_same_in_whatever_order() -> None:
    runs = [rows(3), rows(3)]
    for named in (
        [["a", "b", "c"], ["b", "c", "a"]],
        (np.array(["a", "b", "c"]), np.array(["b", "c", "a"], object)),
        ["a", "b", "c", "b", "c", "a"],
    ):
        assert repetitions(runs, named) == [0, 1, 2, 1, 2, 0]
    assert repetitions([rows(2)], [[7, 7]]) == [0, 0]
    assert repetitions([rows(2), rows(2)], np.array([[1, 2], [2, 1]])) == [0, 1, 1, 0]
    assert repeated_rows([rows(2), rows(3)], [[1, 2], ["1", "2", "3"]]) is None
    assert repeated_rows([rows(2)], np.array([8, 7])) is None


def test_folds_that_overlap_in_part_are_refused() -> None:
    refused(
        "`rows` must all differ, or be the same in every run: 2 rows of 3 occur in some folds only. "
        "Hint: join the folds of each repetition by Intervals.join, so that each item has all rows.",
        repeated_rows,
        [rows(2), rows(3)],
        [["a", "b"], ["b", "c", "a"]],
    )


def test_repetitions_of_a_row_are_a_block_and_consecutive_blocks_count_different_rows() -> None:
    whole, ids = rows(6), np.array([0, 1, 2, 0, 1, 2])
    repeated = Repeated(ids, np.array([0, 0, 0, 1, 1, 1]))
    assert_array_equal(Blocks.of(whole, repeated=repeated).of_row, ids)
    blocks = Blocks.of(whole, 2, repeated=repeated)
    assert_array_equal(blocks.of_row, [0, 0, 1, 0, 0, 1])
    refused(
        "`block` must not be longer than the data: 4 for 3 rows. Hint: pass a shorter block.",
        Blocks.of,
        whole,
        4,
        repeated=repeated,
    )
    both = Blocks.of(whole, list("aabaab"), repeated=repeated)
    assert_array_equal(both.of_row, [0, 0, 1, 0, 0, 1])
    assert (both.count, both.runs) == (2, 2)
    refused(
        "`block` must be the same for all repetitions of a row, in every run. "
        "Hint: give one label per row of the first run, repeated for each of the others.",
        Blocks.of,
        whole,
        list("aabbcc"),
        repeated=repeated,
    )


def test_two_equal_algorithms_with_three_runs_differ_as_rarely_as_promised() -> None:
    """Their runs share the rows' difficulty and have luck of their own; rows alone call most of them different."""
    rng = np.random.default_rng(20_246)
    n, runs = 60, 3
    one = rows(n)
    blocks = Blocks.of(ucc.Intervals.join([one] * runs), repeated=repeated_rows([one] * runs))
    by_rows = Blocks.of(ucc.Intervals.join([one] * runs), np.tile(np.arange(n), runs))
    rates = {"two-way": 0, "rows": 0}
    for _ in range(400):
        luck = rng.normal(size=(2, runs, 1))
        scores = rng.normal(size=n) + luck + rng.normal(size=(2, runs, n))
        difference = (scores[0] - scores[1]).ravel()
        influence = (difference - difference.mean()) / difference.size
        for name, units in (("two-way", blocks), ("rows", by_rows)):
            spread = units.spread(influence)
            rates[name] += paired_t_test(difference.mean(), spread, size=1.0) <= 0.05
    assert rates["two-way"] / 400 <= 0.09
    assert rates["rows"] / 400 > 0.4


def test_the_two_way_variance_is_that_of_loops() -> None:
    rng = np.random.default_rng(3)
    n, runs = 7, 4
    values = rng.normal(size=(runs, n)) + rng.normal(size=n) + 2 * rng.normal(size=(runs, 1))
    one = rows(n)
    blocks = Blocks.of(ucc.Intervals.join([one] * runs), repeated=repeated_rows([one] * runs))
    spread = blocks.spread((values - values.mean()).ravel() / values.size)
    of_rows, of_runs = values.mean(axis=0), values.mean(axis=1)
    rest = values - of_rows - of_runs[:, None] + values.mean()
    row = of_rows.var(ddof=1) / n
    run = of_runs.var(ddof=1) / runs
    interaction = np.sum(rest**2) / ((n - 1) * (runs - 1) * n * runs)
    total = max(row + run - interaction, row)
    assert_allclose(spread.error**2, total, rtol=1e-12)
    degrees = total**2 / (
        row**2 / (n - 1) + run**2 / (runs - 1) + interaction**2 / ((n - 1) * (runs - 1))
    )
    assert_allclose(spread.degrees, degrees, rtol=1e-12)


def test_bad_labels_of_folds_are_refused_in_one_sentence() -> None:
    folds = [rows(2), rows(3)]
    sentence = f"`rows[1]` must hold one label per row: 2 labels for 3 rows. {POSITION}"
    refused(sentence, repeated_rows, folds, [[1, 2], [3, 4]])
    hint = "Hint: each holds one label per row of its fold."
    refused(
        f"`rows` must hold one array per fold: 3 arrays for 2 folds. {hint}",
        repeated_rows,
        folds,
        [[1], [2], [3]],
    )
    refused(
        f"`rows` must hold one label per row: 4 labels for 5 rows. {POSITION}",
        repeated_rows,
        folds,
        [1, 2, 3, 4],
    )


def test_a_huge_string_is_refused_at_once() -> None:
    start = time.process_time()
    sentence = f"`rows` must hold one label per row; got a single string. {LIST}"
    refused(sentence, repeated_rows, [rows(3)], "x" * 10**7, error=TypeError)
    refused(sentence.replace("rows", "block", 1), Blocks.of, rows(3), "x" * 10**7, error=TypeError)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("value", [0, -1, 1.0, "3", None, True, np.True_])
def test_only_an_integer_of_at_least_1_is_positive(value: Any) -> None:
    refused(f"`bins` must be an integer of at least 1; got {value!r}.", positive, "bins", value)
    assert positive("bins", np.int64(3)) == 3


def test_a_seed_is_an_integer_a_generator_or_none() -> None:
    assert (
        generator(7).random()
        == generator(np.uint8(7)).random()
        == np.random.default_rng(7).random()
    )
    given = np.random.default_rng(1)
    assert generator(given) is given
    assert generator(None).random() != generator(None).random()


@pytest.mark.parametrize("seed", [-1, 1.0, "a", True, [1, 2], np.nan])
def test_a_bad_seed_is_refused_in_one_sentence(seed: Any) -> None:
    refused(
        f"`seed` must be an integer of at least 0, a numpy.random.Generator or None; got {seed!r}.",
        generator,
        seed,
    )


@pytest.mark.parametrize("kind", ["i", "U", "O"])
def test_a_million_labels_take_less_than_three_seconds(kind: str) -> None:
    """They take a tenth of a second or three; loops over rows and comparisons took longer than this limit."""
    many = np.random.default_rng(0).integers(0, 1000, 10**6)
    given = many if kind == "i" else many.astype("U8").astype(kind if kind == "O" else "U8")
    start = time.process_time()
    code, found = codes("by", given)
    assert time.process_time() - start < 3
    assert (len(code), len(found)) == (10**6, 1000)
