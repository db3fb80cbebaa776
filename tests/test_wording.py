"""What people read, on pages and in docstrings, help texts and errors, is written in the field's English."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages import ROOT

THINGS = "row|model|pair|fold|bin|group|segment|level|file|notebook|edge|case|property|swap|draw|core|column"
METRICS = "bandwidth|miss[_ ]?rate|excess|deficit|overshoot"

INSTEAD = {
    rf"\b(one|each|label|value|number|interval|file|page|scale|factor|bytes|row|entry|line) an? ({THINGS})\b": "per",
    r"\b(hangs?|hung|hanging) together\b": "dependent rows, blocks",
    r"\bdraw(s|n|ing)? the rows again\b": "resampling with replacement",
    r"\bwhole numbers?\b": "integer",
    r"(?<!standard )(?<!standard\n)(?<!absolute )(?<!largest )\bdeviations?\b": "standard deviation",
    r"\b(the|its|a|of|has) least (?!squares)\w+": "minimum, smallest, lowest",
    r"\b(is|are|be) least\b|\bleast (at|cost|scale|shift|band|value)\b": "minimum, smallest, lowest",
    r"\bgreatest\b": "maximum, largest, highest",
    r"\b(take|takes|taken|took|taking)( \w+){0,3} for (one|the|a|granted|all|runs|as|several|equal)\b": "treated as",
    r"\b(models?|intervals?) where (it|they) lies?\b": "as delivered",
    r"\b(not|cannot be) told apart\b": "not significant",
    r"\bcr(y|ies|ied|ying) wolf\b": "false alarms",
    r"\bp, adjusted\b": "adjusted p",
    r"[\d}][ \u00a0]%(?![(\w{}])": "90%, without a space",
    rf"(?<![\w/])(`?)({METRICS})`?/`?({METRICS})\b(?!/)": "y vs. x",
    r"\bis none of (them|these)\b": "Did you mean 'excess'?",
    r"\b(kinks?|second bends?)\b": "breakpoints, slope changes, crossover",
    r"\bendless\b": "uncoverable rows",
    r"\bpull of (a|one|each|the) row\b": "influence of a row",
    r"\bcannot be meant\b": "usage error",
    r"\bof all that is random\b": "random seed",
    r"\bNo of \d": "0 of",
    r"\bmiss rate there\b": "miss rate at that scale",
    r"\bbeyond chance\b": "significantly",
    r"\bsure of itself\b": "overconfident",
    r"\bwhatever (its|the|their) number\b": "any number of",
    r"\bbut for rounding\b": "up to rounding",
    r"\bhold(s|ing)? the (truth|whole curve)\b": "contain the truth",
    r"\bfalls? apart into\b": "splits into",
    r"\bgood to be true\b": "too optimistic",
    r"\bput aside\b": "set aside",
    r"\bspeaks? of \*?chance\b": "confidence intervals and p-values",
    r"\bthe surest\b": "the most significant",
    r"\bmore than chance explains\b": "significantly",
    r"\bto count rows alike\b": "to weight rows equally",
    r"\bappeared meanwhile\b": "was created in the meantime",
    r"\bthat narwhals knows\b": "supports",
    r"\bHow sure to (reach|be)\b": "confidence of reaching",
    r"\bis said in `": "is explained in",
    r"\bsigns? of (a )?missing (number|value)s?\b": "marker of missing values",
    r"\braises? (such|zero|smaller|them)( bands)? by\b": "raise with min_band",
    r"\b(choose|match)( one| them| another engine)? by --": "choose with --option",
}
"""Phrases that a reader has to decode, and what to write instead."""


MEASURED = re.compile(r"<!-- bench \w+ -->.*?<!-- end \w+ -->", flags=re.DOTALL)
"""Tables that a benchmark writes: their words change when it is next run in full."""


def rendered(node: ast.AST) -> str | None:
    """Text of a string in a program, with {} where an f-string has a value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(rendered(part) or "{}" for part in node.values)
    return None


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a module with the lines they begin on."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        text = rendered(node)
        if text and (isinstance(node, ast.JoinedStr) or id(node) not in inner):
            yield getattr(node, "lineno", 0), text


def passages(path: Path) -> Iterator[tuple[int, str]]:
    """What a file says to people, with line numbers."""
    if path.suffix == ".py":
        yield from strings(path)
    elif path.suffix == ".ipynb":
        for i, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            yield i, "".join(cell["source"])
    else:
        yield (
            1,
            MEASURED.sub(
                lambda table: "\n" * table[0].count("\n"), path.read_text(encoding="utf-8")
            ),
        )


def violations(path: Path) -> list[str]:
    """Banned phrases of a file."""
    found = []
    for first, text in passages(path):
        for pattern, instead in INSTEAD.items():
            for match in re.finditer(pattern, text):
                line = first + text[: match.start()].count("\n")
                found.append(f"{path.relative_to(ROOT)}:{line}: {match[0]!r}, write {instead}")
    return found


def files() -> list[Path]:
    """Pages, notebooks, examples, and the package with its templates."""
    pages = [
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
    ]
    folders = (
        ("docs", "*.md"),
        ("docs", "*.py"),
        ("notebooks", "*.ipynb"),
        ("examples", "*.py"),
        ("src", "*.py"),
    )
    templates = [
        path for path in (ROOT / "src").rglob("templates/*") if path.suffix in (".html", ".js")
    ]
    return sorted(
        pages
        + templates
        + [path for folder, kind in folders for path in (ROOT / folder).rglob(kind)]
    )


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_reader_has_to_decode_a_phrase(path: Path) -> None:
    assert violations(path) == []


@pytest.mark.parametrize(
    "text",
    [
        "one label a row",
        "rows that hang together",
        "misses 10 % of rows",
        "in units of the deviation of y",
        "the least cost",
        "tests cry wolf",
        "gain on bandwidth/deficit",
        "'exces' is none of them",
    ],
)
def test_a_banned_phrase_is_noticed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("test_wording.ROOT", tmp_path)
    page, module = tmp_path / "page.md", tmp_path / "module.py"
    page.write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    module.write_text(f'"""Module."""\n\nERROR = f"{text} {{1}}"\n', encoding="utf-8")
    assert {one.split(": ")[0] for one in violations(page) + violations(module)} == {
        "page.md:3",
        "module.py:3",
    }


@pytest.mark.parametrize(
    "text", ["at least one row", "standard deviation", "90% of rows", "deficit vs. bandwidth"]
)
def test_a_good_phrase_is_left_alone(text: str) -> None:
    assert not any(re.search(pattern, text) for pattern in INSTEAD)
