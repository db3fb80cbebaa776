"""Charts: pictures that need no script, as positions in percent of a track, and the data of the explorer."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from math import ceil, floor, isfinite, isnan, log10
from operator import attrgetter
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
from uccurve.words.formats import coverage, short, told_apart, width_name

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


class ChartLine(NamedTuple):
    """One model: its name, its bars and what is said of it."""

    name: str
    bars: Sequence[Bar]
    said: str = ""
    kind: str = ""


class Chart(NamedTuple):
    """Lines over one axis, with its ticks, how many are shown at once, and marks across all of them."""

    lines: Sequence[ChartLine]
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
        left = self.place(min(start, end))
        right = self.place(max(start, end))
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
        first = ceil(self.low / step - 1e-9)
        last = floor(self.high / step + 1e-9)
        places = step * np.arange(first, last + 1)
        return [(self.place(place), form.format(place + 0.0)) for place in places.tolist()]


def decomposition(assessment: Assessment) -> Chart:
    """Waterfall of each model, best first: what predictions and bands save, and what scaling does."""
    ranking = assessment.ranking
    axis = Axis(0.0, axis_end(map(attrgetter("decomposition"), ranking[:WATERFALLS])))
    lines = [ChartLine(row.name, list(_steps(row, axis))) for row in ranking]
    return Chart(lines, axis.ticks(), WATERFALLS)


def _steps(row: ModelRow, axis: Axis) -> Iterator[Bar]:
    for step in waterfall(row.decomposition):
        yield axis.bar(step.start, step.end, step.kind, step.label)


def calibration(assessment: Assessment) -> Chart:
    """Coverage as delivered of each model, or of each of its levels, with its interval, and what was promised."""
    settings = assessment.settings
    promised = set() if settings.coverage is None else {settings.coverage}
    ends = {settings.shown_coverage}
    for row in assessment.rows:
        promised.update(map(attrgetter("level"), row.levels))
        for covered in row.levels or (row,):
            ends.update(span(covered.coverage))
    axis = _coverage_axis(list(filter(isfinite, ends | promised)))
    lines = [_covered(row, axis) for row in assessment.ranking]
    marks = [axis.place(100 * level) for level in sorted(promised)]
    return Chart(lines, axis.ticks("{:g}%"), DOTS, marks)


def _coverage_axis(ends: Sequence[float]) -> Axis:
    """Return the axis of some coverages, in percent, with a little room at both ends."""
    low = 100 * min(ends)
    high = 100 * max(ends)
    margin = 0.05 * (high - low) or 1.0
    return Axis(max(0.0, low - margin), min(100.0, high + margin))


def _covered(row: ModelRow, axis: Axis) -> ChartLine:
    """Coverages of one model, with what is said of those that break their promise."""
    bars = [_covered_bar(covered, axis) for covered in row.levels or (row,)]
    if not row.levels:
        return ChartLine(row.name, bars, promise_mark(row), bars[-1].kind)
    said = "; ".join(_broken_in_words(row.levels))
    kind = "broken" if said else bars[-1].kind
    return ChartLine(row.name, bars, said or "kept at all levels", kind)


def _broken_in_words(levels: Sequence[LevelRow]) -> Iterator[str]:
    for promise in BROKEN:
        named = [str(coverage(level.level)) for level in levels if level.promise == promise]
        if named:
            yield f"{promise} at {', '.join(named)}"


def _covered_bar(covered: ModelRow | LevelRow, axis: Axis) -> Bar:
    value, low, high = span(covered.coverage.times(100))
    return axis.bar(low, high, STATES[covered.promise].colour, dot=value)


class Bin(NamedTuple):
    """One bar of a histogram, in percent of the picture, with the band around its top and whether it leaves it."""

    left: float
    width: float
    height: float
    low: float
    high: float
    kind: str


def pit(assessment: Assessment) -> list[tuple[str, list[Bin]]]:
    """PIT histograms of the models that have several levels, best first, on one axis of densities."""
    shown = list(_histograms(assessment))[:DOTS]
    tallest = 1.2
    for _, histogram in shown:
        tallest = max(tallest, *map(float, histogram.density))
    axis = Axis(0.0, 1.05 * tallest)
    return [(name, list(_bins(histogram, axis))) for name, histogram in shown]


def _histograms(assessment: Assessment) -> Iterator[tuple[str, PIT]]:
    for row in assessment.ranking:
        if row.pit is not None:
            yield row.name, row.pit


def _bins(histogram: PIT, axis: Axis) -> Iterator[Bin]:
    unit = Axis(0.0, 1.0)
    for (left, right), density in zip(pairwise(histogram.edges), histogram.density, strict=True):
        band = density if density.has_interval else Estimate(density.value, 1.0, 1.0)
        inside = not density.has_interval or density.low <= density.value <= density.high
        yield Bin(
            left=unit.place(left),
            width=unit.place(right - left),
            height=axis.place(density.value),
            low=axis.place(band.low),
            high=axis.place(band.high),
            kind="" if inside else "broken",
        )


def explorer_data(assessment: Assessment) -> dict[str, Any]:
    """All that the curve explorer needs: curves, constant bands, and some rows of every model, best model first."""
    settings = assessment.settings
    ranking = assessment.ranking
    names = list(map(attrgetter("name"), ranking))
    curves = [shipped_curve(assessment, row) for row in ranking]
    with_constant = curves[:1] if assessment.comparable else curves
    constants = list(filter(None, map(constant_curve, with_constant)))
    most = int(np.clip(BUDGET / (len(curves) + FLAT * len(constants)), FEWEST, MOST))
    chosen = names.index(assessment.verdict.model)
    models = []
    for row, curve in zip(ranking, curves, strict=True):
        models.append(_model(curve, shipped_at(assessment, row), most))
    for key, labels in _names(names).items():
        for model, label in zip(models, labels, strict=True):
            model[key] = label
    return {
        "axes": list(settings.axes),
        "cost": settings.c,
        "coverage": settings.shown_coverage,
        "comparable": assessment.comparable,
        "chosen": chosen,
        "cut": _cut(assessment),
        "width": _width_in_words(assessment),
        "rows": ranking[0].n,
        "units": _units(curves[chosen], settings.unit),
        "models": models,
        "references": [curve_data(flat, int(FLAT * most)) for flat in constants],
    }


def _names(names: Sequence[str]) -> dict[str, list[str]]:
    """Names of the models: in tables, in a legend, and in one on a phone."""
    return {
        "name": list(map(short, names)),
        "label": told_apart(names, LABEL),
        "brief": told_apart(names, BRIEF),
    }


def _width_in_words(assessment: Assessment) -> str:
    """What the bandwidth is called: of bounds without a prediction it is how far they are shifted."""
    widths = [row.half_width.value for row in assessment.rows]
    return "shift" if all(map(isnan, widths)) else width_name(assessment.settings.side)


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
        values = getattr(intervals, name).ravel()[rows]
        data[name] = list(map(_finite, rounded(values)))
    return data


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
