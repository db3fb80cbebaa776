"""The two readings of a table of features, shared by the housing and the wine data."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from uccurve import UCC, Intervals

from .experiment import FIRST, SECOND, Cell, Claims, Drawing, Findings, Floats, Parts, Reading, Settings, Work
from .figures import canvas, draw_curves
from .folds import PERIODS, Data, earlier_bounds, intervals, pooled, trained_bands
from .summary import BM, COST_FACTOR, ED, FLOOR, models_of, summary_cells, tuned, uncrossed, with_constant
from .trees import OURS

MODELS = ("GBR", "GBR-Weak", "Meta")
TIES, TRAINED = "earlier ties", "area bands"

Models = dict[str, Intervals]
Judge = Callable[[Models, dict[Cell, float], float, int], Claims]
"""Return the claims that the models of a reading, its cells, its unit and a seed bear out; may add cells."""


def all_models(parts: Parts, period: str) -> Models:
    """Return the paper's models and ours around the same prediction."""
    part, ours = parts["intervals"], parts[TRAINED]
    found = models_of(part, MODELS, period, floored=MODELS)
    y_true, y_pred, *_ = part[f"{period} GBR"]
    return found | {name: Intervals.from_bands(y_true, y_pred, ours[f"{period} {name}"][0]) for name in OURS}


def calibrated_by_fold(rows: Mapping[str, Floats], fold: Mapping[str, Floats], unit: float) -> Intervals:
    """Return test intervals with the scale or shift of each fold that is cheapest on its held-out rows."""
    found = []
    for number in np.unique(fold["test"]):
        held_out, test = (
            Intervals.from_bounds(*uncrossed(rows[period][:, fold[period] == number]), min_band=FLOOR)
            for period in PERIODS
        )
        points = [UCC(held_out, vary=vary).cheapest(COST_FACTOR, axes=ED, unit=unit) for vary in ("scale", "shift")]
        best = min(points, key=lambda point: point.cost or 0.0)
        found.append(test.calibrated(scale=best.scale, shift=best.shift))
    whole = Intervals.join(found)
    return Intervals.from_bands(whole.y_true, whole.y_pred, whole.lower_band, whole.upper_band, min_band=FLOOR)


def second_models(parts: Parts) -> Models:
    """Return the test intervals of the second reading; the constant band is that of the first."""
    first, ties = parts["intervals"], parts[TIES]
    fold = {period: ties[f"{period} fold"] for period in PERIODS}
    found = {}
    for name in MODELS:
        source = first if name == "Meta" else ties
        keys = {period: f"{period} {name}" for period in PERIODS}
        rows = {period: np.concatenate([first[key][:2], source[key][-2:]]) for period, key in keys.items()}
        found[name] = calibrated_by_fold(rows, fold, float(first["unit"]))
    return with_constant(found)


def second_scales(parts: Parts) -> dict[str, float]:
    """Return the scales of the second reading: its models are calibrated already, all but the constant band."""
    part = parts["intervals"]
    held_out = {"Constant": models_of(part, MODELS, "held out", floored=MODELS)["Constant"]}
    return dict.fromkeys(MODELS, 1.0) | tuned(held_out, ED, float(part["unit"]))


def repeated(parts: Parts) -> Floats | None:
    """Return the row that each test row is, where rows are tested more than once."""
    row = parts[TIES]["test row"]
    return row if len(np.unique(row)) < len(row) else None


def readings(load: Callable[[], Data], judge: Judge, order: tuple[str, ...], *, cross_fits: int) -> dict[str, Reading]:
    """Return both readings of a data set; `judge` is the same for both, `order` the paper's ranking by the BM area."""

    def work(seed: int, settings: Settings) -> Work:
        return {"intervals": lambda: pooled(load, intervals, settings, seed=seed)}

    def further_work(seed: int, settings: Settings) -> Work:
        return {
            TIES: lambda: pooled(load, earlier_bounds, settings, seed=seed),
            TRAINED: lambda: pooled(load, trained_bands, settings, seed=seed),
        }

    def findings(parts: Parts, seed: int, test: Models, scales: Mapping[str, float]) -> Findings:
        unit = float(parts["intervals"]["unit"])
        cells = summary_cells(test, scales, unit=unit, error="squared")
        claims = judge({name: test[name] for name in order}, cells, unit, seed)
        return Findings(cells, claims, test, unit, repeated(parts), (order,))

    def first(parts: Parts, seed: int) -> Findings:
        test, held_out = (all_models(parts, period) for period in ("test", "held out"))
        return findings(parts, seed, test, tuned(held_out, BM, float(parts["intervals"]["unit"])))

    def second(parts: Parts, seed: int) -> Findings:
        return findings(parts, seed, second_models(parts), second_scales(parts))

    return {FIRST: Reading(work, first), SECOND: Reading(further_work, second, {"cross_fits": cross_fits})}


def draw(parts: Parts, *, name: str, xmax: tuple[float, float]) -> Iterator[Drawing]:
    """Yield the curves on both pairs of axes, the first reading above the second."""
    unit = float(parts["intervals"]["unit"])
    test, held_out = (models_of(parts["intervals"], MODELS, period, floored=MODELS) for period in ("test", "held out"))
    shown = (test, tuned(held_out, BM, unit), FIRST), (second_models(parts), second_scales(parts), SECOND)
    figure, panels = canvas(2, width=5, rows=2)
    for row, (models, scales, reading) in enumerate(shown):
        for ax, axes, end in zip(panels[2 * row :], (ED, BM), xmax, strict=False):
            draw_curves(ax, models, axes=axes, unit=unit, unit_name="sd of y", scales=scales, xmax=end)
            ax.set_title(f"{reading} reading", fontsize=10)
    yield Drawing(name, figure)
