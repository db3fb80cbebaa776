"""History: what a monitor has seen, day by day, as one page without scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain, groupby
from math import floor, isfinite, log10

from uccurve.view import DARK, LIGHT
from uccurve.watch import Monitor
from uccurve.watch.days import ContestStep, Day, Label, Status, Step, rarity
from uccurve.words.formats import coverage, short

WIDTH = 460  # of a drawing, in its own units
HEIGHT = 160
LEFT = 56  # room for the ticks
TOP = 8
BOTTOM = 20  # room for the days
WIDEST_BAR = 3.0
SHOWN = 60  # days of a table
LOWEST_EVIDENCE = 0.1
HIGHEST_EVIDENCE = 1e9
POWERS = {0: "1", 3: "1,000", 6: "million", 9: "billion"}  # of ten, with their ticks
QUIET = ("ok", "learning")  # statuses of which groups are folded
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
    rule : float
        y of the dashed line, which the title explains.
    ticks : list of tuple
        y, and the number there.
    alarms : list of tuple
        x and width of the days on which it rang.
    bar_width : float
    """

    title: str
    lines: list[str] = field(default_factory=list)
    bars: list[tuple[float, float, float]] = field(default_factory=list)
    rule: float = 0.0
    ticks: list[tuple[float, str]] = field(default_factory=list)
    alarms: list[tuple[float, float]] = field(default_factory=list)
    bar_width: float = WIDEST_BAR


@dataclass(frozen=True, slots=True)
class Section:
    """What the page shows of one model or group, or of a challenger."""

    name: str
    line: str
    status: Status
    is_folded: bool
    charts: list[DailyChart]
    labels: list[Label]
    rows: list[tuple[Step, Day]] = field(default_factory=list)

    @property
    def rings(self) -> bool:
        """Whether it rings."""
        return self.status == "ringing"

    @property
    def ticks(self) -> list[tuple[float, str, Label]]:
        """The first, the middle and the last day: x, how text is anchored there, and what it is called."""
        last = len(self.labels) - 1
        middle = last // 2
        ticks: list[tuple[float, str, Label]] = [(LEFT, "start", self.labels[0])]
        if last >= 2:
            x = Scale(0.0, 1.0, len(self.labels)).x(middle)
            ticks.append((x, "middle", self.labels[middle]))
        if last >= 1:
            ticks.append((WIDTH, "end", self.labels[last]))
        return ticks


@dataclass(frozen=True, slots=True)
class Scale:
    """Where days and numbers are in a drawing."""

    low: float
    high: float
    days: int

    @classmethod
    def around(cls, values: Sequence[float], days: int) -> Scale:
        """Return a scale that shows all finite values."""
        known = [*filter(isfinite, values)]
        low = min(known)
        high = max(known)
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        return cls(low - margin, high + margin, days)

    @property
    def step(self) -> float:
        """Room for a day."""
        return (WIDTH - LEFT) / max(self.days, 1)

    def x(self, day: float) -> float:
        """Return where a day is."""
        return round(LEFT + self.step * (day + 0.5), 1)

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

    def ticks(self, write: Callable[[float], str]) -> list[tuple[float, str]]:
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
    environment.filters |= {"short": short, "coverage": coverage, "rarity": rarity}
    sections = [_series(monitor, step) for step in monitor.steps]
    if monitor.contest is not None:
        sections.append(_contest(monitor.contest_history()))
    text = environment.get_template("history.html").render(
        policy=POLICY,
        light=LIGHT,
        dark=DARK,
        title=title or f"Watched intervals of {coverage(monitor.coverage)}",
        monitor=monitor,
        sections=sections,
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        bottom=BOTTOM,
        version=version("uccurve"),
    )
    return text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates


def _series(monitor: Monitor, last: Step) -> Section:
    """Return what the page shows of one model or group."""
    steps = monitor.history(last.model, last.group)
    days = monitor.days(last.model, last.group)
    skills = [day.skill for day in days]
    skill = "Skill: share of a constant band's potential CRPS saved; dashed: none"
    charts = [_coverage(monitor, steps), _evidence(monitor, steps)]
    charts += _moves(steps)
    charts += _charts_of(skill, skills, 0.0, _percent)
    return Section(
        name=last.name,
        line=str(last),
        status=last.status,
        is_folded=last.group is not None and last.status in QUIET,
        charts=_with_alarms(charts, [step.status for step in steps]),
        labels=[step.label for step in steps],
        rows=[*zip(steps, days, strict=True)][-SHOWN:][::-1],
    )


