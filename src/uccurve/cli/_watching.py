"""Watching: take the days of files into a state, say what rings, and write the factor of the next day."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, Self

import polars as pl

from uccurve._files import held, shown_path
from uccurve._refusals import as_written, prefixed
from uccurve._saved import (
    FLAG,
    SHARE,
    SIZE,
    TEXT,
    Growing,
    Kind,
    check,
    list_of,
    or_null,
    replace,
    sealed,
    unsealed,
)
from uccurve.adapters._names import Bounds, ModelColumns
from uccurve.calibrate.following import SHAPE as FOLLOWER
from uccurve.calibrate.following import FollowingCalibrator
from uccurve.intervals import Intervals
from uccurve.watch import Monitor
from uccurve.watch.days import ContestStep, Day, Label, Step, order_key, rarity
from uccurve.watch.saved import LABEL
from uccurve.watch.saved import SHAPE as MONITOR
from uccurve.words.formats import counted, coverage, listed, short

from ._calibrating import SavedCalibration, SavedModel
from ._days import DayRows, days_of, intervals_of, is_later, watched_level
from ._files import FileSource
from ._options import Request
from ._output import Outputs, output, say

COMMAND = "command"  # what the state holds beside the monitor
NAMES = list_of(TEXT, "a list of names")
LEVEL_COLUMNS = Growing(
    {"pred": TEXT, "median": FLAG, "lower": TEXT, "upper": TEXT, "level": or_null(SHARE)}
)
FOLLOWED = Growing(
    {
        "name": TEXT,
        "columns": LEVEL_COLUMNS,
        "now": FOLLOWER,
        "before": FOLLOWER,
        "last": LABEL,
        "factors": list_of(or_null(SIZE), "a list of finite numbers of at least 0, or null"),
    }
)
SHAPE = Growing(
    {
        **MONITOR.fields,
        COMMAND: Growing(
            {
                "day": or_null(TEXT),
                "by": list_of(NAMES, "a list of lists of names"),
                "followed": Kind("a list", lambda value: isinstance(value, list)),
            }
        ),
    }
)
DIGITS = 6  # of a factor that is kept
FLAGS = {"side": "--ring-for"}  # settings whose option is called otherwise
QUIET = ("ok", "learning")  # statuses of which groups are only counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person asks of a watch; None is what the state has, or what a new one has by default.

    Attributes
    ----------
    settings : mapping
        Of the `Monitor`, by name.
    day : str or None
        Column of the day.
    replace, acknowledge, follow : bool
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    day: str | None = None
    replace: bool = False
    acknowledge: bool = False
    follow: bool = False

    def new_monitor(self, known_coverage: float | None) -> Monitor:
        """Return a monitor as it was asked for, of the coverage that columns tell where nobody asked for one."""
        asked = {name: value for name, value in self.settings.items() if value is not None}
        if known_coverage is not None:
            asked.setdefault("coverage", known_coverage)
        if "coverage" not in asked:
            raise ValueError(
                "a new watch must know what was promised: the column names do not state a coverage. "
                "Hint: --coverage 90%."
            )
        return Monitor(**asked)

    def refuse_other(self, monitor: Monitor, label: str) -> None:
        """Refuse what the state was not made with."""
        for name, asked in self.settings.items():
            watched = monitor.settings[name]
            if asked is not None and asked != watched:
                flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
                raise ValueError(
                    f"{label} watches with {flag} {_setting(name, watched)}, not {_setting(name, asked)}. "
                    f"Hint: leave {flag} out, or begin another state."
                )


@dataclass(slots=True)
class Followed:
    """The factor of one model, which follows its days.

    Attributes
    ----------
    columns : ModelColumns
        Where its bounds are.
    now, before : FollowingCalibrator
        After the last day, and before it, so that the last day can be taken again.
    last : str, int or None
        The last day.
    factors : dict
        With which each day shipped.
    """

    columns: ModelColumns
    now: FollowingCalibrator
    before: FollowingCalibrator
    last: Label | None = None
    factors: dict[Label, float] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: ModelColumns, coverage: float) -> Self:
        """No days yet."""
        start = FollowingCalibrator(coverage=coverage)
        return cls(columns, now=start, before=start)

    @classmethod
    def read(cls, data: dict[str, Any], days: Sequence[Day]) -> Self:
        """Read what `to_dict` wrote of the same days."""
        factors: dict[Label, float] = {}
        for day, factor in zip(days, data["factors"], strict=True):
            if factor is not None:
                factors[day.label] = float(factor)
        place = data["columns"]
        level = None if place["level"] is None else as_written(place["level"])
        bounds = Bounds(place["lower"], place["upper"], level)
        return cls(
            ModelColumns(place["pred"], (bounds,), median=place["median"]),
            now=FollowingCalibrator.from_dict(data["now"]),
            before=FollowingCalibrator.from_dict(data["before"]),
            last=data["last"],
            factors=factors,
        )

    def to_dict(self, name: str, days: Sequence[Day]) -> dict[str, Any]:
        """Return it as JSON has it, with one factor for each day that the monitor keeps."""
        (bounds,) = self.columns.bounds
        level = None if bounds.level is None else float(bounds.level)
        return {
            "name": name,
            "columns": {
                "pred": self.columns.pred,
                "median": self.columns.median,
                "lower": bounds.lower,
                "upper": bounds.upper,
                "level": level,
            },
            "now": self.now.to_dict(),
            "before": self.before.to_dict(),
            "last": self.last,
            "factors": [self.factors.get(day.label) for day in days],
        }

    def factor_on(self, label: Label) -> float:
        """Return the factor with which a day shipped, or ships."""
        if label in self.factors:
            return self.factors[label]
        if self.last is None or not is_later(label, self.last):
            return 1.0
        return float(f"{self.now.factor:.{DIGITS}g}")

    def take(self, label: Label, intervals: Intervals) -> bool:
        """Move by a day, or by the late rows of the last one; False for earlier days, which move nothing any more."""
        is_new = self.last is None or is_later(label, self.last)
        if not is_new and label != self.last:
            return False
        self.factors[label] = self.factor_on(label)
        if is_new:
            self.before = self.now
        self.now = self.before.copy()
        self.now.update(intervals)
        self.last = label
        return True


@dataclass(slots=True)
class SavedWatch:
    """What is known of a watch: the monitor, how files are read, and the factors that follow."""

    monitor: Monitor
    day: str | None = None
    by: tuple[tuple[str, ...], ...] = ()
    followed: dict[str, Followed] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `text` wrote; anything else is refused."""
        try:
            data = unsealed(FileSource.of(str(path)).json_text(), SHAPE)
            monitor = Monitor.from_dict(data)
            followed: dict[str, Followed] = {}
            for place, part in enumerate(data[COMMAND]["followed"]):
                check(part, FOLLOWED, f"{COMMAND}.followed[{place}]")
                followed[part["name"]] = Followed.read(part, monitor.days(part["name"]))
        except (KeyError, TypeError, ValueError) as error:
            why = str(error).rstrip(".")
            raise ValueError(
                f"{shown_path(path)} must be the state of `uccurve watch`: {why}."
            ) from None
        by = tuple(tuple(names) for names in data[COMMAND]["by"])
        return cls(monitor, data[COMMAND]["day"], by, followed)

    def text(self) -> str:
        """Return it as JSON text."""
        command = {
            "day": self.day,
            "by": [[*names] for names in self.by],
            "followed": [
                part.to_dict(name, self.monitor.days(name)) for name, part in self.followed.items()
            ],
        }
        return f"{sealed({**self.monitor.to_dict(), COMMAND: command})}\n"

    @property
    def models(self) -> list[str]:
        """The models that are watched."""
        return [step.model for step in self.monitor.steps if step.group is None]

    @property
    def absent(self) -> list[str]:
        """Models that were watched before and are not in the last day."""
        steps = [step for step in self.monitor.steps if step.group is None]
        last = max((step.label for step in steps), key=order_key, default=None)
        return [step.model for step in steps if step.label != last]

    def shipped(self, name: str, label: Label, intervals: Intervals) -> Intervals:
        """Return the intervals of a model as they shipped on a day: with the factor that was followed then."""
        part = self.followed.get(name)
        return intervals if part is None else intervals.calibrated(scale=part.factor_on(label))

    def follow(self, rows: DayRows, models: Mapping[str, Intervals]) -> bool:
        """Move the factors by a day; False where it came too late to move them all."""
        moved: list[bool] = []
        for name, intervals in models.items():
            part = self.followed.get(name)
            if part is None:
                columns = watched_level(rows.models[name], self.monitor.coverage)
                part = Followed.of(columns, self.monitor.coverage)
                self.followed[name] = part
            moved.append(part.take(rows.label, intervals))
        return all(moved)

    def calibration(self, request: Request) -> SavedCalibration:
        """Return what `apply` takes on the next day."""
        models = [
            SavedModel(name, part.columns, (part.now.calibrator(),))
            for name, part in self.followed.items()
        ]
        floor = request.min_band if isinstance(request.min_band, float) else None
        return SavedCalibration(tuple(models), (), floor, request.sort_crossing, request.support)


