"""Boston Housing, ten folds, two repetitions (Appendix, Boston Housing Data)."""

from functools import partial

from uccurve import UCC

from . import tabular
from .experiment import Cell, Claims, Experiment, Settings
from .loaders import housing
from .summary import BM, ED, SUMMARY, all_differ, crossing, ranked, smallest
from .tabular import Models

MODELS = tabular.MODELS
AT_ONE = "Miss rate at a bandwidth of one standard deviation, %"
SETTINGS: Settings = {
    "rows": None,
    "folds": 10,
    "repetitions": 2,
    "held_out": 0.1,
    "meta_share": 0.2,
    "strong": {"n_estimators": 50, "max_depth": 3},
    "weak": {"n_estimators": 10, "max_depth": 3},
}
QUICK: Settings = {**SETTINGS, "repetitions": 1}
ORDER = ("Constant", "Meta", "GBR", "GBR-Weak")


def judge(test: Models, cells: dict[Cell, float], unit: float, seed: int) -> Claims:
    """Return what the paper says of its Table 5 and Figure 13."""
    missed = {name: UCC(iv).find(bandwidth=1.0, unit=unit).miss_rate for name, iv in test.items()}
    cells |= {(AT_ONE, name, "miss rate"): 100 * value for name, value in missed.items()}
    near = [[cells[SUMMARY, n, f"{axes} area"] for n in ("GBR", "Constant", "Meta")] for axes in ("ED", "BM")]
    quantiles = {name: test[name] for name in ("GBR", "GBR-Weak")}
    gbr, meta = test["GBR"], test["Meta"]
    return {
        "Table 5": {
            "Constant, Meta, GBR, GBR-Weak is the order of the BM areas": ranked(cells, "BM area", *ORDER),
            "GBR-Weak has the largest ED area": all(ranked(cells, "ED area", n, "GBR-Weak") for n in ORDER[:3]),
            "The constant band has the smallest ED area": smallest(cells, "ED area", "Constant", ("GBR", "Meta")),
        },
        "App., Real-World Datasets": {
            "From BM to ED the gap narrows for all but GBR-Weak (largest over smallest area)": (
                max(near[0]) / min(near[0]) < max(near[1]) / min(near[1])
            ),
            "All BM areas differ at p < 0.01 (our test of “clear separation”)": all_differ(test, axes=BM, seed=seed),
            "On ED, GBR-Weak is worse than GBR at p < 0.01": (
                ranked(cells, "ED area", *quantiles) and all_differ(quantiles, axes=ED, seed=seed)
            ),
            "At one sd of bandwidth GBR misses some 5 points less than GBR-Weak (2 to 8)": (
                0.02 < missed["GBR-Weak"] - missed["GBR"] < 0.08
            ),
            "At one sd of bandwidth Meta misses less than GBR": missed["Meta"] < missed["GBR"],
            "The curves of GBR and Meta cross on ED": crossing(gbr, meta, axes=ED),
            "The curves of GBR and Meta do not cross on BM": not crossing(gbr, meta, axes=BM),
        },
    }


EXPERIMENT = Experiment(
    name="housing",
    readings=tabular.readings(housing, judge, ORDER, cross_fits=5),
    draw=partial(tabular.draw, name="housing-ucc", xmax=(1.5, 2.5)),
    settings=SETTINGS,
    quick_settings=QUICK,
    stack=("scikit-learn",),
    recipe=2,
)
