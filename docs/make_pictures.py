"""Draw the pictures of the README and of these pages into docs/assets: python docs/make_pictures.py.

Those of the gallery are made by the code on that page; the others by the functions here.
"""

import doctest
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import uccurve as ucc
from uccurve.plots._drawing import style, tidy

HERE = Path(__file__).parent
ASSETS = HERE / "assets"
SHOWN = re.compile(
    r"```python\n(?P<code>.*?)```|!\[[^\]]*\]\(assets/(?P<picture>[\w-]+)\.svg\)", flags=re.DOTALL
)


def verdict() -> Figure:
    """The assessment of the README's two models."""
    rng = np.random.default_rng(0)
    y_pred, noise = rng.normal(size=1000), rng.uniform(0.1, 0.6, 1000)
    y = y_pred + noise * rng.normal(size=1000)
    net, forest = (
        ucc.Intervals.from_bounds(y, y_pred, y_pred - band, y_pred + band) for band in (noise, 0.6)
    )
    figure: Figure = ucc.assess({"net": net, "forest": forest}, coverage=0.9).plot()
    figure.set_size_inches(9.5, 5.6)  # so that its words can be read at the width of a page
    return figure


def anatomy() -> Figure:
    """One curve with its parts named."""
    rng = np.random.default_rng(12)
    noise = rng.lognormal(0, 0.9, 60)
    iv = ucc.Intervals.from_bands(noise * rng.normal(size=60), np.zeros(60), 0.9 * noise)
    c = ucc.UCC(iv)
    display = c.plot(name="model", shade=True, legend=False)
    ax = display.ax_
    display.figure_.set_size_inches(7.6, 4.8)
    delivered, target = c.at(1.0), c.find(coverage=0.9)
    table = c.table()
    step = int(np.searchsorted(-table["miss_rate"], -0.75))
    flat = ucc.UCC(iv.constant()).find(coverage=0.95)
    color = display.line_.get_color()
    ax.plot(
        target.bandwidth,
        target.miss_rate,
        "D",
        color=color,
        markersize=8,
        markeredgecolor="white",
        zorder=3,
    )
    places = {
        "1  start: scale 0, every row missed": ((0, 1), (0.5, 0.97)),
        "6  one step is one row": (
            (table["bandwidth"][step], table["miss_rate"][step]),
            (0.9, 0.8),
        ),
        "2  as delivered: scale 1": ((delivered.bandwidth, delivered.miss_rate), (1.7, 0.52)),
        f"3  90% coverage: scale {target.scale:.2f}": (
            (target.bandwidth, target.miss_rate),
            (2.3, 0.34),
        ),
        "4  constant band": ((flat.bandwidth, flat.miss_rate), (3.2, 0.2)),
        "5  area": ((0.55, 0.2), (0.35, 0.15)),
    }
    for text, (point, label) in places.items():
        _point_out(ax, text, point, label)
    return display.figure_


def _point_out(ax: Any, text: str, point: tuple[float, float], label: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-", "color": "black", "linewidth": 0.8, "shrinkB": 4}
    ax.annotate(
        text,
        point,
        label,
        arrowprops=None if "area" in text else arrow,
        fontsize="small",
        va="center",
    )


def gains() -> Figure:
    """What a band in proportion to a power of the true noise gains, on three pairs of axes, and its skill."""
    rng = np.random.default_rng(1)
    sigma = rng.lognormal(0, 0.5, 200_000)
    y = sigma * rng.normal(size=200_000)
    powers = np.linspace(0, 2, 21)
    curves = [
        ucc.UCC(ucc.Intervals.from_std(y, np.zeros(200_000), sigma**power)) for power in powers
    ]
    rows: dict[str, list[float]] = {}
    for first, second in (
        ("bandwidth", "miss_rate"),
        ("bandwidth", "deficit"),
        ("excess", "deficit"),
    ):
        label = f"gain, {second} vs. {first}".replace("_", " ")
        rows[label] = [c.gain(axes=(first, second)) for c in curves]  # type: ignore[arg-type]  # two metrics
    rows["skill"] = [c.skill() for c in curves]
    figure, ax = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
    for index, (label, values) in enumerate(rows.items()):
        ax.plot(powers, 100 * np.array(values), label=label, linewidth=1.8, **style(index))
        best = int(np.argmax(values))
        ax.plot(powers[best], 100 * values[best], "o", **style(index) | {"linestyle": "none"})
    ax.axhline(0, color="black", linewidth=0.8)
    ax.axvline(1, color="black", linewidth=0.8, linestyle=":")
    ax.annotate("the oracle", (1, -40), (6, 0), textcoords="offset points")
    ax.set(
        xlabel="power of the true noise that the bands follow",
        ylabel="share of the constant band saved, %",
    )
    ax.set(xlim=(0, 2), ylim=(-45, 55))
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    tidy(ax)
    return figure


def save(figure: Figure, name: str) -> None:
    """Write a picture; the same picture is the same file."""
    figure.savefig(ASSETS / f"{name}.svg", metadata={"Date": None})
    plt.close("all")


def gallery(page: Path) -> None:
    """Run the code of a page, and save what was drawn last wherever the page shows a picture."""
    names: dict[str, Any] = {}
    for shown in SHOWN.finditer(page.read_text(encoding="utf-8")):
        if shown["picture"]:
            save(plt.gcf(), shown["picture"])
            continue
        for example in doctest.DocTestParser().get_examples(shown["code"]):
            exec(compile(example.source, page.name, "exec"), names)  # noqa: S102  # the page's own code


if __name__ == "__main__":
    ASSETS.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "uccurve"}):
        for drawing in (verdict, anatomy, gains):
            save(drawing(), drawing.__name__)
        gallery(HERE / "gallery.md")