@dataclass(slots=True)
class Taken:
    """What became of the days of the files."""

    new: list[Label] = field(default_factory=list)
    known: int = 0
    rows: int = 0
    waiting: int = 0  # rows without an observation
    unfollowed: list[Label] = field(default_factory=list)
    acknowledged: bool = False
    absent: list[str] = field(default_factory=list)  # models

    def say(self) -> None:
        """Say it, beside the output."""
        parts: list[str] = []
        if self.new:
            days = counted(len(self.new), "day")
            span = f"{self.new[0]}" if len(self.new) == 1 else f"{self.new[0]} to {self.new[-1]}"
            parts.append(f"taken: {span} ({days}, {counted(self.rows, 'row')})")
        if self.known:
            parts.append(f"known already: {counted(self.known, 'day')}")
        if self.waiting:
            parts.append(f"waiting for outcomes: {counted(self.waiting, 'row')}")
        if self.unfollowed:
            parts.append(
                f"late rows do not move the factor: {listed([*map(str, self.unfollowed)])}"
            )
        if self.absent:
            parts.append(f"not in the last day: {listed(self.absent)}")
        if self.acknowledged:
            parts.append("acknowledged: days are learnt from anew")
        say("; ".join(parts) or "no days were given")


def watch_files(
    state: Path, files: Sequence[str], request: Request, outputs: Outputs, wish: Wish
) -> bool:
    """Take the new days of files into the state, write what was asked for, and return whether it rings."""
    outputs.check(*files, str(state))
    title = shown_path(state)
    with held(state):
        before = SavedWatch.read(state) if state.exists() else None
        if before is None and not files:
            raise FileNotFoundError(
                f"{title} does not exist yet. Hint: give files with outcomes to begin it."
            )
        watch, taken = _with_days(before, title, files, request, wish)
        if wish.acknowledge:
            watch.monitor.acknowledge()
            taken.acknowledged = True
        if wish.follow and not watch.followed:
            raise ValueError("--follow learns from outcomes: give a file with a new day.")
        replace(state, watch.text())
    taken.absent = watch.absent
    taken.say()
    _write(watch, taken, request, outputs)
    return watch.monitor.status == "ringing"


