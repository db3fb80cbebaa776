"""The decision is composed once: text, repr, notebook, page, figure, terminal and JSON say the same sentence."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest

import uccurve as ucc
from test_cli import Run, run
from uccurve.gate import gate

__all__ = ["run"]  # the fixture
N = 400


def rows(seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observations, predictions and the spread of each row."""
    rng = np.random.default_rng(seed)
    y_pred = rng.normal(size=n)
    spread = rng.lognormal(sigma=0.5, size=n)
    return y_pred + spread * rng.normal(size=n), y_pred, spread


def models(
    n: int = N, factor: float = 1.3, noise: float = 0.02, vary: Any = "scale"
) -> dict[str, Any]:
    """One model whose bands follow the errors, and one of constant bands, or a copy with a little noise."""
    y, y_pred, spread = rows(n=n)
    good = ucc.Intervals.from_bands(y, y_pred, factor * spread)
    ruffled = spread * np.exp(noise * np.random.default_rng(1).normal(size=n))
    other = ucc.Intervals.from_bands(y, y_pred, factor * ruffled)
    flat = ucc.Intervals.from_bands(y, y_pred, np.full(n, 1.2))
    both = {"net": good, "flat": flat if noise > 1 else other}
    return {name: ucc.UCC(iv, vary=vary) for name, iv in both.items()}


def clear(**options: Any) -> dict[str, Any]:
    return models(noise=2.0, **options)


def one_sided() -> dict[str, Any]:
    y, y_pred, spread = rows()
    return {
        name: ucc.Intervals.from_bounds(y, y_pred, None, y_pred + band, side="upper")
        for name, band in (("net", 1.1 * spread), ("flat", np.full(N, 0.9)))
    }


def of_levels() -> dict[str, Any]:
    both = clear()
    return {
        name: {0.5: c.intervals.calibrated(scale=0.4), 0.9: c.intervals} for name, c in both.items()
    }


def without_bands() -> dict[str, Any]:
    y, y_pred, spread = rows()
    zero = np.where(np.arange(N) % 2, 0.0, spread)
    return {"net": ucc.Intervals.from_bands(y, y_pred, zero)}


def streamed() -> ucc.Assessment:
    y, y_pred, spread = rows()
    frame = pl.DataFrame({"y": y, "p": y_pred})
    columns = {}
    for name, band in (("net", 1.3 * spread), ("flat", np.full(N, 1.2))):
        lower, upper = f"{name}_lower", f"{name}_upper"
        frame = frame.with_columns(pl.Series(lower, y_pred - band), pl.Series(upper, y_pred + band))
        columns[name] = ("p", lower, upper)
    return ucc.assess_frame(frame.lazy(), columns, y_true="y", coverage=0.9)


CASES: dict[str, tuple[Callable[[], ucc.Assessment], str]] = {
    "decided": (lambda: ucc.assess(clear(), coverage=0.9), "Ship net with bands × "),
    "tied": (lambda: ucc.assess(models(factor=1.1), coverage=0.9), "No clear winner: ship "),
    "incumbent": (
        lambda: ucc.assess(models(factor=1.1), coverage=0.9, incumbent="flat"),
        "Keep flat (incumbent): nothing is shown to be better.",
    ),
    "kept as delivered": (
        lambda: ucc.assess(clear(factor=1.645), coverage=0.9),
        "Ship net unchanged for 90% coverage.",
    ),
    "unreachable with 5 rows": (
        lambda: ucc.assess(clear(n=5), coverage=0.9),
        "No factor brings any model to 90% coverage.",
    ),
    "unreachable by zero bands": (
        lambda: ucc.assess(without_bands(), coverage=0.9),
        "No factor brings net to 90% coverage.",
    ),
    "shift": (
        lambda: ucc.assess(clear(vary="shift"), coverage=0.9),
        "Ship net with bands widened by ",
    ),
    "levels": (lambda: ucc.assess(of_levels(), coverage=0.9), "Ship net with bands × "),
    "one model": (
        lambda: ucc.assess(clear()["net"], coverage=0.9),
        "Ship model with bands × ",
    ),
    "one side": (lambda: ucc.assess(one_sided(), coverage=0.9), "Ship net's upper bound "),
    "no coverage": (
        lambda: ucc.assess(clear()),
        "net scores best over all levels (potential CRPS).",
    ),
    "streamed": (streamed, "Ship net with bands × "),
}


