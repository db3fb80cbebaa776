"""Pictured: the page, the terminal and the figures in thirty cases, drawn alike on every machine, and compared.

    python tests/pictured.py                  draws all cases into build/pictures, and says which have changed
    python tests/pictured.py phone print-a4   draws these
    python tests/pictured.py --accept phone   draws them, and accepts them as they are

All text is set in matplotlib's DejaVu fonts, whatever fonts a machine has, so the same page is the same picture but
for the smoothing of edges. Accepted pictures are kept at a third of their size, where such edges are below the
tolerance, and in few colours.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import io
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageChops

import uccurve as ucc

HERE = Path(__file__).resolve().parent
ACCEPTED = HERE / "pictures"
BUILD = HERE.parent / "build" / "pictures"
SMALLER = 3  # how many times smaller an accepted picture is
COLOURS = (
    128  # of an accepted picture, so chosen that none is further off than a change would be noticed
)
NOTICED = 40  # difference of a colour channel, of 255, from which a pixel counts as changed
TOLERATED = 0.002  # share of changed pixels that is no change
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
)
DESK, LONG = (1280, 800), "gradient_boosting_{:02}_quantile_regressor"
Picture = Image.Image


# Assessments


def rows(n: int = 900, seed: int = 3) -> tuple[Any, Any, Any]:
    """Observations, predictions and the spread of each row."""
    rng = np.random.default_rng(seed)
    y_pred = 100 + 10 * rng.normal(size=n)
    spread = 4 * rng.lognormal(sigma=0.5, size=n)
    return y_pred + spread * rng.normal(size=n), y_pred, spread


def several(names: Iterable[str], *, n: int = 900, apart: float = 0.25) -> dict[str, Any]:
    """Models whose bands know the spread ever less, and whose widths fit ever worse."""
    y, y_pred, spread = rows(n)
    rng = np.random.default_rng(7)
    models = {}
    for place, name in enumerate(names):
        wrong = np.exp(apart * place * rng.normal(size=n))
        width = (1.66, 1.2, 2.0, 1.5, 1.0, 2.6)[place % 6]
        models[name] = ucc.Intervals.from_bands(y, y_pred, width * spread * wrong)
    return models


def parts(n: int = 900) -> dict[str, Any]:
    """Labels of the rows; one group is noisier, one date stands alone."""
    y, y_pred, spread = rows(n)
    rng = np.random.default_rng(1)
    share = np.abs(y - y_pred) / spread
    site = np.where(share > 1.9, "south", rng.choice(["north", "east", "west"], n))
    site[rng.random(n) < 0.04] = "south"
    horizon = np.where(share > 1.8, rng.choice([3, 4], n), rng.choice([1, 2, 3, 4], n))
    return {"site": site, "horizon": horizon}


@cache
def assessed(name: str) -> ucc.Assessment:
    """The assessments that are pictured, each made once."""
    return ASSESSMENTS[name]()


def decided() -> ucc.Assessment:
    return ucc.assess(several(["net", "forest"], apart=0.8), coverage=0.9)


def tied() -> ucc.Assessment:
    return ucc.assess(
        several(["net", "forest", "boosted trees", "linear"], apart=0.03), coverage=0.9
    )


def lacking() -> ucc.Assessment:
    """An incumbent that stays, rows that one model lacks, and a segment of a single block."""
    models = several(["net", "forest", "linear"], apart=0.05)
    y, y_pred, spread = rows()
    lower = y_pred - 1.5 * spread
    lower[:40] = np.nan
    models["patchy"] = ucc.Intervals.from_bounds(
        y, y_pred, lower, y_pred + 1.5 * spread, missing="drop"
    )
    site = np.where(np.arange(900) < 30, "island", "mainland")
    days = np.repeat(np.arange(30), 30)
    return ucc.assess(
        models, coverage=0.9, by={"site": site}, block=days, incumbent="forest", missing="drop"
    )


def unreachable() -> ucc.Assessment:
    y, y_pred, spread = rows(300)
    half = np.where(np.arange(300) % 2, 0.0, spread)
    return ucc.assess({"net": ucc.Intervals.from_bands(y, y_pred, half)}, coverage=0.9)


def whole() -> ucc.Assessment:
    names = ["net", "forest", "boosted trees", "linear", "nearest neighbours"]
    return ucc.assess(several(names), coverage=0.9, by=parts(), c=0.1)


def of_levels() -> ucc.Assessment:
    y, y_pred, spread = rows()
    sizes = {0.5: 0.55, 0.8: 1.28, 0.9: 1.645, 0.95: 1.96}
    true = {
        level: ucc.Intervals.from_bands(y, y_pred, size * spread) for level, size in sizes.items()
    }
    narrow = {
        level: ucc.Intervals.from_bands(y, y_pred, 0.7 * size * spread.mean() + 0 * spread)
        for level, size in sizes.items()
    }
    return ucc.assess({"ensemble": true, "baseline": narrow}, coverage=0.9)


def one_side() -> ucc.Assessment:
    y, y_pred, spread = rows()
    bounds = {"net": y_pred + 1.1 * spread, "flat": y_pred + 5.0}
    models = {
        name: ucc.Intervals.from_bounds(y, y_pred, None, bound, side="upper")
        for name, bound in bounds.items()
    }
    return ucc.assess(models, coverage=0.9)


def of_shifts() -> ucc.Assessment:
    models = several(["net", "forest", "linear"])
    return ucc.assess(
        {name: ucc.UCC(iv, vary="shift") for name, iv in models.items()}, coverage=0.9
    )


def pocketed() -> ucc.Assessment:
    rng = np.random.default_rng(5)
    n = 6000
    temperature, load = rng.uniform(-10, 35, n), rng.uniform(0, 1, n)
    spread = np.where((temperature > 25) & (load > 0.6), 3.0, 1.0)
    y_pred = 10 + rng.normal(size=n)
    y = y_pred + spread * rng.normal(size=n)
    models = {
        "net": ucc.Intervals.from_bands(y, y_pred, np.full(n, 1.7)),
        "forest": ucc.Intervals.from_bands(y, y_pred, rng.uniform(0.8, 3.2, n)),
    }
    features = {"temperature": temperature, "load": load, "day": np.arange(n) % 7}
    return ucc.assess(models, coverage=0.9, features=features)


HOSTILE = (
    "a_$_b_$ \\frac{1}{2}",
    "two\nlines\tand a tab",
    '<b onclick="alert(1)">bold</b>',
    "نموذج الغابة",
    "x" * 300,
    "net & forest <i>",
)


def hostile() -> ucc.Assessment:
    y, y_pred, _ = rows()
    names = list(HOSTILE)
    site = np.where(np.abs(y - y_pred) > 8, "שדה <script>", "a_$_b_$")
    return ucc.assess(several(names), coverage=0.9, by={names[1]: site})


def many(count: int, name: str = LONG, **options: Any) -> ucc.Assessment:
    labels = parts() if options.pop("segments", True) else None
    return ucc.assess(
        several([name.format(i) for i in range(count)], **options), coverage=0.9, by=labels
    )


ASSESSMENTS: Mapping[str, Callable[[], ucc.Assessment]] = {
    "decided": decided,
    "tied": tied,
    "lacking": lacking,
    "unreachable": unreachable,
    "whole": whole,
    "levels": of_levels,
    "one side": one_side,
    "shifts": of_shifts,
    "pockets": pocketed,
    "hostile": hostile,
    "12": lambda: many(12, apart=0.1),
    "50": lambda: many(50, "model {:02}", apart=0.03),
}


# Pages


@cache
def fonts() -> str:
    """Style that sets all text in fonts that come with matplotlib."""
    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    faces = [("page", "DejaVuSans", 400), ("page", "DejaVuSans-Bold", 700)]
    faces += [("fixed", "DejaVuSansMono", 400), ("fixed", "DejaVuSansMono-Bold", 700)]
    style = []
    for family, file, weight in faces:
        data = base64.b64encode((folder / f"{file}.ttf").read_bytes()).decode()
        source = f"url(data:font/ttf;base64,{data})"
        style.append(f"@font-face {{font-family: {family}; font-weight: {weight}; src: {source}}}")
    style.append(
        ":root {--font: page !important} * {font-family: page; animation: none !important}"
    )
    style.append("code, pre, pre * {font-family: fixed; }")
    return "\n".join(style)


@contextmanager
def open_browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    places = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    with sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=next(filter(None, places)), args=list(FLAGS)
        )
        yield opened
        opened.close()


def open_page(browser: Any, name: str, size: tuple[int, int], **options: Any) -> Any:
    """Open the page of an assessment in our fonts, with its charts drawn."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        bypass_csp=True,
        reduced_motion="reduce",
        **options,
    )
    page = context.new_page()
    page.set_content(_in_fonts(assessed(name).to_html(title=f"Case: {name}")), wait_until="load")
    page.evaluate("document.fonts.ready")
    page.wait_for_selector("html[data-drawn]", timeout=60_000)
    page.wait_for_timeout(300)
    return page


