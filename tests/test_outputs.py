"""An output file is written whole or not at all, and never over another unasked."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from uccurve._files import UNFINISHED, check_apart, check_target, shown_path, written


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
    with (
        pytest.raises(FileExistsError, match=r"out.txt exists already. Hint: --force replaces it."),
        written(target),
    ):
        pass
    with written(target, force=True) as path:
        path.write_text("new")
    assert target.read_text() == "new"


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with pytest.raises(FileExistsError, match="exists already"), written(target):
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
    with pytest.raises(
        FileNotFoundError, match=r"there is no folder .*nowhere to write out.txt to."
    ):
        check_target(tmp_path / "nowhere" / "out.txt", force=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_device_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left"), written("/dev/full") as path:
        path.write_text("x" * 10)
    assert Path("/dev/full").is_char_device()


WRITE = """
import sys, time
from uccurve._files import written
with written(sys.argv[1]) as path:
    path.write_text("half")
    print(path, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_run_left_is_removed_by_the_next_and_a_living_one_is_left_alone(
    tmp_path: Path,
) -> None:
    target = tmp_path / "out.json"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(target)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    unfinished = [
        Path(process.stdout.readline().strip()) for process in processes if process.stdout
    ]
    processes[0].send_signal(signal.SIGKILL)
    processes[0].wait()
    assert all(path.exists() and UNFINISHED in path.name for path in unfinished)
    (tmp_path / f".other.json{UNFINISHED}abc.json").touch()  # of another output
    (tmp_path / "out.json.txt").touch()
    with written(target) as path:
        path.write_text("whole")
        assert not unfinished[0].exists()
        assert unfinished[1].exists()
    processes[1].send_signal(signal.SIGKILL)
    processes[1].wait()
    for process in processes:
        if process.stdout:
            process.stdout.close()
    assert target.read_text() == "whole"
    with written(target, force=True) as path:
        path.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f".other.json{UNFINISHED}abc.json",
        "out.json",
        "out.json.txt",
    ]


def test_one_file_for_two_outputs_or_for_an_input_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("y\n1\n")
    os.link(data, tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to("data.csv")
    for name in ("data.csv", "hard.csv", "soft.csv", "../" + tmp_path.name + "/data.csv"):
        with pytest.raises(ValueError, match="the input and --json must be different files"):
            check_apart({"--json": tmp_path / name}, {"the input": data})
    with pytest.raises(ValueError, match="--json and --report must be different files"):
        check_apart({"--json": tmp_path / "new", "--report": tmp_path / "." / "new"}, {})
    check_apart({"--json": "-", "--report": None, "--plot": tmp_path / "p.png"}, {"the input": "-"})
    check_apart({"--json": "/dev/null", "--report": "/dev/null"}, {})


def test_a_path_in_a_sentence_is_short_and_printable() -> None:
    assert shown_path("a\x1b[2Jb") == r"a\x1b[2Jb"
    assert shown_path("x" * 10_000 + ".csv").endswith("xx.csv")
    assert len(shown_path("x" * 10_000)) < 210