def words(text: str) -> str:
    """Words of a page, without its elements."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


@pytest.mark.parametrize("case", CASES)
def test_every_surface_says_the_same_decision(case: str) -> None:
    made, begins = CASES[case]
    found = made()
    headline = found.verdict.headline
    assert headline.startswith(begins)
    assert headline.endswith(".")
    assert found.verdict.text.startswith(headline)
    assert str(found.verdict) == found.verdict.text
    assert found.to_text().startswith(headline)
    assert found.to_text(full=True).startswith(headline)
    assert repr(found).startswith(headline)
    assert words(found._repr_html_()).strip().startswith(headline)
    verdict = json.loads(found.to_json())["verdict"]
    assert verdict["headline"] == headline
    assert verdict["text"] == found.verdict.text
    assert found.to_dict()["verdict"]["headline"] == headline
    page = found.to_html()
    (shown,) = re.findall(r'<strong id="headline">(.*?)</strong>', page)
    assert html.unescape(shown) == headline
    assert words(page.split("<main>")[1]).count(headline) == 1
    figure = found.plot()
    assert figure.get_suptitle().replace("\n", " ") == headline
    plt.close(figure)


def test_the_command_line_prints_the_same_decision(run: Run, tmp_path: Path) -> None:
    y, y_pred, spread = rows()
    frame = {"y_true": y, "y_pred": y_pred, "lower": y_pred - spread, "upper": y_pred + spread}
    pl.DataFrame(frame).write_csv(tmp_path / "m.csv")
    shown = run("assess", "m.csv", "--coverage", "90%")
    assert shown.returncode == 0, shown.stderr
    written = json.loads(run("assess", "m.csv", "--coverage", "90%", "--json", "-").stdout)
    first = " ".join(shown.stdout.split())
    assert first.startswith(written["verdict"]["headline"])


def test_dropped_rows_and_what_was_not_tested_stand_on_every_surface() -> None:
    y, y_pred, spread = rows()
    lacking = np.where(np.arange(N) < 40, np.nan, y_pred)
    with pytest.warns(ucc.DroppedRowsWarning):
        net = ucc.Intervals.from_bands(y, lacking, spread, missing="drop")
    flat = ucc.Intervals.from_bands(y, y_pred, np.full(N, 1.2), missing="drop")
    given = {"net": net, "flat": flat}
    site = np.repeat(["west", *(f"site {i}" for i in range(9))], 40)
    found = ucc.assess(given, coverage=0.9, missing="drop", by=site, block=site)
    dropped = "Dropped: 40 of 400 rows (net lacks 40). No rows are left of west."
    untested = (
        "Not tested: 9 of 9 segments, each a single block (site 0, site 1, site 2 and 6 more)."
    )
    assert found.verdict.text.endswith(f"{dropped}\n{untested}")
    shown = {
        "terminal": found.to_text(),
        "repr": repr(found),
        "notebook": words(found._repr_html_()),
        "page": words(found.to_html()),
    }
    for surface, text in shown.items():
        assert dropped in text, surface
        assert untested in text, surface
    data = json.loads(found.to_json())
    assert data["missing"]["lacking"] == {"net": 40, "flat": 0}
    assert data["missing"]["vanished"] == ["west"]
    assert data["not_tested"] == [untested.removeprefix("Not tested: ").removesuffix(".")]


def test_a_gate_says_its_outcome_in_text_markdown_and_json() -> None:
    both = clear()
    outcome = gate(both["flat"], both["net"], coverage=0.9)
    assert outcome.to_text().startswith(outcome.headline)
    assert repr(outcome).startswith(outcome.headline)
    plain = outcome.to_markdown().replace("\\", "")
    assert plain.startswith(f"### {outcome.headline}")
    assert outcome.to_dict()["headline"] == outcome.headline