def _in_fonts(html: str) -> str:
    return html.replace("</head>", f"<style>{fonts()}</style></head>", 1)


def screen(browser: Any, name: str, size: tuple[int, int] = DESK, **options: Any) -> Picture:
    """What a person sees first, or all of the page."""
    all_of_it = options.pop("all_of_it", False)
    page = open_page(browser, name, size, **options)
    picture = _opened(page.screenshot(full_page=all_of_it, animations="disabled"))
    page.context.close()
    return picture


def section(browser: Any, name: str, part: str, size: tuple[int, int] = DESK) -> Picture:
    page = open_page(browser, name, size)
    picture = _opened(page.locator(f"#{part}").screenshot(animations="disabled"))
    page.context.close()
    return picture


def sheets(browser: Any, name: str, paper: str) -> Picture:
    """All sheets of paper side by side, printed without scrolling first."""
    page = open_page(browser, name, (800, 600))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.pdf"
        page.pdf(path=str(path), format=paper, print_background=True)
        page.context.close()
        line = ["pdftoppm", "-r", "60", "-png", str(path), str(Path(folder) / "sheet")]
        subprocess.run(line, check=True)
        pictures = [_opened(file.read_bytes()) for file in sorted(Path(folder).glob("sheet*.png"))]
    return beside(pictures)


