"""Tables are read as they are or refused in one sentence."""

import io
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from uccurve.cli._files import HEADER_LIMIT, Table, listed, shown


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """A function from bytes to the table of a file that holds them."""

    def made(content: bytes | str, name: str = "data.csv") -> Table:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Table.open(str(path))

    return made


def rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return frame.rows()


def test_named_columns_come_as_numbers_and_labels_as_text(table: Any) -> None:
    frame = table("id,y,grp,z\n007,1,05,x\n008,2.5e3,NA,x\n").read(["y"], ["grp"])
    assert rows(frame) == [(1.0, "05"), (2500.0, None)]
    assert frame.columns == ["y", "grp"]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_of_the_header(table: Any, separator: str) -> None:
    assert rows(table(f"y{separator}a\n1{separator}2\n").read(["a", "y"])) == [(2.0, 1.0)]


@pytest.mark.parametrize(
    "content",
    [
        "y,a\n1,2\n3,4",
        "y,a\n1,2\n3,4\n",
        "y,a\r\n1,2\r\n3,4\r\n\r\n",
        "\n\ny,a\n1,2\n3,4\n\n \n",
        "\ufeffy,a\n 1 ,2\n3, 4\n",
    ],
)
def test_line_ends_blank_ends_and_spaces_do_not_matter(table: Any, content: str) -> None:
    assert rows(table(content).read(["y", "a"])) == [(1.0, 2.0), (3.0, 4.0)]


@pytest.mark.parametrize("cell", ["", "NA", "N/A", "#N/A", "null", "NULL", "None", "?"])
def test_missing_numbers_are_missing_however_they_are_spelt(table: Any, cell: str) -> None:
    assert rows(table(f"y,a\n1,{cell}\n").read(["y", "a"])) == [(1.0, None)]


@pytest.mark.parametrize("cell", ["NaN", "nan", "NAN", "-nan"])
def test_nan_is_missing_or_nan(table: Any, cell: str) -> None:
    value = table(f"y,a\n1,{cell}\n").read(["a"])["a"][0]
    assert value is None or math.isnan(value)


def test_a_path_with_wildcard_characters_is_one_file(table: Any) -> None:
    assert rows(table("y\n1\n", name="a[1]*?.csv").read(["y"])) == [(1.0,)]
    frame = io.BytesIO()
    pl.DataFrame({"y": [2.0]}).write_parquet(frame)
    assert rows(table(frame.getvalue(), name="b[1]*.parquet").read(["y"])) == [(2.0,)]


def test_standard_input_may_be_csv_or_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"y": [1, 2], "a": ["u", "v"]})
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    for content in (frame.write_csv().encode(), parquet.getvalue()):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        table = Table.open("-")
        assert table.label == "standard input"
        assert table.bytes == len(content)
        assert rows(table.read(["y"], ["a"])) == frame.rows()


def test_texts_are_the_cells_as_they_are_written(table: Any) -> None:
    frame = table('id,y,note\n007,1.50,"a, b"\n,1e3,\n').texts()
    assert rows(frame) == [("007", "1.50", "a, b"), (None, "1e3", None)]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty."),
        (b" \n \n", "is empty."),
        (b"y,a\n", "has a header but no rows."),
        (b"y,a\n\n\n", "has a header but no rows."),
        (b"y,b\n1,2\n", "has no column a: it has y, b."),
        (b"y,a,a\n1,2,3\n", "has 2 columns named a: which one is meant?"),
        (b"y,a\n1,2\n3,4,5\n", "has a row with more cells than the header has columns."),
        (b'y,a\n1,2\n3,"1,234.5"\n', r"must hold numbers: 1 of 2 rows does not, first row 1 \(1,234.5\)."),
        (b"y,a\n1,=cmd()\n", r"must hold numbers: 1 of 1 rows does not, first row 0 \(=cmd\(\)\)."),
        (b"y,a\n1,0x10\n1,b\n1,2\n", r"2 of 3 rows do not, first row 0 \(0x10\)."),
        (b"y;a\n1;2,5\n", r"first row 0 \(2,5\). Hint: write numbers with a decimal point, no thousands"),
        ("y,a\n1,2\n3,é\n".encode("latin1"), "must be UTF-8: after line 2 comes the byte 0xe9. Hint: iconv -f LATIN1"),
        ("y,a,ü\n1,2,3\n".encode("latin1"), "must be UTF-8: after line 0 comes the byte 0xfc."),
        ("y,a\n1,2\n".encode("utf-16"), "is neither Parquet nor UTF-8 text. Hint: iconv -f UTF-16"),
        ("y,a\n1,2\n".encode("utf-16-le"), "is neither Parquet nor UTF-8 text."),
        (b"PAR1 but not really", "begins like a Parquet file but cannot be read: "),
        (b"x" * (HEADER_LIMIT + 1), "has no line break in its first 1,048,576 bytes: is it a CSV file?"),
        (b"x" * 200_000 + b"\n1\n", "the header of .* cannot be read: field larger than field limit"),
        (b'y,a\n1,"2\n3,4\n', "cannot be read|must hold numbers"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_short_sentence(table: Any, content: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        table(content).read(["y", "a"])
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


def test_a_parquet_column_of_text_is_refused(table: Any) -> None:
    parquet = io.BytesIO()
    pl.DataFrame({"y": ["1", "2"]}).write_parquet(parquet)
    with pytest.raises(ValueError, match=r"column y of .* must hold numbers; it holds string."):
        table(parquet.getvalue()).read(["y"])


def test_a_folder_is_its_parquet_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"is a folder without Parquet files\."):
        Table.open(str(tmp_path))
    for i in (2, 1):
        pl.DataFrame({"y": [i]}).write_parquet(tmp_path / f"{i}.parquet")
    for path in (tmp_path, tmp_path / "[12].parquet"):
        assert rows(Table.open(str(path)).read(["y"])) == [(1,), (2,)]


def test_names_are_shown_short_and_cannot_steer_the_terminal() -> None:
    assert shown("a\x1b[2J\r\u202e") == r"a\x1b[2J\r\u202e"
    assert shown("<script>alert(1)</script>") == "<script>alert(1)</script>"
    assert len(shown("x" * 10**7)) == 60
    assert listed([f"c{i}" for i in range(15)], limit=3) == "c0, c1, c2 and 12 more"