# ---- the state


def _with_days(
    before: SavedWatch | None, title: str, files: Sequence[str], request: Request, wish: Wish
) -> tuple[SavedWatch, Taken]:
    """Return the watch with the days of the files, and what became of them."""
    if before is not None:
        wish.refuse_other(before.monitor, title)
    by = _groups_to_watch(before, request, title)
    column = wish.day
    if column is None and before is not None:
        column = before.day
    days = days_of(files, request, column, [*dict.fromkeys(chain.from_iterable(by))])
    watch = before or SavedWatch(wish.new_monitor(days.coverage), wish.day, by)
    taken = Taken(waiting=days.waiting)
    for rows in days.rows:
        _take(rows, watch, request, wish, taken)
    return watch, taken


def _take(rows: DayRows, watch: SavedWatch, request: Request, wish: Wish, taken: Taken) -> None:
    """Take a day, unless it was taken from the same rows."""
    monitor = watch.monitor
    models = intervals_of(rows, request, monitor.coverage)
    shipped: dict[str, Intervals] = {}
    for name, intervals in models.items():
        if wish.follow and not intervals.has_prediction:
            raise ValueError(
                f"--follow moves a factor on bands, and {short(name)} of {rows.title} has no prediction to measure "
                "its bound from: only a shift can move it. Hint: leave --follow out."
            )
        shipped[name] = watch.shipped(name, rows.label, intervals)
    known = monitor.has_taken(rows.label)
    if known and (monitor.holds(rows.label, shipped) or not _is_kept(monitor, rows.label)):
        taken.known += 1
        return
    watched = watch.models
    others = [name for name in models if name not in watched]
    if known and others:
        raise ValueError(
            f"{rows.label} was taken without {listed(others)} of {rows.title}: {listed(watched)} is watched. "
            "Hint: a new model begins with a new day; --model NAME=PRED,LOWER,UPPER names it."
        )
    if known and not wish.replace:
        raise ValueError(
            f"{rows.label} was taken from other rows than the {len(rows.frame):,} of {rows.title}; each day is taken "
            "once. Hint: for late rows give all rows of the day with --replace."
        )
    by = {", ".join(names): _group_labels(rows.frame, names) for names in watch.by}
    try:
        monitor.update(rows.label, shipped, by=by, replace=wish.replace)
    except (TypeError, ValueError) as error:
        raise prefixed(f"{rows.title}: ", error) from None
    taken.new.append(rows.label)
    taken.rows += len(rows.frame)
    if (wish.follow or watch.followed) and not watch.follow(rows, models):
        taken.unfollowed.append(rows.label)


