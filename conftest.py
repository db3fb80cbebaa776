"""What all tests share: hypothesis profiles, the data of the paper, and which tests may not be skipped where."""

import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent
LONGEST = ("runs", "engines", "models", "streaming", "evidence_simulated", "notebooks")
"""Files of tests by the time they take; notebooks come late, to find what the runs of the experiments have kept."""

# Before any test module imports the library: plots need no screen, JAX looks for no accelerator, and trees grow in one
# thread, because those of two test processes would wait for each other on two cores, busily.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Most of a small network's time is compiling it. That is kept, for each worker apart because writes are not atomic.
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(ROOT / ".pytest_cache" / "compiled" / _WORKER)
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Spark's Java compiles for a day's work unless told that the job is short: half of a test's time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# No deadline: a loaded machine is not a bug. The default gives the same verdict every time, `thorough` looks for news.
_SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile(
    "quick", max_examples=40, derandomize=True, deadline=None, suppress_health_check=_SLOW
)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def required(name: str) -> bool:
    """Whether the environment asks that what `name` guards is run, not skipped."""
    return os.environ.get(f"UCCURVE_REQUIRE_{name.upper()}", "") not in ("", "0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with what takes longest: with `--dist=loadfile` no process is left with it when the others are done."""
    places = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a skipped browser or Spark test where it is required."""
    report = yield
    names = [
        name for name in ("browser", "spark") if item.get_closest_marker(name) and required(name)
    ]
    if names and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = (
            f"skipped although UCCURVE_REQUIRE_{names[0].upper()} is set: {report.longrepr}"
        )
    return report


def pytest_runtest_teardown() -> None:
    """Close all figures: pyplot keeps them, and warns of too many."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a test file that skips itself for want of a library, where all of them are required."""
    report = yield
    if report.skipped and required("libraries"):
        report.outcome = "failed"
        report.longrepr = f"skipped although UCCURVE_REQUIRE_LIBRARIES is set: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for finished parts of experiments: no process of this run computes again what one has computed."""
    own = tmp_path_factory.getbasetemp()
    return (own if _WORKER == "alone" else own.parent) / "parts"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the paper's data sets: $UCCURVE_DATA, or shared/data beside the repository."""
    folder = Path(os.environ.get("UCCURVE_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the paper's data sets are not in {folder}: set UCCURVE_DATA")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser that opens the report."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("no chromium on the PATH")


@pytest.fixture(scope="session")
def java() -> str:
    """The path of the Java that Spark runs on."""
    if path := shutil.which("java"):
        return path
    pytest.skip("no java on the PATH")
