"""History: what a monitor has seen, day by day, as one page without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from math import floor, isfinite, log10, nan
from typing import Any

from uccurve.watch import Monitor
from uccurve.watch.days import Day, Step
from uccurve.words.formats import coverage, short

WIDTH, HEIGHT = 720, 150  # of a drawing, in its own units
LEFT, TOP, BOTTOM = 52, 8, 18  # room for the ticks and the days
SHOWN = 60  # days of a table
LOWEST_EVIDENCE = 0.1
HIGHEST_EVIDENCE = 1e9
LONG_POWER = 6  # from which a power of ten is not written out
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(slots=True)
class DailyChart:
    """A drawing of one number per day.

    Attributes
    ----------
    lines : list of text
        Points of each unbroken piece of the line.
    bars : list of tuple
        A vertical bar per day: x, y of its top and of its bottom.
    rules : list of tuple
        Horizontal lines: y, and what they mean.
    ticks : list of tuple
        y, and the number there.
    alarms : list of tuple
        x and width of the days on which it rang.
    """

    title: str
    lines: list[str] = field(default_factory=list)
    bars: list[tuple[float, float, float]] = field(default_factory=list)
    rules: list[tuple[float, str]] = field(default_factory=list)
    ticks: list[tuple[float, str]] = field(default_factory=list)
    alarms: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scale:
    """Where days and numbers are in a drawing."""

    low: float
    high: float
    days: int

    @classmethod
    def around(cls, values: Sequence[float], days: int) -> Scale:
        """Return a scale that shows all finite values."""
        known = [value for value in values if isfinite(value)]
        low, high = min(known), max(known)
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        return cls(low - margin, high + margin, days)

    def x(self, day: float) -> float:
        """Return where a day is."""
        step = (WIDTH - LEFT) / max(self.days, 1)
        return round(LEFT + step * (day + 0.5), 1)

    def y(self, value: float) -> float:
        """Return where a number is."""
        share = (value - self.low) / (self.high - self.low)
        inside = min(max(share, 0.0), 1.0)
        return round(HEIGHT - BOTTOM - inside * (HEIGHT - BOTTOM - TOP), 1)

    def pieces(self, values: Sequence[float]) -> list[str]:
        """Return the points of a line, broken where a value is not known."""
        pieces: list[list[str]] = [[]]
        for day, value in enumerate(values):
            if isfinite(value):
                pieces[-1].append(f"{self.x(day)},{self.y(value)}")
            elif pieces[-1]:
                pieces.append([])
        return [" ".join(points) for points in pieces if points]

    def ticks(self, write: Any) -> list[tuple[float, str]]:
        """Return round numbers with their places."""
        span = self.high - self.low
        step = 10.0 ** floor(log10(span))
        for smaller in (0.5, 0.5, 0.4):
            if span / step < 3:
                step *= smaller
        first = int(self.low // step) + 1
        places: list[tuple[float, str]] = []
        for number in range(first, first + 12):
            value = number * step
            if value <= self.high:
                places.append((self.y(value), write(value)))
        return places


def page(monitor: Monitor, *, title: str | None = None) -> str:
    """Return the history of a monitor: coverage per day with its interval, evidence, factor, skill and alarms.

    It is one file without scripts, and it needs no network.

    Examples
    --------
    >>> monitor = Monitor(coverage=0.9)
    >>> for day in range(1, 25):
    ...     step = monitor.update(day, (1000, 90 + day))
    >>> "Content-Security-Policy" in page(monitor, title="Bounds of demand")
    True
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(f'reports need {error.name}: pip install "uccurve[report]"') from None
    environment = Environment(
        loader=PackageLoader("uccurve.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": short, "coverage": coverage}
    text = environment.get_template("history.html").render(
        policy=POLICY,
        title=title or f"Watched intervals of {coverage(monitor.coverage)}",
        monitor=monitor,
        series=[_series(monitor, step) for step in monitor.steps],
        contest=monitor.contest_history()[-SHOWN:],
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        version=version("uccurve"),
    )
    return text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates


def _series(monitor: Monitor, last: Step) -> dict[str, Any]:
    """Return what the page shows of one model or group."""
    steps = monitor.history(last.model, last.group)
    days = monitor.days(last.model, last.group)
    charts = [_coverage(monitor, steps), _evidence(monitor, steps), _move(steps), _skill(days)]
    drawn = [chart for chart in charts if chart is not None]
    for chart in drawn:
        chart.alarms = _alarms(steps)
    return {
        "name": last.name,
        "line": str(last),
        "rings": last.status == "ringing",
        "charts": drawn,
        "first": steps[0].label,
        "last": last.label,
        "rows": [*zip(steps, days, strict=True)][-SHOWN:][::-1],
    }


def _coverage(monitor: Monitor, steps: Sequence[Step]) -> DailyChart:
    values = [step.coverage for step in steps]
    ends = [end for step in steps for end in (step.low, step.high)]
    scale = Scale.around([*ends, monitor.coverage], len(steps))
    chart = DailyChart("Coverage per day, with the 95% interval of that day by itself")
    chart.lines = scale.pieces(values)
    chart.ticks = scale.ticks(_percent)
    chart.rules = [(scale.y(monitor.coverage), f"promised {coverage(monitor.coverage)}")]
    for day, step in enumerate(steps):
        chart.bars.append((scale.x(day), scale.y(step.high), scale.y(step.low)))
    return chart


def _evidence(monitor: Monitor, steps: Sequence[Step]) -> DailyChart:
    values = [_log_of(step.evidence) for step in steps]
    limit = _log_of(monitor.false_alarm_every)
    scale = Scale.around([*values, limit, 0.0], len(steps))
    chart = DailyChart("Evidence: so strong by chance once in that many days (log scale)")
    chart.lines = scale.pieces(values)
    chart.rules = [(scale.y(limit), f"rings at {monitor.false_alarm_every:,.0f}")]
    for power in range(10):
        if scale.low <= power <= scale.high:
            text = f"{10**power:,}" if power < LONG_POWER else f"1e{power}"
            chart.ticks.append((scale.y(power), text))
    return chart


def _log_of(evidence: float) -> float:
    return log10(min(max(evidence, LOWEST_EVIDENCE), HIGHEST_EVIDENCE))


def _move(steps: Sequence[Step]) -> DailyChart | None:
    """Return the factors, or the shifts of a bound that has no prediction."""
    if any(isfinite(step.shift) for step in steps):
        name, values, unchanged = "Shift", [step.shift for step in steps], 0.0
    else:
        name, values, unchanged = "Factor", [step.factor for step in steps], 1.0
    if not any(map(isfinite, values)):
        return None
    scale = Scale.around([*values, unchanged], len(steps))
    chart = DailyChart(f"{name} that would have kept the promise (while it rings, since then)")
    chart.lines = scale.pieces(values)
    chart.ticks = scale.ticks(_number)
    chart.rules = [(scale.y(unchanged), "unchanged")]
    return chart


def _skill(days: Sequence[Day]) -> DailyChart | None:
    values = [day.skill for day in days]
    if not any(map(isfinite, values)):
        return None
    scale = Scale.around([*values, 0.0], len(days))
    chart = DailyChart(
        "Skill of the bands per day (share of a constant band's potential CRPS that is saved)"
    )
    chart.lines = scale.pieces(values)
    chart.ticks = scale.ticks(_percent)
    chart.rules = [(scale.y(0.0), "constant band")]
    return chart


def _alarms(steps: Sequence[Step]) -> list[tuple[float, float]]:
    """Return where it rang, as spans of days."""
    scale = Scale(0.0, 1.0, len(steps))
    step_width = (WIDTH - LEFT) / max(len(steps), 1)
    spans: list[tuple[float, float]] = []
    start = nan
    for day, step in enumerate([*steps, None]):
        rings = step is not None and step.status == "ringing"
        if rings and not isfinite(start):
            start = scale.x(day) - step_width / 2
        if not rings and isfinite(start):
            spans.append((round(start, 1), round(scale.x(day) - step_width / 2 - start, 1)))
            start = nan
    return spans


def _percent(value: float) -> str:
    return f"{100 * value:.4g}%"


def _number(value: float) -> str:
    return f"{value:.4g}"