def _group_labels(frame: pl.DataFrame, names: Sequence[str]) -> list[Any]:
    """Return one label per row."""
    texts = [pl.col(name).cast(pl.String).fill_null("none") for name in names]
    return frame.select(pl.concat_str(texts, separator=", ")).to_series().to_list()


def _groups_to_watch(
    watch: SavedWatch | None, request: Request, title: str
) -> tuple[tuple[str, ...], ...]:
    """Return the columns of groups: those of the state, or those that were asked for at first."""
    asked = tuple(request.by or ())
    if watch is None or not asked or asked == watch.by:
        return asked or (() if watch is None else watch.by)
    by = listed([", ".join(names) for names in watch.by]) if watch.by else "no groups"
    other = listed([", ".join(names) for names in asked])
    raise ValueError(f"{title} watches {by}, not {other}. Hint: begin another state.")


def _is_kept(monitor: Monitor, label: Label) -> bool:
    """Whether a day that was taken is still kept by itself."""
    kept = monitor.days(monitor.steps[0].model)
    return not is_later(kept[0].label, label)


def _setting(name: str, value: Any) -> str:
    """Return a setting as a person writes it."""
    if value is None:
        return "its default"
    return str(coverage(value)) if name == "coverage" else str(value)


# ---- what is written


def _write(watch: SavedWatch, taken: Taken, request: Request, outputs: Outputs) -> None:
    """Print one line per model, and write what was asked for."""
    monitor = watch.monitor
    outputs.write("--json", lambda: _json(watch, taken))
    outputs.write("--markdown", lambda: markdown(monitor))
    if outputs.paths["--report"] is not None:
        from uccurve.report.history import page

        outputs.write("--report", lambda: page(monitor))
    outputs.write("--out", lambda: f"{watch.calibration(request).to_json()}\n")
    if not outputs.streams:
        stream = output()
        for line in lines(watch):
            stream.write(f"{line}\n")


def lines(watch: SavedWatch) -> Iterator[str]:
    """Yield one line per model fit for a chat; of groups only those that need somebody."""
    steps = watch.monitor.steps
    if not steps:
        yield "learning: no outcomes yet"
    quiet = 0
    for step in steps:
        if step.group is not None and step.status in QUIET:
            quiet += 1
            continue
        yield f"{step}{_next(watch, step)}"
    if quiet:
        yield f"{counted(quiet, 'group')} ok or learning"
    if watch.monitor.contest is not None:
        yield str(watch.monitor.contest)


def _next(watch: SavedWatch, step: Step) -> str:
    """Return the factor of the next day, where it is followed."""
    part = watch.followed.get(step.model)
    if part is None or step.group is not None:
        return ""
    return f"; next factor × {part.now.factor:.3f}"


def markdown(monitor: Monitor) -> str:
    """Return the last day as a table for a pull request or a job's summary."""
    rings = "Ringing" if monitor.status == "ringing" else "Not ringing"
    head = [
        f"**{rings}**: intervals of {coverage(monitor.coverage)}",
        "",
        "| model | status | coverage | since | factor | by chance once in |",
        "|---|---|---:|---|---:|---:|",
    ]
    rows = [_markdown_row(step) for step in monitor.steps]
    contest = monitor.contest
    tail = [] if contest is None else ["", _escaped(str(contest))]
    return "\n".join([*head, *rows, *tail, ""])


def _markdown_row(step: Step) -> str:
    rings = step.status == "ringing"
    covered = step.since_coverage if rings else step.coverage
    since = f"{step.since} ({counted(step.since_days, 'day')})" if rings else f"on {step.label}"
    asks = isfinite(step.factor) and not step.is_over
    factor = f"× {step.factor:.2f}" if asks else "–"
    chance = f"{rarity(step.strongest if rings else step.evidence)} days"
    cells = [step.name, step.status, f"{100 * covered:.1f}%", since, factor, chance]
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _json(watch: SavedWatch, taken: Taken) -> str:
    """Return all numbers of the last day."""
    monitor = watch.monitor
    contest = monitor.contest
    data = {
        "kind": "uccurve.watch",
        "schema": 1,
        "status": monitor.status,
        "since": monitor.since,
        "taken": taken.new,
        "known": taken.known,
        "waiting": taken.waiting,
        "settings": monitor.settings,
        "steps": [_plain(step) for step in monitor.steps],
        "contest": None if contest is None else _plain(contest),
        "factors": {name: part.now.factor for name, part in watch.followed.items()},
    }
    return f"{json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)}\n"


def _plain(step: Step | ContestStep) -> dict[str, Any]:
    """Return a step as JSON has it, null for what is unknown."""
    fields = asdict(step)
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in fields.items()
    }