def _opened(data: bytes) -> Picture:
    picture: Picture = Image.open(io.BytesIO(data)).convert("RGB")
    return picture


def beside(pictures: Iterable[Picture]) -> Picture:
    """Pictures in one row, with a grey gap."""
    shown = list(pictures)
    gap = 6
    width = sum(picture.width + gap for picture in shown)
    out = Image.new("RGB", (width, max(picture.height for picture in shown)), "#888888")
    left = 0
    for picture in shown:
        out.paste(picture, (left, 0))
        left += picture.width + gap
    return out


# The terminal


def terminal(browser: Any, name: str, columns: int = 80, lines: int = 40, **more: str) -> Picture:
    """What a terminal shows of the assessment, drawn by a program that has one of its own."""
    from rich.console import Console
    from rich.text import Text

    printed = at_a_terminal(name, columns, lines, **more)
    console = Console(record=True, width=max(columns, 400), file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(printed), soft_wrap=True)
    html = console.export_html(inline_styles=True)
    html = html.replace(
        "<body>", f'<body style="margin: 0; padding: 8px; width: {columns}ch; font: 14px fixed">'
    )
    context = browser.new_context(viewport={"width": 9 * columns + 20, "height": 200})
    page = context.new_page()
    page.set_content(_in_fonts(html))
    page.evaluate("document.fonts.ready")
    picture = _opened(page.screenshot(full_page=True))
    context.close()
    return picture


SHOWN = """
import sys
sys.path.insert(0, {here!r})
from pictured import assessed
from uccurve.cli._output import show
from uccurve.words.tables import layout
found = assessed({name!r})
show(layout(found, full=False), found.verdict.headline)
"""


