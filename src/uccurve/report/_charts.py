"""Charts: pictures that need no script, as positions in percent of a track."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

from uccurve.compare._formats import number, share, short
from uccurve.plots._waterfall import axis_end, waterfall

from ._grids import hover

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, ModelRow


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar or an interval between two places, in percent; `dot` is its estimate, `tag` what stands beside it."""

    left: float
    width: float
    kind: str
    tag: str = ""
    dot: float | None = None

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.left + self.width


@dataclass(frozen=True, slots=True)
class Line:
    """One model: its name, its bars and what is said of it."""

    name: str
    hover: str
    colour: int | None
    bars: Sequence[Bar]
    said: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over one axis, with its ticks, and a mark across all lines."""

    caption: str
    lines: Sequence[Line]
    ticks: Sequence[tuple[float, str]]
    mark: float | None = None


class Axis:
    """Places between two ends, in percent, and round numbers to write under them."""

    def __init__(self, values: Iterable[float], *, low: float | None = None, high: float | None = None) -> None:
        finite = [value for value in values if isfinite(value)]
        self.low = low if low is not None else min(finite, default=0.0)
        self.high = high if high is not None else max(finite, default=1.0)
        if not self.high > self.low:
            self.high = self.low + 1.0

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

        >>> Axis([0.0, 9.3]).ticks()
        [(0.0, '0'), (21.505, '2'), (43.011, '4'), (64.516, '6'), (86.022, '8')]
        """
        step = _round_step((self.high - self.low) / 5)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [(self.place(i * step), form.format(i * step + 0.0)) for i in range(first, last + 1)]


def _round_step(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, near to a step."""
    power = 10.0 ** floor(log10(step))
    return power * min((1, 2, 5, 10), key=lambda factor: abs(log10(step / (factor * power))))


def decomposition(found: Assessment, colours: Mapping[str, int]) -> Chart:
    """Waterfall of each model, best first: what predictions and bands save, what the wrong scale costs."""
    steps = {row.name: waterfall(row.decomposition) for row in found.ranking}
    axis = Axis((), low=0.0, high=axis_end(row.decomposition for row in found.rows))
    lines = [
        _line(
            row,
            colours,
            [axis.bar(step.start, step.end, step.kind, f"{step.name} {number(step.size)}") for step in steps[row.name]],
        )
        for row in found.ranking
    ]
    return Chart("", lines, axis.ticks())


def calibration(found: Assessment, colours: Mapping[str, int]) -> Chart:
    """Coverage as delivered of each model with its interval, and the coverage asked for."""
    asked = found.settings.coverage
    ends = [end for row in found.rows for end in (row.coverage, row.coverage_low, row.coverage_high)]
    values = [100 * end for end in (*ends, found.settings.shown_coverage)]
    finite = [value for value in values if isfinite(value)]
    room = 0.05 * (max(finite) - min(finite)) or 1.0
    axis = Axis(values, low=max(0.0, min(finite) - room), high=min(100.0, max(finite) + room))
    lines = [_covered(row, axis, colours) for row in found.ranking]
    return Chart("", lines, axis.ticks("{:g}%"), None if asked is None else axis.place(100 * asked))


def _covered(row: ModelRow, axis: Axis, colours: Mapping[str, int]) -> Line:
    kind = {"kept": "good", None: ""}.get(row.promise, "bad")
    low, high = (end if isfinite(end) else row.coverage for end in (row.coverage_low, row.coverage_high))
    bar = axis.bar(100 * low, 100 * high, kind, dot=100 * row.coverage)
    return _line(row, colours, [bar], f"{share(row.coverage)}{f', {row.promise}' if row.promise else ''}", kind)


def _line(row: ModelRow, colours: Mapping[str, int], bars: Sequence[Bar], said: str = "", kind: str = "") -> Line:
    name = short(row.name)
    return Line(name, hover(row.name, name), colours.get(row.name), bars, said, kind)
