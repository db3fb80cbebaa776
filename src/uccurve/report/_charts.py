"""Charts: pictures that need no script, as positions in percent of a track, and the data of the explorer."""

from collections.abc import Sequence
from contextlib import suppress
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

import numpy as np

from uccurve._arrays import evenly
from uccurve._door import standard_deviation
from uccurve.curve import UCC
from uccurve.points import Curve, Estimate
from uccurve.results import PIT, Assessment, LevelRow, ModelRow
from uccurve.view import (
    FEWEST,
    STATES,
    axis_end,
    constant_curve,
    curve_data,
    delivered_at,
    knob,
    promise_mark,
    rounded,
    shipped_at,
    shipped_curve,
    span,
    waterfall,
    widest,
)
from uccurve.words.formats import coverage, short, told_apart

WATERFALLS, DOTS = 8, 12  # models that are shown at once
BUDGET, MOST = 12_000, 3_000  # vertices of all models together, and of one model at most
FLAT = 0.25  # vertices of a constant band, which is smooth, for each of a model
SAMPLE = 60  # rows whose intervals a page shows
LABEL, BRIEF = 24, 14  # characters of a name in a legend, on a desk and on a phone
BROKEN = ("too narrow", "too wide")


class Bar(NamedTuple):
    """A bar or an interval between two places, in percent; `tag` is what stands beside it, `dot` its estimate."""

    left: float
    width: float
    kind: str
    tag: str = ""
    dot: float | None = None


class Line(NamedTuple):
    """One model: its name, its bars and what is said of it."""

    name: str
    bars: Sequence[Bar]
    said: str = ""
    kind: str = ""


class Chart(NamedTuple):
    """Lines over one axis, with its ticks, how many are shown at once, and marks across all of them."""

    lines: Sequence[Line]
    ticks: Sequence[tuple[float, str]]
    first: int
    marks: Sequence[float] = ()


class Axis(NamedTuple):
    """Places between two ends, in percent, and round numbers to write under them."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return where a value lies, in percent."""
        return round(100 * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 3)

    def bar(
        self, start: float, end: float, kind: str, tag: str = "", dot: float | None = None
    ) -> Bar:
        """Return a bar between two values."""
        left, right = sorted((self.place(start), self.place(end)))
        cut = " cut" if max(start, end) > self.high else ""
        return Bar(
            left,
            round(right - left, 3),
            f"{kind}{cut}",
            tag,
            None if dot is None else self.place(dot),
        )

    def ticks(self, form: str = "{:,.6g}") -> list[tuple[float, str]]:
        """Return about five round numbers and where they lie.

        >>> Axis(0.0, 9.3).ticks()
        [(0.0, '0'), (21.505, '2'), (43.011, '4'), (64.516, '6'), (86.022, '8')]
        """
        rough = (self.high - self.low) / 5
        power = 10.0 ** floor(log10(rough))
        step = power * min((1, 2, 5, 10), key=lambda factor: abs(log10(rough / (factor * power))))
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [(self.place(i * step), form.format(i * step + 0.0)) for i in range(first, last + 1)]


def decomposition(assessment: Assessment) -> Chart:
    """Waterfall of each model, best first: what predictions and bands save, and what scaling does."""
    ranking = assessment.ranking
    axis = Axis(0.0, axis_end(row.decomposition for row in ranking[:WATERFALLS]))
    lines = [Line(row.name, _steps(row, axis)) for row in ranking]
    return Chart(lines, axis.ticks(), WATERFALLS)


def _steps(row: ModelRow, axis: Axis) -> list[Bar]:
    steps = waterfall(row.decomposition)
    return [axis.bar(step.start, step.end, step.kind, step.label) for step in steps]


def calibration(assessment: Assessment) -> Chart:
    """Coverage as delivered of each model, or of each of its levels, with its interval, and what was promised."""
    settings = assessment.settings
    shown = [covered for row in assessment.rows for covered in row.levels or (row,)]
    promised = {level.level for row in assessment.rows for level in row.levels}
    if settings.coverage is not None:
        promised.add(settings.coverage)
    ends = [end for covered in shown for end in span(covered.coverage)]
    values = [100 * end for end in (*ends, *promised, settings.shown_coverage) if isfinite(end)]
    room = 0.05 * (max(values) - min(values)) or 1.0
    axis = Axis(max(0.0, min(values) - room), min(100.0, max(values) + room))
    lines = [_covered(row, axis) for row in assessment.ranking]
    marks = [axis.place(100 * level) for level in sorted(promised)]
    return Chart(lines, axis.ticks("{:g}%"), DOTS, marks)


def _covered(row: ModelRow, axis: Axis) -> Line:
    """Coverages of one model, with what is said of those that break their promise."""
    bars = [_covered_bar(covered, axis) for covered in row.levels or (row,)]
    broken = [level for level in row.levels if level.promise in BROKEN]
    kind = "broken" if broken else bars[-1].kind
    if not row.levels:
        return Line(row.name, bars, promise_mark(row), kind)
    return Line(row.name, bars, _broken_in_words(broken) or "kept at all levels", kind)


