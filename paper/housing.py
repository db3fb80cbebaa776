"""Boston Housing, ten folds, two repetitions (Appendix, Boston Housing Data)."""

from uccurve import UCC

from .bands import BM, ED, SUMMARY, all_differ, crossing, ranked, smallest
from .experiment import Cells, Models
from .loaders import housing
from .tabular import experiment

ORDER = ("Constant", "Meta", "GBR", "GBR-Weak")


def judge(test: Models, cells: Cells, unit: float, seed: int) -> dict[str, bool]:
    """Return what the paper says of its Table 5 and Figure 13."""
    missed = {name: UCC(iv).find(bandwidth=1.0, unit=unit).miss_rate for name, iv in test.items()}
    ed, bm = (
        [cells[SUMMARY, n, f"{axes} area"] for n in ("GBR", "Constant", "Meta")]
        for axes in ("ED", "BM")
    )
    quantiles = {name: test[name] for name in ("GBR", "GBR-Weak")}
    gbr, meta = test["GBR"], test["Meta"]
    return {
        "order on BM": ranked(cells, "BM area", *ORDER),
        "GBR-Weak is largest on ED": all(
            ranked(cells, "ED area", name, "GBR-Weak") for name in ORDER[:3]
        ),
        "constant is smallest on ED": smallest(cells, "ED area", "Constant", ("GBR", "Meta")),
        "the gap narrows": max(ed) / min(ed) < max(bm) / min(bm),
        "all differ on BM": all_differ(test, axes=BM, seed=seed),
        "GBR-Weak is worse on ED": ranked(cells, "ED area", *quantiles)
        and all_differ(quantiles, axes=ED, seed=seed),
        "five points at one sd": 0.02 < missed["GBR-Weak"] - missed["GBR"] < 0.08,
        "Meta misses less at one sd": missed["Meta"] < missed["GBR"],
        "crossing on ED": crossing(gbr, meta, axes=ED),
        "no crossing on BM": not crossing(gbr, meta, axes=BM),
    }


EXPERIMENT = experiment("housing", housing, judge, ORDER)
