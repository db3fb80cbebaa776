"""Boston Housing, ten folds, two repetitions (Appendix, Boston Housing Data)."""

from collections.abc import Callable, Iterator

from uccurve import UCC

from .experiment import Claim, Drawing, Experiment, Parts, Settings, Verdict
from .figures import canvas, draw_curves
from .store import Arrays
from .summary import BM, ED, EXCESS, SUMMARY, all_differ, crossing, models_of, published, ranked, summary_cells, tuned

MODELS = ("GBR", "GBR-Weak", "Meta")
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


def work(seed: int, settings: Settings) -> dict[str, Callable[[], Arrays]]:
    """All folds and models are one part."""

    def compute() -> Arrays:
        from .folds import pooled
        from .loaders import housing

        return pooled(housing, settings, seed=seed)

    return {"intervals": compute}


PAPER = published(
    {
        "GBR": (0.039, 0.078, 0.061, 0.394, 0.169, 0.162, 104.762),
        "Constant": (0.036, 0.080, 0.059, 0.250, 0.113, 0.108, 45.962),
        "GBR-Weak": (0.073, 0.103, 0.080, 0.527, 0.200, 0.196, 112.331),
        "Meta": (0.037, 0.102, 0.061, 0.298, 0.143, 0.133, 113.851),
    }
)


def judge(parts: Parts, seed: int) -> Verdict:
    """The summary table at the scale that is cheapest on bandwidth/miss rate on the held-out rows."""
    part = parts["intervals"]
    unit = float(part["unit"])
    test, held_out = (models_of(part, MODELS, period, floored=MODELS) for period in ("test", "held out"))
    cells = summary_cells(test, tuned(held_out, BM, unit), unit=unit, error="squared")
    missed = {name: UCC(iv).find(bandwidth=1.0, unit=unit).miss_rate for name, iv in test.items()}
    cells |= {(AT_ONE, name, "miss rate"): 100 * value for name, value in missed.items()}
    near = [[cells[SUMMARY, n, f"{axes} area"] for n in ("GBR", "Constant", "Meta")] for axes in ("ED", "BM")]
    where = "App., Real-World Datasets"
    claims = (
        Claim(
            "Constant, Meta, GBR, GBR-Weak is the order of the BM areas",
            "Table 5",
            ranked(cells, "BM area", "Constant", "Meta", "GBR", "GBR-Weak"),
        ),
        Claim(
            "GBR-Weak has the largest ED area",
            "Table 5",
            all(ranked(cells, "ED area", n, "GBR-Weak") for n in ("GBR", "Constant", "Meta")),
        ),
        Claim(
            "The constant band has the least ED area",
            "Table 5",
            all(ranked(cells, "ED area", "Constant", n) for n in ("GBR", "Meta")),
        ),
        Claim(
            "From BM to ED the gap narrows for all but GBR-Weak (largest over least area)",
            where,
            max(near[0]) / min(near[0]) < max(near[1]) / min(near[1]),
        ),
        Claim(
            "All BM areas differ at p < 0.01 (our test of \u201cclear separation\u201d)",
            where,
            all_differ(test, axes=BM, seed=seed),
        ),
        Claim(
            "On ED, GBR-Weak is worse than GBR at p < 0.01",
            where,
            ranked(cells, "ED area", "GBR", "GBR-Weak")
            and all_differ({n: test[n] for n in ("GBR", "GBR-Weak")}, axes=ED, seed=seed),
        ),
        Claim(
            "At one sd of bandwidth GBR misses some 5 points less than GBR-Weak (2 to 8)",
            where,
            0.02 < missed["GBR-Weak"] - missed["GBR"] < 0.08,
        ),
        Claim("At one sd of bandwidth Meta misses less than GBR", where, missed["Meta"] < missed["GBR"]),
        Claim("The curves of GBR and Meta cross on ED", where, crossing(test["GBR"], test["Meta"], axes=ED)),
        Claim("The curves of GBR and Meta do not cross on BM", where, not crossing(test["GBR"], test["Meta"], axes=BM)),
    )
    return Verdict(cells, claims)


def draw(parts: Parts) -> Iterator[Drawing]:
    """The curves on both pairs of axes, in standard deviations."""
    part = parts["intervals"]
    unit = float(part["unit"])
    test, held_out = (models_of(part, MODELS, period, floored=MODELS) for period in ("test", "held out"))
    scales = tuned(held_out, BM, unit)
    figure, (left, right) = canvas(2, width=5)
    draw_curves(left, test, axes=ED, unit=unit, unit_name="sd of y", scales=scales, xmax=1.5)
    draw_curves(right, test, axes=BM, unit=unit, unit_name="sd of y", scales=scales, xmax=2.5)
    yield Drawing(
        "housing-ucc",
        figure,
        "UCCs on excess/deficit and bandwidth/miss rate for the Boston Housing data (the paper's Figure 13). Hollow "
        "circles: operating points tuned on the held-out rows.",
    )


EXPERIMENT = Experiment(
    name="housing",
    title="Boston Housing",
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
        SUMMARY: "Areas and optimal costs are reproduced, in units of the deviation of y. What the paper prints as MAE "
        "cannot be one, since it exceeds ten times the cost; ours is the mean squared error in raw units, which comes"
        " nearest.",
        EXCESS: "With the excess as printed the quantile models come out far below the published values, with the "
        "excess "
        "on the error's side they meet them: the published columns were computed with the latter.",
    },
)