def _broken_in_words(levels: Sequence[LevelRow]) -> str:
    parts = []
    for promise in BROKEN:
        named = [str(coverage(level.level)) for level in levels if level.promise == promise]
        if named:
            parts.append(f"{promise} at {', '.join(named)}")
    return "; ".join(parts)


def _covered_bar(covered: ModelRow | LevelRow, axis: Axis) -> Bar:
    value, low, high = (100 * end for end in span(covered.coverage))
    return axis.bar(low, high, STATES[covered.promise].colour, dot=value)


def pit(assessment: Assessment) -> list[tuple[str, list[dict[str, Any]]]]:
    """PIT histograms of the models that have several levels, best first, on one axis of densities.

    Each bar has its place, the band around its top, and whether it leaves it, in percent of the picture.
    """
    shown = [(row.name, row.pit) for row in assessment.ranking if row.pit is not None][:DOTS]
    tallest = max((density.value for _, pit in shown for density in pit.density), default=1.0)
    axis = Axis(0.0, 1.05 * max(tallest, 1.2))
    return [(name, _bins(pit, axis)) for name, pit in shown]


def _bins(pit: PIT, axis: Axis) -> list[dict[str, Any]]:
    unit = Axis(0.0, 1.0)
    bins = []
    for left, right, density in zip(pit.edges, pit.edges[1:], pit.density, strict=False):
        band = density if density.has_interval else Estimate(density.value, 1.0, 1.0)
        inside = not density.has_interval or density.low <= density.value <= density.high
        bins.append(
            {
                "left": unit.place(left),
                "width": unit.place(right - left),
                "height": axis.place(density.value),
                "low": axis.place(band.low),
                "high": axis.place(band.high),
                "kind": "" if inside else "broken",
            }
        )
    return bins


def explorer_data(assessment: Assessment) -> dict[str, Any]:
    """All that the curve explorer needs: curves, constant bands, and some rows of every model, best model first."""
    settings, ranking = assessment.settings, assessment.ranking
    curves = [shipped_curve(assessment, row) for row in ranking]
    with_constant = curves[:1] if assessment.comparable else curves
    constants = [flat for flat in map(constant_curve, with_constant) if flat is not None]
    most = int(np.clip(BUDGET / (len(curves) + FLAT * len(constants)), FEWEST, MOST))
    names = [row.name for row in ranking]
    labels = told_apart(names, LABEL)
    briefs = told_apart(names, BRIEF)
    chosen = names.index(assessment.verdict.model)
    places = [shipped_at(assessment, row) for row in ranking]
    return {
        "axes": list(settings.axes),
        "cost": settings.c,
        "coverage": settings.shown_coverage,
        "comparable": assessment.comparable,
        "chosen": chosen,
        "cut": _cut(assessment),
        "rows": ranking[0].n,
        "units": _units(curves[chosen], settings.unit),
        "models": [
            {**_model(curve, at, most), "name": short(name), "label": label, "brief": brief}
            for name, label, brief, curve, at in zip(
                names, labels, briefs, curves, places, strict=True
            )
        ],
        "references": [curve_data(flat, int(FLAT * most)) for flat in constants],
    }


def _cut(assessment: Assessment) -> float | None:
    """Half-width up to which curves are shown, in the unit that was asked for; None where nothing ships."""
    cut = widest(assessment)
    return rounded(np.array([cut]))[0] if isfinite(cut) else None


def _model(curve: Curve, at: float, most: int) -> dict[str, Any]:
    """One model: its curve, where it lies as delivered and as shipped, and some of its rows."""
    known = [at] if isfinite(at) else []
    delivered = delivered_at(curve)
    return {
        "knob": knob(curve),
        "delivered": delivered,
        "target": rounded(np.array(known))[0] if known else None,
        "curve": curve_data(curve, most, [delivered, *known]),
        "sample": sample_data(curve) if isinstance(curve, UCC) else None,
    }


def _units(curve: Curve, asked: str | float) -> dict[str, float]:
    """Return what values in units of y may be divided by, the unit that was asked for first."""
    known = {"that of y": 1.0}
    if isinstance(curve, UCC):
        with suppress(ValueError):  # where y_true does not vary
            known["standard deviations of y"] = standard_deviation(
                curve.intervals.y_true, curve.intervals.weight
            )
    if isinstance(asked, str):
        return dict(reversed(known.items())) if asked == "std" else known
    return {f"units of {asked:g}": float(asked)} | known


def sample_data(curve: UCC, most: int = SAMPLE) -> dict[str, Any]:
    """Observations, predictions and bands of some rows, evenly chosen and ordered by prediction; no band is None."""
    intervals = curve.intervals
    order = np.argsort(intervals.y_pred.ravel(), kind="stable")
    rows = order[evenly(len(order), most)]
    data: dict[str, Any] = {"row": rows.tolist()}
    for name in ("y_true", "y_pred", "lower_band", "upper_band"):
        values = rounded(getattr(intervals, name).ravel()[rows])
        data[name] = [value if isfinite(value) else None for value in values]
    return data
