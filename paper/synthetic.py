"""x sin x with five kinds of bands around one target prediction (Section 4.1, Appendix, Synthetic Data)."""

import numpy as np

from uccurve import UCC, Intervals

from .bands import (
    BM,
    ED,
    OURS,
    PERFECT,
    SUMMARY,
    all_differ,
    banded,
    costs,
    models_of,
    ranked,
    summary,
    tuned,
)
from .experiment import Arrays, Experiment, Findings, Floats, Models, Parts, Settings
from .figures import Figures, canvas, draw_curves, draw_fit
from .tabular import Data, area_bands, quantile_models

SPAN, ZOOM = (0.0, 20.0), (6.0, 10.0)
MODELS = ("GBR", "GBR-Weak", "Random", PERFECT)
ORDER = ("GBR", "Constant", "GBR-Weak", "Random")
RANKING = ("ED area", "ED optimal cost", "BM area", "BM optimal cost")


def truth(x: Floats) -> Floats:
    """Return the function without noise."""
    return x * np.sin(x)


def noisy(rng: np.random.Generator, n: int) -> Data:
    """Return random points and noisy values; the noise's standard deviation is itself random between 1.5 and 2.5."""
    x = rng.uniform(*SPAN, n)
    return x[:, None], truth(x) + rng.normal(0.0, 1.5 + rng.uniform(0.0, 1.0, n))


def sample(rng: np.random.Generator, settings: Settings) -> tuple[Data, dict[str, Data]]:
    """Return noisy points to train on, and new ones: noisy to be held out, and the noise-free function to test on."""
    train, held_out = (noisy(rng, settings[name]) for name in ("train", "held_out"))
    even = np.linspace(*SPAN, settings["test"])
    return train, {"held out": held_out, "test": (even[:, None], truth(even))}


def intervals(seed: int, settings: Settings) -> Arrays:
    """Return the bands of all of the paper's models and of ours at the held-out and the test points."""
    rng = np.random.default_rng(seed)
    train, new = sample(rng, settings)
    found, ours = (
        quantile_models(train, new, settings, seed=seed),
        area_bands(train, settings, seed=seed),
    )
    for period, (X, _) in new.items():
        y_true, y_pred, *_ = found[f"{period} GBR"]
        spread = np.std(y_pred)
        bands = {
            "Random": rng.uniform(spread / 3, 3 * spread, len(y_pred)),
            PERFECT: np.abs(y_true - y_pred) + rng.uniform(0.0, 0.05, len(y_pred)),
            **{name: predict(X) for name, predict in ours.items()},
        }
        found |= {
            f"{period} {name}": banded((y_true, y_pred), band) for name, band in bands.items()
        }
    clean = truth(new["held out"][0][:, 0])
    return {
        "x": new["test"][0][:, 0],
        "train": np.column_stack(train).T,
        "held out truth": clean,
        **found,
    }


def costs_without_noise(test: Models, held_out: Models, y: Floats) -> dict[str, float]:
    """Return ED costs on the test rows at scales tuned on held-out rows whose targets `y` have no noise."""
    clean = {
        n: Intervals.from_bounds(y, iv.y_pred, iv.lower, iv.upper)
        for n, iv in held_out.items()
        if n in ORDER
    }
    return {n: costs(UCC(test[n]), ED, scale)["cost"] for n, scale in tuned(clean, ED).items()}


def judge(_reading: str, parts: Parts, seed: int) -> Findings:
    """Judge the models at the scale that is cheapest on ED on the noisy held-out rows."""
    test, held_out = (
        models_of(parts["intervals"], (*MODELS, *OURS), period) for period in ("test", "held out")
    )
    cells = summary(test, tuned(held_out, ED))
    best = {name: cells[SUMMARY, name, "ED optimal cost"] for name in ORDER}
    clean = costs_without_noise(test, held_out, parts["intervals"]["held out truth"])
    claims = {
        "order": ranked(cells, "BM area", *ORDER),
        "all differ": all_differ(
            {name: test[name] for name in (*ORDER, PERFECT)}, axes=BM, seed=seed
        ),
        "perfect is best": ranked(cells, "ED area", PERFECT, "GBR"),
        "metrics agree": all(ranked(cells, measure, *ORDER) for measure in RANKING),
        "perfect is not best on BM": ranked(cells, "BM area", "GBR", PERFECT),
        "tuning on noise costs": all(
            cells[SUMMARY, name, "ED cost"] > 1.5 * best[name] for name in ORDER[:2]
        ),
        "noise is the reason": all(cost < 1.05 * best[name] for name, cost in clean.items()),
    }
    scored = {
        name: iv for name, iv in test.items() if name != PERFECT
    }  # it looks at y, so nobody could ship it
    return Findings(cells, claims, scored, orders=(ORDER,))


def draw(parts: Parts) -> Figures:
    """Return the data with 95% intervals, and the curves with operating points tuned on the held-out rows."""
    part = parts["intervals"]
    test, held_out = (models_of(part, MODELS, period) for period in ("test", "held out"))
    scaled = test["GBR"].calibrated(scale=UCC(test["GBR"]).find(miss_rate=0.05).scale)
    data, panels = canvas(2)
    for ax, (low, high), title in zip(panels, (SPAN, ZOOM), ("", "zoomed in"), strict=True):
        at = (low <= part["x"]) & (part["x"] <= high)
        some = part["train"][:, ::10]
        some = some[:, (low <= some[0]) & (some[0] <= high)]
        draw_fit(
            ax,
            part["x"][at],
            scaled.y_true[at],
            {"GBR, miss rate 5%": scaled[at]},
            points=some,
            title=title,
        )
    curves, panels = canvas(2)
    for ax, axes in zip(panels, (BM, ED), strict=True):
        draw_curves(ax, test, axes, scales=tuned(held_out, ED))
    return {"synthetic-data": data, "synthetic-ucc": curves}


EXPERIMENT = Experiment("synthetic", {"intervals": intervals}, judge, draw)
