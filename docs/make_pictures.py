"""Draw the pictures of the README and of these pages into docs/assets: python docs/make_pictures.py."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import uccurve as ucc
from uccurve._checks import Axes
from uccurve.plots._drawing import style, tidy
from uccurve.plots.display import UCCDisplay

ASSETS = Path(__file__).parent / "assets"
PAIRS: tuple[Axes, ...] = (("bandwidth", "miss_rate"), ("bandwidth", "deficit"), ("excess", "deficit"))


def curve() -> Figure:
    """Three models of noise that grows with x, on the paper's axes and on excess/deficit."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 1000)
    y = np.sin(x) + rng.normal(size=1000) * (0.1 + 0.05 * x)
    bands = {"grows with x": 0.05 + 0.04 * x, "random": rng.uniform(0.1, 0.9, 1000), "shrinks with x": 0.75 - 0.06 * x}
    figure, panels = plt.subplots(ncols=2, figsize=(9.6, 3.8), layout="constrained")
    for ax, axes in zip(panels, (PAIRS[0], PAIRS[2]), strict=True):
        for name, band in bands.items():
            intervals = ucc.Intervals.from_std(y, np.sin(x), band)
            UCCDisplay.from_ucc(ucc.UCC(intervals), name=name, ax=ax, axes=axes)
    return figure


def gains() -> Figure:
    """What a band in proportion to a power of the true deviation gains, on three pairs of axes."""
    rng = np.random.default_rng(1)
    sigma = rng.lognormal(0, 0.5, 200_000)
    y = sigma * rng.normal(size=200_000)
    powers = np.linspace(0, 2, 21)
    curves = [ucc.UCC(ucc.Intervals.from_std(y, np.zeros(200_000), sigma**power)) for power in powers]
    figure, ax = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
    for index, axes in enumerate(PAIRS):
        gain = [100 * c.gain(axes=axes) for c in curves]
        ax.plot(powers, gain, label="/".join(axes), linewidth=1.8, **style(index))
        best = int(np.argmax(gain))
        ax.plot(powers[best], gain[best], "o", **style(index) | {"linestyle": "none"})
    ax.axhline(0, color="black", linewidth=0.8)
    ax.axvline(1, color="black", linewidth=0.8, linestyle=":")
    ax.annotate("the oracle", (1, -40), (6, 0), textcoords="offset points")
    ax.set(xlabel="power of the true deviation that the band follows", ylabel="gain over the constant band, %")
    ax.set(xlim=(0, 2), ylim=(-45, 55))
    ax.legend(loc="upper left", frameon=False)
    tidy(ax)
    return figure


if __name__ == "__main__":
    ASSETS.mkdir(exist_ok=True)
    for drawing in (curve, gains):
        with mpl.rc_context({"svg.hashsalt": "uccurve"}):  # the same picture is the same file
            figure = drawing()
            figure.savefig(ASSETS / f"{drawing.__name__}.svg", metadata={"Date": None})
            figure.savefig(ASSETS / f"{drawing.__name__}.png", dpi=150)
            plt.close(figure)
