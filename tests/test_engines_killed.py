"""A worker that dies in the middle of a job changes no number: the answer is the same, or there is an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ci, pytest.mark.slow]
SCRIPT = Path(__file__).with_name("killed_worker.py")


def outcome(engine: str, folder: Path) -> dict[str, object]:
    command = [sys.executable, str(SCRIPT), engine, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def assert_no_wrong_number(found: dict[str, object]) -> None:
    assert found["killed"], "the job was over before a worker could be killed"
    assert found["outcome"] == "same" or str(found["outcome"]).startswith("error: ")


def test_a_dask_worker_killed_in_the_middle_changes_no_number(tmp_path: Path) -> None:
    pytest.importorskip("dask.dataframe")
    pytest.importorskip("distributed")
    assert_no_wrong_number(outcome("dask", tmp_path))


@pytest.mark.spark
def test_a_spark_executor_killed_in_the_middle_changes_no_number(java: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("psutil")
    assert java
    assert_no_wrong_number(outcome("spark", tmp_path))
