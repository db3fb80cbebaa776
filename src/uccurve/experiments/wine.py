"""White wine quality, five folds (Appendix, Wine Quality Data)."""

from collections.abc import Callable, Iterator

import numpy as np

from uccurve import UCC, Intervals

from .experiment import Cell, Claim, Drawing, Experiment, Parts, Settings, Verdict
from .figures import canvas, draw_curves
from .store import Arrays
from .summary import BM, ED, FLOOR, REPAIR, SUMMARY, models_of, published, ranked, summary_cells, tuned, uncrossed

MODELS = ("GBR", "GBR-Weak", "Meta")
JUMP = "The steepest fall of the miss rate"
REPAIRS = "{} area by the repair of tiny and crossing bands"
FLOORS = {"floor 1/20": "5%", "floor 1/10": "10%", "floor 1/5": "20%"}
SYMMETRIC = "symmetric"
WINDOW = 0.1

SETTINGS: Settings = {
    "rows": None,
    "folds": 5,
    "repetitions": 1,
    "held_out": 0.2,
    "meta_share": 0.5,
    "strong": {"n_estimators": 500, "max_depth": 10},
    "weak": {"n_estimators": 50, "max_depth": 3},
}
QUICK: Settings = {**SETTINGS, "rows": 1500, "folds": 2, "strong": {"n_estimators": 60, "max_depth": 6}}


def work(seed: int, settings: Settings) -> dict[str, Callable[[], Arrays]]:
    """All folds and models are one part."""

    def compute() -> Arrays:
        from .folds import pooled
        from .loaders import wine

        return pooled(wine, settings, seed=seed)

    return {"intervals": compute}


TABLE = {
    "GBR": (0.139, 0.119, 0.115, 0.500, 0.199, 0.198, 1.031),
    "Constant": (0.143, 0.128, 0.119, 0.485, 0.199, 0.197, 1.082),
    "GBR-Weak": (0.167, 0.126, 0.125, 0.545, 0.187, 0.187, 1.074),
    "Meta": (0.136, 0.132, 0.115, 0.478, 0.196, 0.193, 1.294),
}
PAPER = {
    **published(TABLE),
    (JUMP, "GBR-Weak", "at bandwidth"): 1.3,
    **{
        (REPAIRS.format(kind), name, repair): TABLE[name][place]
        for kind, place in (("BM", 3), ("ED", 0))
        for name in MODELS
        for repair in (*FLOORS, SYMMETRIC)
    },
}


def repaired(part: Arrays, name: str) -> dict[str, Intervals]:
    """A model's test intervals after several repairs: bands raised to a share of their mean, or made symmetric."""
    y_true, y_pred, lower, upper = uncrossed(part[f"test {name}"])
    found = {
        label: Intervals.from_bounds(y_true, y_pred, lower, upper, min_band=floor) for label, floor in FLOORS.items()
    }
    return {**found, SYMMETRIC: Intervals.from_bands(y_true, y_pred, (upper - lower) / 2, min_band=FLOOR)}


def repair_cells(part: Arrays, unit: float) -> dict[Cell, float]:
    """Areas of each model after each repair."""
    return {
        (REPAIRS.format(kind), name, repair): UCC(iv).area(axes=axes, unit=unit)
        for kind, axes in (("BM", BM), ("ED", ED))
        for name in MODELS
        for repair, iv in repaired(part, name).items()
    }


def steepest(iv: Intervals, unit: float) -> tuple[float, float]:
    """Where below 1/2 the miss rate falls most within a tenth of a deviation of bandwidth, and by how much."""
    points = UCC(iv).points(axes=BM, unit=unit)
    end = np.searchsorted(points.x, points.x + WINDOW, side="right") - 1
    fall = np.where(points.y < 0.5, points.y - points.y[end], 0.0)
    most = int(np.argmax(fall))
    return float(points.x[most] + WINDOW / 2), float(fall[most])


