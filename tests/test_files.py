"""Tables are read as they are or refused in one sentence."""

import contextlib
import gzip
import io
import math
import os
import threading
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from uccurve.cli import _files as sources
from uccurve.cli._tables import HEADER_LIMIT, DataFile
from uccurve.words.formats import listed


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """A function from bytes to the table of a file that holds them."""

    def made(content: bytes | str, name: str = "data.csv", **dialect: Any) -> DataFile:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return DataFile.open(str(path), **dialect)

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
        table = DataFile.open("-")
        assert table.label == "standard input"
        assert table.source.size == len(content)
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
        (b"y,b\n1,2\n", "has no column a; it has y, b."),
        (b"y,a,a\n1,2,3\n", "has 2 columns named a: which one is meant?"),
        (b"y,a\n1,2\n3,4,5\n", "has a row with more cells than the header has columns."),
        (
            b'y,a\n1,2\n3,"1,234.5"\n',
            r"must hold numbers: 1 of 2 rows does not, first row 1 \(1,234.5\).",
        ),
        (b"y,a\n1,=cmd()\n", r"must hold numbers: 1 of 1 rows does not, first row 0 \(=cmd\(\)\)."),
        (b"y,a\n1,0x10\n1,b\n1,2\n", r"2 of 3 rows do not, first row 0 \(0x10\)."),
        (
            b"y;a\n1;2,5\n",
            r"first row 0 \(2,5\). Hint: --decimal , where a comma is the decimal sign.",
        ),
        (b'{"models": {}}', "is JSON, not a table. Hint: CSV and Parquet are read."),
        (
            b"y,a\n1,-\n2,3\n",
            r"1 of 2 rows does not, first row 0 \(-\). Hint: --na '-' where that means missing.",
        ),
        (
            "y,a\n1,2\n3,é\n".encode("latin1"),
            "must be UTF-8: after line 2 comes the byte 0xe9. Hint: iconv -f LATIN1",
        ),
        ("y,a,ü\n1,2,3\n".encode("latin1"), "must be UTF-8: after line 0 comes the byte 0xfc."),
        ("y,a\n1,2\n".encode("utf-16"), "is neither Parquet nor UTF-8 text. Hint: iconv -f UTF-16"),
        ("y,a\n1,2\n".encode("utf-16-le"), "is neither Parquet nor UTF-8 text."),
        (b"PAR1 but not really", "begins like a Parquet file but cannot be read: "),
        (
            b"x" * (HEADER_LIMIT + 1),
            "has no line break in its first 1,048,576 bytes: is it a CSV file?",
        ),
        (
            b"x" * 200_000 + b"\n1\n",
            "the header of .* cannot be read: field larger than field limit",
        ),
        (b'y,a\n1,"2\n3,4\n', "cannot be read|must hold numbers"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_short_sentence(
    table: Any, content: bytes, sentence: str
) -> None:
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
    with pytest.raises(FileNotFoundError, match=r"is a folder without CSV or Parquet files\."):
        DataFile.open(str(tmp_path))
    for i in (2, 1):
        pl.DataFrame({"y": [i]}).write_parquet(tmp_path / f"{i}.parquet")
    for path in (tmp_path, tmp_path / "[12].parquet"):
        assert rows(DataFile.open(str(path)).read(["y"])) == [(1,), (2,)]


def test_names_are_listed_short_and_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in listed(["a\x1b[2J\r\u202e"])
    assert len(listed(["x" * 10**7])) == 40
    assert listed([f"c{i}" for i in range(15)], limit=3) == "c0, c1, c2 and 12 more"


# Decimal commas and other signs of missing numbers


def test_decimal_commas_are_read_where_they_are_announced(table: Any) -> None:
    content = 'y;a;grp\n1,5;-2,25e1;x,y\n3;"4,5";-\n'
    frame = table(content, decimal=",", missing=("-",)).read(["y", "a"], ["grp"])
    assert rows(frame) == [(1.5, -22.5, "x,y"), (3.0, 4.5, None)]


@pytest.mark.parametrize("cell", ["1.234,5", "1.234", "1.5"])
def test_a_point_among_decimal_commas_is_refused_not_reinterpreted(table: Any, cell: str) -> None:
    hint = (
        "write numbers without"
        if "," in cell
        else "leave out --decimal , where a point is the decimal sign"
    )
    sentence = rf"must hold numbers: 1 of 2 rows does not, first row 1 \({cell}\). Hint: {hint}"
    with pytest.raises(ValueError, match=sentence):
        table(f"y;a\n1;2\n1;{cell}\n", decimal=",").read(["y", "a"])
    lazy = table(f"y;a\n1;{cell}\n", decimal=",").lazy(["a"])
    with pytest.raises(pl.exceptions.PolarsError):
        lazy.collect()


# Packed files


def packed_in_every_way(content: bytes) -> dict[str, bytes]:
    zstandard = pytest.importorskip("zstandard")
    return {
        "one.csv.gz": gzip.compress(content),
        "members.csv.gz": gzip.compress(content[:7]) + gzip.compress(content[7:]) + b"\0" * 9,
        "one.csv.zst": zstandard.ZstdCompressor().compress(content),
        "unsized.csv.zst": zstandard.ZstdCompressor(
            write_content_size=False, write_checksum=True
        ).compress(content),
        "frames.csv.zst": zstandard.compress(content[:7])
        + b"\x50\x2a\x4d\x18\x02\0\0\0hi"
        + zstandard.compress(content[7:]),
    }


def test_packed_files_are_read_as_what_they_hold(table: Any) -> None:
    frame = pl.DataFrame({"y": [1.0, 2.5], "a": [3.0, -4.0]})
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    for content in (frame.write_csv().encode(), parquet.getvalue()):
        for name, data in packed_in_every_way(content).items():
            found = table(data, name=name)
            assert rows(found.read(["y", "a"])) == frame.rows(), name
            assert found.source.name == name.partition(".")[0]


@pytest.mark.parametrize("cut", [30, -5])
def test_a_truncated_packed_file_is_refused(table: Any, cut: int) -> None:
    content = b"y,a\n" + b"1,2\n3,4.25\n" * 400
    for name, data in packed_in_every_way(content).items():
        if name != "members.csv.gz":
            with pytest.raises(ValueError, match="is packed but cannot be unpacked: "):
                table(data[:cut], name=name)


def test_a_bomb_is_refused_before_it_fills_the_memory(table: Any) -> None:
    zstandard = pytest.importorskip("zstandard")
    zeros = b"y,pred,lower,upper\n" + b"0,0,0,0\n" * 20_000_000
    for name, data in {
        "z.csv.zst": zstandard.compress(zeros),
        "z.csv.gz": gzip.compress(zeros, 9),
    }.items():
        tracemalloc.start()
        try:
            with pytest.raises(
                ValueError,
                match=rf"{name} would unpack to more than [\d,]+ bytes, so it is refused",
            ):
                table(data, name=name)
            assert tracemalloc.get_traced_memory()[1] < len(zeros) / 4
        finally:
            tracemalloc.stop()


def test_what_unpacks_to_more_than_the_memory_allows_is_refused(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(30_000).hex().encode()
    monkeypatch.setattr(sources, "room", lambda: 100_000)
    for name, data in packed_in_every_way(b"y\n" + content * 3).items():
        with pytest.raises(
            (ValueError, MemoryError),
            match=r"would unpack to more than|larger than half of the free",
        ):
            table(data, name=name)


# Pipes and devices


def test_a_fifo_is_read_once_and_works(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = b"y,a\n" + b"1,2\n" * 100_000  # more than a pipe holds at a time
    for data in (content, gzip.compress(content)):
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        found = DataFile.open(str(pipe))
        assert len(found.read(["y", "a"])) == 100_000
        assert (found.source.name, found.label) == ("model", str(pipe))
        writer.join(timeout=10)


def test_a_pipe_larger_than_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(sources, "room", lambda: 1000)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):
            pipe.write_bytes(b"y\n" + b"1\n" * 10_000_000)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(MemoryError, match="pipe is larger than half of the free memory"):
        DataFile.open(str(pipe))
    writer.join(timeout=10)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_a_device_that_never_ends_is_refused() -> None:
    with pytest.raises(ValueError, match=r"/dev/zero is a device, not a file\."):
        DataFile.open("/dev/zero")
