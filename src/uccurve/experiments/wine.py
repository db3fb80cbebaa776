"""White wine quality, five folds (Appendix, Wine Quality Data)."""

from dataclasses import replace
from functools import partial

import numpy as np

from uccurve import UCC, Intervals

from . import tabular
from .bands import BM, ED, FLOOR, repaired, uncrossed
from .experiment import FIRST, Experiment, Parts
from .findings import Cells, Claims, Findings, Models, row
from .loaders import wine
from .store import Arrays
from .summary import SUMMARY, ranked, smallest
from .tabular import MODELS

JUMP = "The steepest fall of the miss rate"
REPAIRS = "{} area by the repair of tiny and crossing bands"
FLOORS = {"floor 1/20": "5%", "floor 1/10": "10%", "floor 1/5": "20%"}
WINDOW = 0.1
ORDER = ("Meta", "Constant", "GBR", "GBR-Weak")


def repairs(part: Arrays, name: str) -> Models:
    """Return a model's test intervals after several repairs: bands raised to a share of the mean, or symmetric."""
    rows = part[f"test {name}"]
    y_true, y_pred, lower, upper = uncrossed(rows)
    symmetric = Intervals.from_bands(y_true, y_pred, (upper - lower) / 2, min_band=FLOOR)
    return {**{label: repaired(rows, floor) for label, floor in FLOORS.items()}, "symmetric": symmetric}


def repair_cells(part: Arrays, unit: float) -> Cells:
    """Return the areas of each model after each repair."""
    cells: Cells = {}
    for kind, axes in (("BM", BM), ("ED", ED)):
        for name in MODELS:
            areas = {repair: UCC(iv).area(axes=axes, unit=unit) for repair, iv in repairs(part, name).items()}
            cells |= row(REPAIRS.format(kind), name, areas)
    return cells


def steepest(iv: Intervals, unit: float) -> tuple[float, float]:
    """Return where below 1/2 the miss rate falls most within 0.1 standard deviations of bandwidth, and by how much."""
    points = UCC(iv).points(axes=BM, unit=unit)
    end = np.searchsorted(points.x, points.x + WINDOW, side="right") - 1
    fall = np.where(points.y < 0.5, points.y - points.y[end], 0.0)
    most = int(np.argmax(fall))
    return float(points.x[most] + WINDOW / 2), float(fall[most])


def judge(test: Models, cells: Cells, unit: float, _seed: int) -> Claims:
    """Return what the paper says of its Table 4 and Figure 14."""
    jumps = {name: steepest(iv, unit) for name, iv in test.items()}
    for name, (place, fall) in jumps.items():
        cells |= row(JUMP, name, {"at bandwidth": place, "fall within 0.1 sd, %": 100 * fall})
    place, fall = jumps["GBR-Weak"]
    pairs = [(name, axes) for name in test for axes in ("ED", "BM")]
    above = [cells[SUMMARY, n, f"{axes} cost"] / cells[SUMMARY, n, f"{axes} optimal cost"] for n, axes in pairs]
    return {
        "Meta is smallest on ED": smallest(cells, "ED area", "Meta", test),
        "Meta is smallest on BM": smallest(cells, "BM area", "Meta", test),
        "GBR is ahead on ED": ranked(cells, "ED area", "GBR", "Constant"),
        "GBR is behind on BM": ranked(cells, "BM area", "Constant", "GBR"),
        "GBR-Weak is cheapest on BM": smallest(cells, "BM optimal cost", "GBR-Weak", test),
        "jump": 1.1 < place < 1.5 and fall > max(jumps["GBR"][1], jumps["Meta"][1]),
        "costs are close": max(above) < 1.2,
    }


READINGS = tabular.readings(wine, judge, ORDER)


def judge_first(parts: Parts, seed: int) -> Findings:
    """Judge the first reading, and what each repair of its bands would do."""
    found = READINGS[FIRST].judge(parts, seed)
    return replace(found, cells=found.cells | repair_cells(parts["intervals"], found.unit))


EXPERIMENT = Experiment(
    "wine",
    READINGS | {FIRST: replace(READINGS[FIRST], judge=judge_first)},
    partial(tabular.draw, "wine-ucc"),
    {"rows": None},
)
