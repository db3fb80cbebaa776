"""The documentation does what it shows: snippets, commands, links, names, and the site itself."""

import inspect
import re
import subprocess
import sys
import tomllib
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import uccurve
from pages import DOCS, ROOT, Reader, Step, commands, environment, pages, steps
from uccurve import adapters, train

LINK = re.compile(r"(?<!!)\[[^\]^]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
EXECUTED = (
    *("README.md", "tutorial.md", "howto-gate.md", "howto-watch.md"),
    *("howto-one-side.md", "howto-pockets.md"),
)
"""Pages whose commands and scripts are all run, besides the prompts of every page."""


def identify(page: Path) -> str:
    return page.stem


def table(rows: int, seed: int) -> str:
    """A CSV file of observations with predictions and bounds."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 5, rows)
    columns = x + rng.normal(size=rows) * x / 4, x, x - x / 3, x + x / 2
    lines = (",".join(f"{value:.6g}" for value in row) for row in zip(*columns, strict=True))
    return "y_true,y_pred,lower,upper\n" + "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean folder with the files that README and how-to pages speak of."""
    for seed, name in enumerate(
        ("forecasts.csv", "calibration.csv", "new.csv", "holdout.csv", "accepted.csv")
    ):
        (tmp_path / name).write_text(table(200, seed), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page", [one for one in pages() if any(s.kind == "python" for s in steps(one))], ids=identify
)
def test_every_snippet_gives_what_the_page_shows(page: Path, folder: Path) -> None:
    Reader(page, folder, whole=page.name in EXECUTED).follow()


@pytest.mark.parametrize("name", EXECUTED)
def test_no_command_of_an_executed_page_is_left_out(name: str) -> None:
    page = ROOT / name if name == "README.md" else DOCS / name
    written = re.findall(
        r"^(?: {4}| {8})?(uccurve \S+)", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [
        line[: len(text)] for line, text in zip(commands(page, "uccurve"), written, strict=True)
    ] == written
    assert written


@pytest.mark.parametrize("page", pages(), ids=identify)
def test_pip_commands_name_extras_that_exist(page: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    text = page.read_text(encoding="utf-8")
    named = {
        name for group in re.findall(r"uccurve\[([\w,]+)\]", text) for name in group.split(",")
    }
    assert named <= set(extras)


@pytest.mark.parametrize("page", pages(), ids=identify)
def test_make_commands_name_targets_that_exist(page: Path) -> None:
    targets = set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = re.findall(
        r"`make ([\w-]+)[` ]|^ {4}make ([\w-]+)", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {one or other for one, other in named} <= targets


def test_a_wrong_snippet_is_noticed(tmp_path: Path) -> None:
    for block in (
        "python\n>>> 1 + 1\n3",
        "python\nassert False",
        "sh\nexit 3",
        "sh\necho one\n```\n\n```text\ntwo",
    ):
        page = tmp_path / "page.md"
        page.write_text(f"# Page\n\n```{block}\n```\n", encoding="utf-8")
        with pytest.raises(AssertionError):
            Reader(page, tmp_path).follow()


def test_steps_are_fences_and_indented_commands(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n    uccurve demo  # all\n    other\n\n```text\nout\n```\n", encoding="utf-8"
    )
    assert steps(page) == [Step("sh", "uccurve demo  # all\n", 3), Step("text", "out\n", 7)]
    assert commands(page, "uccurve") == ["uccurve demo"]


def referenced() -> set[str]:
    """Names that the reference pages document, as they are imported."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("reference*.md"))
    return set(re.findall(r"^::: uccurve\.([\w.]+)", text, re.MULTILINE))


def public() -> set[str]:
    """What `import uccurve` offers, with what it brings only when asked for."""
    offered = {name for name in dir(uccurve) if not name.startswith("_")}
    own = {
        name
        for name in offered
        if (getattr(getattr(uccurve, name), "__module__", "") or "").startswith("uccurve.")
    }
    return own | set(uccurve.__all__)


def test_every_public_name_is_in_the_reference() -> None:
    last = {name.rpartition(".")[2] for name in referenced()}
    assert public() >= {"UCC", "Intervals", "assess", "IntervalRegressor"}
    assert public() - last == set()
    assert {f"adapters.{name}" for name in adapters.__all__} - referenced() == set()
    assert set(train.__all__) - last == set()


def results() -> set[str]:
    """Names of the public classes, and of all classes of public modules that their fields hold."""
    todo = {name for name in public() if inspect.isclass(getattr(uccurve, name))}
    modules = [
        module
        for name, module in sys.modules.items()
        if name.startswith("uccurve.") and "._" not in name
    ]
    classes = [one for module in modules for one in vars(module).values() if inspect.isclass(one)]
    ours: dict[str, Any] = {
        one.__name__: one for one in classes if one.__module__.startswith("uccurve.")
    }
    found: set[str] = set()
    while todo := todo - found:
        found |= todo
        held = [ours[name] for name in todo & ours.keys() if is_dataclass(ours[name])]
        words = {
            word
            for one in held
            for field in fields(one)
            for word in re.findall(r"\w+", str(field.type))
            if inspect.isclass(getattr(sys.modules[one.__module__], word, ours.get(word)))
        }
        todo = {word for word in words & ours.keys() if "._" not in ours[word].__module__}
    return found


def test_every_result_class_is_in_the_reference() -> None:
    last = {name.rpartition(".")[2] for name in referenced()}
    assert {"ModelRow", "Comparison", "Segment", "LevelRow", "PIT", "Stretch"} <= results()
    assert results() - last == set()


def named(name: str) -> Any:
    """What a reference page documents under a name."""
    module, _, attribute = f"uccurve.{name}".rpartition(".")
    try:
        return getattr(import_module(module), attribute, None) or import_module(
            f"{module}.{attribute}"
        )
    except ModuleNotFoundError as error:
        pytest.fail(f"reference names {name}: {error}")


def test_the_reference_names_what_exists() -> None:
    for name in referenced():
        assert named(name).__doc__, name


def test_every_name_in_the_reference_has_an_example() -> None:
    lacking = []
    for page in DOCS.glob("reference*.md"):
        parts = re.split(
            r"^::: uccurve\.([\w.]+)", page.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        for name, below in zip(parts[1::2], parts[2::2], strict=True):
            found = named(name)
            if not inspect.ismodule(found) and ">>>" not in (inspect.getdoc(found) or "") + below:
                lacking.append(name)
    assert lacking == []


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as mkdocs makes them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in heads}


@pytest.mark.parametrize("page", pages(), ids=identify)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in (one or other for one, other in LINK.findall(page.read_text(encoding="utf-8"))):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        made = path.parent == DOCS / "notebooks"  # by the build, from the notebooks
        source = ROOT / "notebooks" / f"{path.stem}.ipynb"
        assert path.exists() or (made and (source.exists() or path.stem == "index")), target
        if anchor.startswith("uccurve."):
            assert anchor.removeprefix("uccurve.") in referenced(), target
        elif anchor:
            assert anchor in anchors(path), target


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w-]+\.md\b", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert {page.name for page in DOCS.rglob("*.md")} - listed == set()


def words(text: str) -> int:
    """Words as a reader counts them: rules of tables and lone symbols are none."""
    return sum(any(sign.isalnum() for sign in word) for word in text.split())


RECOMPUTED = ("paper-recomputed.md", "study.md")
"""Pages that live with the paper: mostly tables, written by its commands."""


def test_a_small_team_can_keep_the_pages_true() -> None:
    counts = {page.name: words(page.read_text(encoding="utf-8")) for page in pages()}
    of_paper = sum(counts.pop(name) for name in RECOMPUTED)
    assert sum(counts.values()) <= 32_000, sorted(counts.items(), key=lambda item: -item[1])[:10]
    assert of_paper <= 12_000


QUESTIONS = re.compile(r"\?|^This page|\b(which|what|how|why|where|whether)\b", re.IGNORECASE)


@pytest.mark.parametrize("page", pages(), ids=identify)
def test_every_page_begins_with_what_it_answers(page: Path) -> None:
    head, _, rest = page.read_text(encoding="utf-8").partition("\n")
    assert head.startswith("# ")
    first = rest.strip().split("\n\n")[0]
    assert words(first) >= 5, first
    assert QUESTIONS.search(first), first


def test_one_word_for_one_thing() -> None:
    """Factor and half-width for people; other words only where the paper or the API is quoted."""
    for page in pages():
        if page.name.startswith(("tutorial", "howto", "README", "index")):
            prose = re.sub(
                r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL
            )
            for word in ("MPIW", "PICP", "discrimination", "miscalibration", "glossary"):
                assert word not in prose, (page.name, word)


def test_every_decision_says_why_what_it_costs_and_what_would_reopen_it() -> None:
    records = sorted((DOCS / "decisions").glob("*.md"))
    assert len(records) >= 6
    for record in records:
        text = record.read_text(encoding="utf-8")
        for part in ("**Decided.**", "**Why.**", "**What it costs.**", "**We would reopen it**"):
            assert part in text, (record.name, part)


def test_the_gallery_has_every_picture_with_its_call() -> None:
    pytest.importorskip("matplotlib")
    from uccurve import plots
    from uccurve.plots.figures import Panel

    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    calls = [f'a.plot("{panel}"' for panel in get_args(Panel)]
    calls += [
        f"plots.{name}(" for name in plots.__all__ if name not in ("assessment", *get_args(Panel))
    ]
    assert [call for call in ("a.plot()", "c.plot(", *calls) if call not in text] == []


def test_every_asset_is_shown_on_a_page() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    stored = {path.name for path in (DOCS / "assets").iterdir() if path.suffix in (".svg", ".png")}
    assert stored == set(re.findall(r"assets/([\w-]+\.(?:svg|png))", text))


class _Requests(HTMLParser):
    """Addresses that a browser fetches by itself when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        fetched = (
            given.get("href")
            if tag == "link" and given.get("rel") != "canonical"
            else given.get("src")
        )
        if fetched and fetched.startswith(("http:", "https:", "//")):
            self.found.append(fetched)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as for readers."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_no_other_server(site: Path) -> None:
    built = list(site.rglob("*.html"))
    assert len(built) > len(list(DOCS.glob("*.md")))
    for page in built:
        text = page.read_text(encoding="utf-8")
        requests = _Requests()
        requests.feed(text)
        assert requests.found == [], page
        assert 'class="arithmatex"' not in text, page  # every formula has become MathML
        assert not (page.stem.startswith("reference") and "<blockquote>" in text), (
            page
        )  # no example became a quotation
    assert "<math" in (site / "explanation-curve.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.browser
def test_no_page_scrolls_sideways_on_a_phone_or_lacks_a_picture(site: Path, chromium: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    look = """() => [document.documentElement.scrollWidth,
        [...document.images].filter(image => image.complete && !image.naturalWidth).length]"""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 390, "height": 844})
        seen = {}
        for path in sorted(site.glob("*.html")):
            page.goto(path.as_uri())
            seen[path.name] = page.evaluate(look)
        browser.close()
    assert len(seen) > 25
    assert {name: found for name, found in seen.items() if found != [390, 0]} == {}


def test_the_citation_names_paper_and_software() -> None:
    cited = pytest.importorskip("yaml").safe_load(
        (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    )
    assert {"cff-version", "message", "title", "authors"} <= set(cited)  # what the format asks for
    assert (cited["title"], cited["version"], cited["license"]) == (
        "uccurve",
        uccurve.__version__,
        "Apache-2.0",
    )
    (paper,) = cited["references"]
    assert paper["title"].startswith("Uncertainty Characteristics Curves")
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Navrátil", "Elder", "Arnold", "Ghosh", "Sattigeri"]
    assert paper["identifiers"] == [{"type": "other", "value": "arXiv:2106.00858"}]
