"""The promises of conftest.py: nothing that is required can be skipped in silence."""

from pathlib import Path

import pytest

CONFTEST = (Path(__file__).resolve().parents[1] / "conftest.py").read_text(encoding="utf-8")


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A pytest of its own with our conftest, in which nothing is required yet."""
    for name in ("BROWSER", "LIBRARIES", "SPARK"):
        monkeypatch.delenv(f"UCCURVE_REQUIRE_{name}", raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers =\n    browser\n    spark\n")
    return pytester


@pytest.mark.parametrize("name", ["browser", "spark"])
def test_a_required_test_fails_where_it_would_be_skipped(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    inner.makepyfile(
        f"import pytest\n@pytest.mark.{name}\ndef test_it():\n    pytest.skip('none here')\n"
    )
    inner.runpytest_inprocess().assert_outcomes(skipped=1)
    monkeypatch.setenv(f"UCCURVE_REQUIRE_{name.upper()}", "1")
    result = inner.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*UCCURVE_REQUIRE_{name.upper()} is set*none here*"])


def test_a_file_without_its_library_fails_where_libraries_are_required(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner.makepyfile("import pytest\npytest.importorskip('no_such_library')\n")
    inner.runpytest_inprocess().assert_outcomes(skipped=1)
    monkeypatch.setenv("UCCURVE_REQUIRE_LIBRARIES", "1")
    inner.runpytest_inprocess().assert_outcomes(errors=1)


def test_the_shared_data_is_where_the_environment_says(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inner.makepyfile(
        f"def test_it(shared_data):\n    assert str(shared_data) == {str(tmp_path)!r}\n"
    )
    monkeypatch.setenv("UCCURVE_DATA", str(tmp_path))
    inner.runpytest_inprocess().assert_outcomes(passed=1)
    monkeypatch.setenv("UCCURVE_DATA", str(tmp_path / "elsewhere"))
    inner.runpytest_inprocess().assert_outcomes(skipped=1)
