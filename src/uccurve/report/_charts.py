"""Charts: pictures that need no script, as positions in percent of a track."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, NamedTuple

from uccurve.compare._formats import coverage, number, share
from uccurve.plots._waterfall import axis_end, waterfall

if TYPE_CHECKING:
    from uccurve.compare.calibration import PIT, LevelRow
    from uccurve.compare.results import Assessment, ModelRow

WATERFALLS, DOTS = 8, 12
"""Models that are shown at once."""
Bin = dict[str, float | str]
"""A bar of a histogram and the band around its top, in percent of the picture."""


class Bar(NamedTuple):
    """A bar or an interval between two places, in percent; `tag` is what stands beside it, `dot` its estimate."""

    left: float
    width: float
    kind: str
    tag: str = ""
    dot: float | None = None

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.left + self.width


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

    def bar(self, start: float, end: float, kind: str, tag: str = "", dot: float | None = None) -> Bar:
        """Return a bar between two values."""
        left, right = sorted((self.place(start), self.place(end)))
        cut = " cut" if max(start, end) > self.high else ""
        return Bar(left, round(right - left, 3), f"{kind}{cut}", tag, None if dot is None else self.place(dot))

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


def decomposition(found: Assessment) -> Chart:
    """Waterfall of each model, best first: what predictions and bands save, what the wrong scale costs."""
    axis = Axis(0.0, axis_end(row.decomposition for row in found.ranking[:WATERFALLS]))
    lines = [Line(row.name, _bars(row, axis)) for row in found.ranking]
    return Chart(lines, axis.ticks(), WATERFALLS)


def _bars(row: ModelRow, axis: Axis) -> list[Bar]:
    steps = waterfall(row.decomposition)
    return [axis.bar(step.start, step.end, step.kind, f"{step.name} {number(step.size)}") for step in steps]


def calibration(found: Assessment) -> Chart:
    """Coverage as delivered of each model, or of each of its levels, with its interval, and what was promised."""
    asked, shown = found.settings.coverage, [one for row in found.rows for one in _delivered(row)]
    promised = {level.level for row in found.rows for level in row.levels} | ({asked} if asked is not None else set())
    ends = [end for one in shown for end in (one.coverage, one.coverage_low, one.coverage_high)]
    values = [100 * end for end in (*ends, *promised, found.settings.shown_coverage) if isfinite(end)]
    room = 0.05 * (max(values) - min(values)) or 1.0
    axis = Axis(max(0.0, min(values) - room), min(100.0, max(values) + room))
    lines = [_covered(row, axis) for row in found.ranking]
    return Chart(lines, axis.ticks("{:g}%"), DOTS, [axis.place(100 * level) for level in sorted(promised)])


def _delivered(row: ModelRow) -> Sequence[ModelRow | LevelRow]:
    return row.levels or (row,)


def _covered(row: ModelRow, axis: Axis) -> Line:
    bars = [_span(one, axis) for one in _delivered(row)]
    kind = "bad" if any(bar.kind.startswith("bad") for bar in bars) else bars[-1].kind
    if not row.levels:
        return Line(row.name, bars, f"{share(row.coverage)}{f', {row.promise}' if row.promise else ''}", kind)
    off: dict[str, list[str]] = {}
    for one in row.levels:
        if one.promise not in ("kept", None):
            off.setdefault(str(one.promise), []).append(str(coverage(one.level)))
    said = "; ".join(f"{promise} at {', '.join(levels)}" for promise, levels in off.items())
    return Line(row.name, bars, said or "kept at all levels", kind)


def _span(one: ModelRow | LevelRow, axis: Axis) -> Bar:
    kind = {"kept": "good", None: ""}.get(one.promise, "bad")
    low, high = (end if isfinite(end) else one.coverage for end in (one.coverage_low, one.coverage_high))
    return axis.bar(100 * low, 100 * high, kind, dot=100 * one.coverage)


def pit(found: Assessment) -> list[tuple[str, list[Bin]]]:
    """PIT histograms of the models that have several levels, best first, on one axis of densities."""
    shown = [(row.name, row.pit) for row in found.ranking if row.pit is not None][:DOTS]
    axis = Axis(0.0, 1.05 * max((max(*one.density, 1.2) for _, one in shown), default=1.0))
    return [(name, [_bin(one, i, axis) for i in range(len(one.density))]) for name, one in shown]


def _bin(one: PIT, i: int, axis: Axis) -> Bin:
    """Return where a bar of a histogram lies, the band around its top, and whether it leaves it."""
    low, high = (end if isfinite(end) else 1.0 for end in (one.low[i], one.high[i]))
    unit = Axis(0.0, 1.0)
    places = {"left": unit.place(one.edges[i]), "width": unit.place(one.edges[i + 1] - one.edges[i])}
    places |= {"height": axis.place(one.density[i]), "low": axis.place(low), "high": axis.place(high)}
    inside = low <= one.density[i] <= high or not isfinite(one.low[i])
    return {**places, "kind": "" if inside else "bad"}
