"""White wine quality, five folds (Appendix, Wine Quality Data)."""

import numpy as np

from uccurve import UCC, Intervals

from .bands import BM, SUMMARY, ranked, smallest
from .experiment import Cells, Models, row
from .loaders import wine
from .tabular import experiment

JUMP = "The steepest fall of the miss rate"
WINDOW = 0.1
ORDER = ("Meta", "Constant", "GBR", "GBR-Weak")


def steepest(iv: Intervals, unit: float) -> tuple[float, float]:
    """Return where below 1/2 the miss rate falls most within 0.1 standard deviations of bandwidth, and by how much."""
    points = UCC(iv).points(axes=BM, unit=unit)
    end = np.searchsorted(points.x, points.x + WINDOW, side="right") - 1
    fall = np.where(points.y < 0.5, points.y - points.y[end], 0.0)
    most = int(np.argmax(fall))
    return float(points.x[most] + WINDOW / 2), float(fall[most])


def judge(test: Models, cells: Cells, unit: float, _seed: int) -> dict[str, bool]:
    """Return what the paper says of its Table 4 and Figure 14."""
    jumps = {name: steepest(iv, unit) for name, iv in test.items()}
    for name, (place, fall) in jumps.items():
        cells |= row(JUMP, name, {"at bandwidth": place, "fall within 0.1 sd, %": 100 * fall})
    place, fall = jumps["GBR-Weak"]
    pairs = [(name, axes) for name in test for axes in ("ED", "BM")]
    above = [
        cells[SUMMARY, n, f"{axes} cost"] / cells[SUMMARY, n, f"{axes} optimal cost"]
        for n, axes in pairs
    ]
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