def _contest(steps: Sequence[ContestStep]) -> Section:
    """Return what the page shows of a challenger."""
    last = steps[-1]
    names = f"{short(last.champion)} minus that of {short(last.challenger)}"
    differences = [step.difference for step in steps]
    charts = _charts_of(f"Daily score of {names}; dashed: equal", differences, 0.0, _number)
    return Section(
        name=f"{last.champion} and its challenger {last.challenger}",
        line=str(last),
        status=last.status,
        is_folded=False,
        charts=_with_alarms(charts, [step.status for step in steps]),
        labels=[step.label for step in steps],
    )


def _coverage(monitor: Monitor, steps: Sequence[Step]) -> DailyChart:
    ends = [*chain.from_iterable((step.low, step.high) for step in steps)]
    scale = Scale.around([*ends, monitor.coverage], len(steps))
    promised = coverage(monitor.coverage)
    chart = DailyChart(f"Coverage of each day with its 95% interval; dashed: {promised} promised")
    chart.lines = scale.pieces([step.coverage for step in steps])
    chart.ticks = scale.ticks(_percent)
    chart.rule = scale.y(monitor.coverage)
    chart.bar_width = round(min(WIDEST_BAR, 0.7 * scale.step), 1)
    for day, step in enumerate(steps):
        chart.bars.append((scale.x(day), scale.y(step.high), scale.y(step.low)))
    return chart


def _evidence(monitor: Monitor, steps: Sequence[Step]) -> DailyChart:
    values = [_log_of(step.evidence) for step in steps]
    limit = _log_of(monitor.false_alarm_every)
    scale = Scale.around([*values, limit, 0.0], len(steps))
    often = f"{monitor.false_alarm_every:,.0f}"
    chart = DailyChart(f"Evidence: by chance once in so many days; dashed: it rings, at {often}")
    chart.lines = scale.pieces(values)
    chart.rule = scale.y(limit)
    for power, text in POWERS.items():
        if scale.low <= power <= scale.high:
            chart.ticks.append((scale.y(power), text))
    return chart


def _log_of(evidence: float) -> float:
    return log10(min(max(evidence, LOWEST_EVIDENCE), HIGHEST_EVIDENCE))


def _moves(steps: Sequence[Step]) -> list[DailyChart]:
    """Return the factors, or the shifts of a bound that has no prediction."""
    title = "{} that would have kept the promise; dashed: unchanged"
    shifts = [step.shift for step in steps]
    if any(map(isfinite, shifts)):
        return _charts_of(title.format("Shift"), shifts, 0.0, _number)
    factors = [step.factor for step in steps]
    return _charts_of(title.format("Factor"), factors, 1.0, _number)


def _charts_of(
    title: str, values: Sequence[float], dashed: float, write: Callable[[float], str]
) -> list[DailyChart]:
    """Return a line through values with a dashed line; nothing where no value is known."""
    if not any(map(isfinite, values)):
        return []
    scale = Scale.around([*values, dashed], len(values))
    chart = DailyChart(title)
    chart.lines = scale.pieces(values)
    chart.ticks = scale.ticks(write)
    chart.rule = scale.y(dashed)
    return [chart]


def _with_alarms(charts: list[DailyChart], statuses: Sequence[Status]) -> list[DailyChart]:
    """Return charts with the days marked on which it rang."""
    for chart in charts:
        chart.alarms = _alarms(statuses)
    return charts


def _alarms(statuses: Sequence[Status]) -> list[tuple[float, float]]:
    """Return where it rang, as spans of days."""
    step = Scale(0.0, 1.0, len(statuses)).step
    spans: list[tuple[float, float]] = []
    day = 0
    for status, group in groupby(statuses):
        days = len([*group])
        if status == "ringing":
            spans.append((round(LEFT + step * day, 1), round(step * days, 1)))
        day += days
    return spans


def _percent(value: float) -> str:
    return f"{100 * value + 0.0:.4g}%"


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}"