def at_a_terminal(name: str, columns: int, lines: int, **more: str) -> str:
    """What a process prints at a terminal of this size."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONWARNINGS": "ignore"}
    for variable in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        environment.pop(variable, None)
    line = [sys.executable, "-c", SHOWN.format(here=str(HERE), name=name)]
    with subprocess.Popen(
        line, stdout=other, stderr=other, stdin=other, env={**environment, **more}
    ):
        os.close(other)
        return _read(main).decode().replace("\r\n", "\n")


def _read(handle: int) -> bytes:
    printed = b""
    while True:
        try:
            part = os.read(handle, 1 << 16)
        except OSError:
            part = b""
        if not part:
            os.close(handle)
            return printed
        printed += part


# Figures


def figure(
    name: str, panel: Any = None, width: float | None = None, height: float | None = None
) -> Picture:
    with mpl.rc_context(mpl.rcParamsDefault), plt.ioff():
        mpl.use("agg")
        drawn = assessed(name).plot(panel, width=width, height=height)
        data = io.BytesIO()
        drawn.savefig(data, dpi=110)
        plt.close(drawn)
    return _opened(data.getvalue())


def panels(names: Iterable[tuple[str, str]], width: float) -> Picture:
    return beside(figure(name, panel, width) for name, panel in names)


Draw = Callable[[Any], Picture]
CASES: Mapping[str, Draw] = {
    "first-decided": partial(screen, name="decided"),
    "first-tied": partial(screen, name="tied"),
    "first-lacking": partial(screen, name="lacking"),
    "first-unreachable": partial(screen, name="unreachable"),
    "first-hostile": partial(screen, name="hostile"),
    "first-fifty": partial(screen, name="50"),
    "whole": partial(screen, name="whole", all_of_it=True),
    "whole-dark": partial(screen, name="whole", all_of_it=True, color_scheme="dark"),
    "levels": partial(screen, name="levels", all_of_it=True),
    "one-side": partial(screen, name="one side", all_of_it=True),
    "shifts": partial(section, name="shifts", part="why"),
    "pockets": partial(section, name="pockets", part="pockets"),
    "phone": partial(screen, name="12", size=(360, 740), all_of_it=True),
    "phone-first": partial(screen, name="whole", size=(390, 844)),
    "zoom": partial(screen, name="whole", size=(640, 400), all_of_it=True, device_scale_factor=1),
    "print-a4": partial(sheets, name="whole", paper="A4"),
    "print-letter": partial(sheets, name="levels", paper="Letter"),
    "terminal": partial(terminal, name="whole"),
    "terminal-long": partial(terminal, name="12", lines=24),
    "terminal-fifty": partial(terminal, name="50", lines=30),
    "terminal-hostile": partial(terminal, name="hostile", NO_COLOR="1"),
    "terminal-levels": partial(terminal, name="levels"),
    "column": lambda _: beside([figure("whole", width=3.4), figure("12", width=3.4)]),
    "slide": lambda _: figure("whole", width=12, height=7),
    "slide-one": lambda _: figure("unreachable", width=12, height=7),
    "slide-twelve": lambda _: figure("12", width=12, height=7),
    "slide-fifty": lambda _: figure("50", width=12, height=7),
    "slide-hostile": lambda _: figure("hostile", width=12, height=7),
    "panels": lambda _: panels(
        [
            ("whole", "segments"),
            ("levels", "calibration"),
            ("levels", "pit"),
            ("pockets", "pockets"),
        ],
        5.0,
    ),
    "panels-column": lambda _: panels(
        [("12", "segments"), ("levels", "calibration"), ("levels", "pit"), ("one side", "curves")],
        3.4,
    ),
}


# Comparing


def reduced(picture: Picture) -> Picture:
    """A picture as it is accepted: smaller, and in few colours."""
    size = (max(1, picture.width // SMALLER), max(1, picture.height // SMALLER))
    small = picture.resize(size, Image.Resampling.BOX)
    return small.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def changed(picture: Picture, accepted: Picture) -> float:
    """Share of the pixels that differ noticeably from the accepted picture; 1 where even the size does."""
    size = (max(1, picture.width // SMALLER), max(1, picture.height // SMALLER))
    if max(abs(size[0] - accepted.width), abs(size[1] - accepted.height)) > 1:
        return 1.0
    small = picture.resize(accepted.size, Image.Resampling.BOX)
    difference = np.asarray(ImageChops.difference(small, accepted.convert("RGB")))
    return float((difference.max(axis=2) > NOTICED).mean())


def accepted(name: str) -> Path:
    return ACCEPTED / f"{name}.png"


def main(arguments: list[str]) -> int:
    """Draw, compare and, where asked to, accept; 1 where a picture differs from the accepted one."""
    parser = argparse.ArgumentParser(
        description="Draw the pictures, and compare them with the accepted ones."
    )
    parser.add_argument("--accept", action="store_true", help="accept what is drawn")
    parser.add_argument("names", nargs="*", help="cases; all by default")
    asked = parser.parse_args(arguments)
    BUILD.mkdir(parents=True, exist_ok=True)
    differing = 0
    with open_browser() as browser:
        for name in asked.names or CASES:
            picture = CASES[name](browser)
            picture.save(BUILD / f"{name}.png")
            if asked.accept:
                reduced(picture).save(accepted(name), optimize=True)
                continue
            known = accepted(name).exists()
            share = changed(picture, Image.open(accepted(name))) if known else 1.0
            differing += share > TOLERATED
            said = f"{share:.2%} of the pixels differ" if known else "new"
            sys.stdout.write(f"{name}: {said}\n")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
