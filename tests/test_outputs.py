"""An output file is written whole or not at all, and never over another unasked."""

import os
import threading
from pathlib import Path

import pytest

from uccurve.cli._outputs import check_target, written


def test_a_finished_file_appears_and_nothing_else(tmp_path: Path) -> None:
    with written(tmp_path / "out.txt") as path:
        path.write_text("whole")
        assert path.suffix == ".txt"
        assert not (tmp_path / "out.txt").exists()
    assert (tmp_path / "out.txt").read_text() == "whole"
    assert os.listdir(tmp_path) == ["out.txt"]  # noqa: PTH208  names only


def test_a_failure_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), written(target, force=True) as path:
        path.write_bytes(b"x" * (1 // 0))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_existing_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(FileExistsError, match=r"out.txt is already there. Hint: --force replaces it."), written(target):
        pass
    with written(target, force=True) as path:
        path.write_text("new")
    assert target.read_text() == "new"


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with pytest.raises(FileExistsError, match="appeared meanwhile"), written(target):
        target.write_text("theirs")
    assert target.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [target]


def test_the_file_is_as_readable_as_any_other_new_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    with written(tmp_path / "out") as path:
        path.touch()
    assert (tmp_path / "out").stat().st_mode == plain.stat().st_mode


def test_a_link_keeps_pointing_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with written(tmp_path / "link", force=True) as path:
        path.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_through_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    with written(pipe) as path:
        path.write_text("through")
    reader.join(timeout=10)
    assert received == ["through"]
    assert pipe.is_fifo()


def test_a_folder_and_a_missing_folder_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder: give the name of a file in it."):
        check_target(tmp_path, force=True)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write out.txt to."):
        check_target(tmp_path / "nowhere" / "out.txt", force=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_device_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left"), written("/dev/full") as path:
        path.write_text("x" * 10)
    assert Path("/dev/full").is_char_device()
