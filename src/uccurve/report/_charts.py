"""Charts: pictures that need no script, as positions in percent of a track."""

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

from uccurve.plots._waterfall import axis_end, waterfall
from uccurve.results import Assessment, ModelRow
from uccurve.words.formats import coverage, share

WATERFALLS, DOTS = 8, 12  # models that are shown at once


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


def decomposition(found: Assessment) -> Chart:
    """Waterfall of each model, best first: what predictions and bands save, what the wrong scale costs."""
    axis, lines = Axis(0.0, axis_end(row.decomposition for row in found.ranking[:WATERFALLS])), []
    for row in found.ranking:
        steps = waterfall(row.decomposition)
        lines.append(
            Line(
                row.name, [axis.bar(step.start, step.end, step.kind, step.label) for step in steps]
            )
        )
    return Chart(lines, axis.ticks(), WATERFALLS)


def calibration(found: Assessment) -> Chart:
    """Coverage as delivered of each model, or of each of its levels, with its interval, and what was promised."""
    asked, shown = (
        found.settings.coverage,
        [one for row in found.rows for one in row.levels or (row,)],
    )
    promised = {level.level for row in found.rows for level in row.levels} | (
        {asked} if asked is not None else set()
    )
    ends = [end for one in shown for end in (one.coverage, one.coverage_low, one.coverage_high)]
    values = [
        100 * end for end in (*ends, *promised, found.settings.shown_coverage) if isfinite(end)
    ]
    room = 0.05 * (max(values) - min(values)) or 1.0
    axis = Axis(max(0.0, min(values) - room), min(100.0, max(values) + room))
    lines = [_covered(row, axis) for row in found.ranking]
    return Chart(
        lines, axis.ticks("{:g}%"), DOTS, [axis.place(100 * level) for level in sorted(promised)]
    )


def _covered(row: ModelRow, axis: Axis) -> Line:
    """Coverages of one model, with what is said of those that break their promise."""
    bars, off = [], dict[str, list[str]]()
    for one in row.levels or (row,):
        kind = {"kept": "good", None: ""}.get(one.promise, "bad")
        low, high = (
            end if isfinite(end) else one.coverage for end in (one.coverage_low, one.coverage_high)
        )
        bars.append(axis.bar(100 * low, 100 * high, kind, dot=100 * one.coverage))
        if kind == "bad":
            off.setdefault(str(one.promise), []).append(str(coverage(one.level)))
    kind = "bad" if off else bars[-1].kind
    if not row.levels:
        return Line(
            row.name,
            bars,
            f"{share(row.coverage)}{f', {row.promise}' if row.promise else ''}",
            kind,
        )
    said = "; ".join(f"{promise} at {', '.join(levels)}" for promise, levels in off.items())
    return Line(row.name, bars, said or "kept at all levels", kind)


def pit(found: Assessment) -> list[tuple[str, list[dict[str, Any]]]]:
    """PIT histograms of the models that have several levels, best first, on one axis of densities.

    Each bar has its place, the band around its top, and whether it leaves it, in percent of the picture.
    """
    shown = [(row.name, row.pit) for row in found.ranking if row.pit is not None][:DOTS]
    unit, axis = (
        Axis(0.0, 1.0),
        Axis(0.0, 1.05 * max((max(*one.density, 1.2) for _, one in shown), default=1.0)),
    )
    drawn = []
    for name, one in shown:
        bins = []
        for i, density in enumerate(one.density):
            low, high = (end if isfinite(end) else 1.0 for end in (one.low[i], one.high[i]))
            places = {
                "left": unit.place(one.edges[i]),
                "width": unit.place(one.edges[i + 1] - one.edges[i]),
            }
            places |= {
                "height": axis.place(density),
                "low": axis.place(low),
                "high": axis.place(high),
            }
            inside = low <= density <= high or not isfinite(one.low[i])
            bins.append({**places, "kind": "" if inside else "bad"})
        drawn.append((name, bins))
    return drawn
