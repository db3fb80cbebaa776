"""White wine quality, five folds (Appendix, Wine Quality Data)."""

from itertools import product

import numpy as np

from uccurve import UCC, Intervals

from .bands import BM, ED, FLOOR, SUMMARY, ranked, repaired, smallest
from .experiment import FIRST, Cells, Floats, Models, Parts, row
from .loaders import wine
from .tabular import MODELS, experiment

JUMP = "The steepest fall of the miss rate"
REPAIRS = "{} area by the repair of tiny and crossing bands"
FLOORS = {"floor 1/20": "5%", "floor 1/10": "10%", "floor 1/5": "20%"}
WINDOW = 0.1
ORDER = ("Meta", "Constant", "GBR", "GBR-Weak")


def repairs(rows: Floats) -> Models:
    """Return a model's intervals after several repairs: bands raised to a share of the mean, or symmetric."""
    y_true, y_pred, lower, upper = rows
    symmetric = Intervals.from_bands(y_true, y_pred, np.abs(upper - lower) / 2, min_band=FLOOR)
    return {**{label: repaired(rows, floor) for label, floor in FLOORS.items()}, "symmetric": symmetric}


def steepest(iv: Intervals, unit: float) -> tuple[float, float]:
    """Return where below 1/2 the miss rate falls most within 0.1 standard deviations of bandwidth, and by how much."""
    points = UCC(iv).points(axes=BM, unit=unit)
    end = np.searchsorted(points.x, points.x + WINDOW, side="right") - 1
    fall = np.where(points.y < 0.5, points.y - points.y[end], 0.0)
    most = int(np.argmax(fall))
    return float(points.x[most] + WINDOW / 2), float(fall[most])


def judge(test: Models, cells: Cells, parts: Parts, reading: str, _seed: int) -> dict[str, bool]:
    """Return what the paper says of its Table 4 and Figure 14; the first reading also shows what each repair does."""
    part, unit = parts["intervals"], float(parts["intervals"]["unit"])
    jumps = {name: steepest(iv, unit) for name, iv in test.items()}
    for name, (place, fall) in jumps.items():
        cells |= row(JUMP, name, {"at bandwidth": place, "fall within 0.1 sd, %": 100 * fall})
    for (kind, axes), name in product((("BM", BM), ("ED", ED)), MODELS if reading == FIRST else ()):
        found = repairs(part[f"test {name}"])
        areas = {repair: UCC(iv).area(axes=axes, unit=unit) for repair, iv in found.items()}
        cells |= row(REPAIRS.format(kind), name, areas)
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


EXPERIMENT = experiment("wine", wine, judge, ORDER)
