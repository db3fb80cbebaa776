"""White wine quality, five folds (Appendix, Wine Quality Data)."""

from dataclasses import replace
from functools import partial

import numpy as np

from uccurve import UCC, Intervals

from . import tabular
from .experiment import FIRST, Cell, Claims, Experiment, Findings, Parts, Settings
from .loaders import wine
from .store import Arrays
from .summary import BM, ED, FLOOR, SUMMARY, ranked, smallest, uncrossed
from .tabular import MODELS, Models

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
ORDER = ("Meta", "Constant", "GBR", "GBR-Weak")


def repaired(part: Arrays, name: str) -> dict[str, Intervals]:
    """Return a model's test intervals after several repairs: bands raised to a share of the mean, or symmetric."""
    y_true, y_pred, lower, upper = uncrossed(part[f"test {name}"])
    found = {
        label: Intervals.from_bounds(y_true, y_pred, lower, upper, min_band=floor) for label, floor in FLOORS.items()
    }
    return {**found, SYMMETRIC: Intervals.from_bands(y_true, y_pred, (upper - lower) / 2, min_band=FLOOR)}


def repair_cells(part: Arrays, unit: float) -> dict[Cell, float]:
    """Return the areas of each model after each repair."""
    return {
        (REPAIRS.format(kind), name, repair): UCC(iv).area(axes=axes, unit=unit)
        for kind, axes in (("BM", BM), ("ED", ED))
        for name in MODELS
        for repair, iv in repaired(part, name).items()
    }


def steepest(iv: Intervals, unit: float) -> tuple[float, float]:
    """Return where below 1/2 the miss rate falls most within 0.1 standard deviations of bandwidth, and by how much."""
    points = UCC(iv).points(axes=BM, unit=unit)
    end = np.searchsorted(points.x, points.x + WINDOW, side="right") - 1
    fall = np.where(points.y < 0.5, points.y - points.y[end], 0.0)
    most = int(np.argmax(fall))
    return float(points.x[most] + WINDOW / 2), float(fall[most])


def judge(test: Models, cells: dict[Cell, float], unit: float, seed: int) -> Claims:
    """Return what the paper says of its Table 4 and Figure 14."""
    del seed
    jumps = {name: steepest(iv, unit) for name, iv in test.items()}
    for name, (place, fall) in jumps.items():
        cells |= {(JUMP, name, "at bandwidth"): place, (JUMP, name, "fall within 0.1 sd, %"): 100 * fall}
    place, fall = jumps["GBR-Weak"]
    narrow = [
        cells[SUMMARY, n, f"{a} cost"] / cells[SUMMARY, n, f"{a} optimal cost"] for n in test for a in ("ED", "BM")
    ]
    return {
        "App., Wine Quality Data": {
            "Meta has the smallest ED area": smallest(cells, "ED area", "Meta", test),
            "Meta has the smallest BM area": smallest(cells, "BM area", "Meta", test),
            "GBR is ahead of the constant band on ED (area)": ranked(cells, "ED area", "GBR", "Constant"),
            "GBR falls behind the constant band on BM (area)": ranked(cells, "BM area", "Constant", "GBR"),
            "GBR-Weak has the lowest optimal cost on BM": smallest(cells, "BM optimal cost", "GBR-Weak", test),
            "GBR-Weak's miss rate drops dramatically at a bandwidth of about 1.3 sd (steepest of all, 1.1 to 1.5)": (
                1.1 < place < 1.5 and fall > max(jumps["GBR"][1], jumps["Meta"][1])
            ),
            "Cost and optimal cost are close (within a fifth)": max(narrow) < 1.2,
        }
    }


READINGS = tabular.readings(wine, judge, ORDER, cross_fits=2)


def first(parts: Parts, seed: int) -> Findings:
    """Judge the first reading, and what each repair of its bands would do."""
    found = READINGS[FIRST].judge(parts, seed)
    return replace(found, cells={**found.cells, **repair_cells(parts["intervals"], found.unit)})


EXPERIMENT = Experiment(
    name="wine",
    readings=READINGS | {FIRST: replace(READINGS[FIRST], judge=first)},
    draw=partial(tabular.draw, name="wine-ucc", xmax=(2, 3)),
    settings=SETTINGS,
    quick_settings=QUICK,
    stack=("scikit-learn",),
    recipe=2,
)
