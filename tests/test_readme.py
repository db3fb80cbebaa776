"""README is run: what it shows is what a reader gets."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_every_example_of_the_readme_gives_the_output_it_shows() -> None:
    code = "\n".join(
        re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    )
    test = doctest.DocTestParser().get_doctest(code, {}, "README", str(README), 0)
    assert 6 <= len(test.examples) <= 8
    assert test.examples[-1].want.startswith("Ship ")
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=said.append).failed == 0, "".join(said)


def test_the_first_25_lines_name_show_install_and_run_it() -> None:
    top = "\n".join(README.read_text(encoding="utf-8").splitlines()[:25])
    for part in ("prediction intervals", "![", "pip install", ">>> import", ".verdict", "Ship net"):
        assert part in top, part


def test_the_readme_fits_on_one_screen_and_defines_its_words() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    for word in (
        "coverage, miss rate",
        "half-width (bandwidth)",
        "factor (scale)",
        "interval score",
        "skill, gain",
    ):
        assert f"| {word} |" in text, word


def test_every_picture_and_page_the_readme_links_to_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    local = [link for link in links if not link.startswith("http")]
    assert local
    for link in local:
        assert (README.parent / link).exists(), link