def judge(parts: Parts, seed: int) -> Verdict:
    """The summary table at the scale that is cheapest on bandwidth/miss rate on the held-out rows."""
    del seed
    part = parts["intervals"]
    unit = float(part["unit"])
    test, held_out = (models_of(part, MODELS, period, floored=MODELS) for period in ("test", "held out"))
    cells = summary_cells(test, tuned(held_out, BM, unit), unit=unit, error="squared")
    cells |= repair_cells(part, unit)
    jumps = {name: steepest(iv, unit) for name, iv in test.items()}
    for name, (place, fall) in jumps.items():
        cells |= {(JUMP, name, "at bandwidth"): place, (JUMP, name, "fall within 0.1 sd, %"): 100 * fall}
    others = [name for name in test if name != "GBR-Weak"]
    narrow = [
        cells[SUMMARY, n, f"{a} cost"] / cells[SUMMARY, n, f"{a} optimal cost"] for n in test for a in ("ED", "BM")
    ]
    where = "App., Wine Quality Data"
    claims = (
        Claim(
            "Meta has the least area on excess/deficit",
            where,
            all(ranked(cells, "ED area", "Meta", n) for n in test if n != "Meta"),
        ),
        Claim(
            "Meta has the least area on bandwidth/miss rate",
            where,
            all(ranked(cells, "BM area", "Meta", n) for n in test if n != "Meta"),
        ),
        Claim(
            "GBR is ahead of the constant band on excess/deficit (area)",
            where,
            ranked(cells, "ED area", "GBR", "Constant"),
        ),
        Claim(
            "GBR falls behind the constant band on bandwidth/miss rate (area)",
            where,
            ranked(cells, "BM area", "Constant", "GBR"),
        ),
        Claim(
            "GBR-Weak has the lowest optimal cost on bandwidth/miss rate",
            where,
            all(ranked(cells, "BM optimal cost", "GBR-Weak", n) for n in others),
        ),
        Claim(
            "GBR-Weak's miss rate drops dramatically at a bandwidth of about 1.3 sd (steepest of all, between 1.1 and"
            " 1.5)",
            where,
            1.1 < jumps["GBR-Weak"][0] < 1.5 and jumps["GBR-Weak"][1] > max(jumps[n][1] for n in ("GBR", "Meta")),
        ),
        Claim("Cost and optimal cost lie near each other (within a fifth)", where, max(narrow) < 1.2),
    )
    return Verdict(cells, claims)


def draw(parts: Parts) -> Iterator[Drawing]:
    """The curves on both pairs of axes, in standard deviations."""
    part = parts["intervals"]
    unit = float(part["unit"])
    test, held_out = (models_of(part, MODELS, period, floored=MODELS) for period in ("test", "held out"))
    scales = tuned(held_out, BM, unit)
    figure, (left, right) = canvas(2, width=5)
    draw_curves(left, test, axes=ED, unit=unit, unit_name="sd of y", scales=scales, xmax=2)
    draw_curves(right, test, axes=BM, unit=unit, unit_name="sd of y", scales=scales, xmax=3)
    yield Drawing(
        "wine-ucc",
        figure,
        "UCCs on excess/deficit and bandwidth/miss rate for the wine data (the paper's Figure 14). Ratings are whole "
        "numbers, so the curve of the almost constant GBR-Weak falls in jumps.",
    )


EXPERIMENT = Experiment(
    name="wine",
    title="White wine quality",
    work=work,
    judge=judge,
    draw=draw,
    paper=PAPER,
    seeds=(0, 1, 2, 3, 4),
    quick_seeds=(0,),
    settings=SETTINGS,
    quick_settings=QUICK,
    stack=("scikit-learn",),
    recipe=2,
    reasons={
        SUMMARY: "The constant band is reproduced and Meta nearly; GBR is not (its areas are a third too large). The "
        "deep quantile trees give many bands that are tiny or negative, and the paper does not say how it repaired "
        "them. Half of the training rows go to Meta's band model: on the held-out rows that was better than a fifth. "
        "What the paper prints as MAE is here, as for housing, the mean squared error in raw units.",
        REPAIR: "We raise every band below 5 % of the mean half-width to that value.",
        REPAIRS.format("BM"): "A floor is a share of the mean half-width. No repair brings both quantile models to "
        "the published areas at once.",
    },
)
