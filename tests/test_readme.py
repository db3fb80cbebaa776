"""README is run: what it shows is what a reader gets."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_block_can_be_pasted_and_says_what_is_shown() -> None:
    pytest.importorskip("sklearn")
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)
    assert ">>>" not in code
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, str(README), "exec"), {"__name__": "__main__"})  # noqa: S102  the page's own code
    same = doctest.OutputChecker().check_output(
        shown, said.getvalue(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert same, said.getvalue()
    assert len(said.getvalue()) < 1000  # one verdict, not a table


def test_the_first_25_lines_name_show_install_and_run_it() -> None:
    top = "\n".join(TEXT.splitlines()[:25])
    for part in ("prediction intervals", "![", "pip install", "uccurve assess", "import uccurve"):
        assert part in top, part


def test_the_readme_takes_sixty_seconds_and_defines_three_words() -> None:
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    assert len(prose.split()) <= 360
    assert len(TEXT.splitlines()) <= 70
    words = re.findall(r"^- \*\*(\w+)\*\*:", TEXT, flags=re.MULTILINE)
    assert words == ["Coverage", "Factor", "Score"]
    for other in ("bandwidth", "skill", "gain", "AUUCC"):
        assert other not in TEXT, other


def test_every_picture_and_page_the_readme_links_to_is_there() -> None:
    links = [part.split(")")[0] for part in TEXT.split("](")[1:]]
    local = [link for link in links if not link.startswith("http")]
    assert local
    for link in local:
        assert (README.parent / link).exists(), link
