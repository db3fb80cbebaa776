"""Saved: a monitor as JSON, which is read back by the checked reader or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from uccurve._saved import (
    COUNT,
    NUMBER,
    POSITIVE,
    PROPORTION,
    SHARE,
    SIZE,
    TEXT,
    WHOLE,
    Growing,
    Kind,
    OrNull,
    among,
    check,
    exactly,
    list_of,
    or_null,
    version,
)

from .days import TAILS, Day, Difference, Label, is_before
from .evidence import DifferenceEvidence, PromiseEvidence, Scatter, Seasons, Starts
from .series import Alarm, Contest, ContestJudgement, Judgement, Memory, Series, Tally, Watch

KIND = "uccurve.Monitor"
SCHEMA = 1
Name = tuple[str, str | None]  # of a model, and of a group

LABEL = Kind("a label", lambda value: type(value) in (str, int))
LABELS = list_of(LABEL, "a list of text or of integers")
COUNTS = list_of(COUNT, "a list of integers of at least 1")
WHOLES = list_of(WHOLE, "a list of integers of at least 0")
SIZES = list_of(SIZE, "a list of finite numbers of at least 0")
POSITIVES = list_of(POSITIVE, "a list of finite numbers above 0")
SHARES = list_of(SHARE, "a list of numbers from 0 to 1")
NUMBERS = list_of(NUMBER, "a list of finite numbers")
GAPPED = list_of(or_null(NUMBER), "a list of finite numbers or null")
TAIL = Kind("tails", lambda value: value is None or _are_tails(value))
WATCH = Growing(
    {
        "coverage": PROPORTION,
        "false_alarm_every": SIZE,
        "side": among("both", "narrow", "wide"),
        "tolerance": or_null(SIZE),
        "calibrated_on": or_null(COUNT),
        "period": or_null(COUNT),
        "challenger": or_null(TEXT),
    }
)
STARTS = Growing({"total": SIZES, "product": SIZES, "start": WHOLES, "days": WHOLE})
SCATTER = Growing({"squares": SIZES, "days": WHOLE, "rows": SIZE})
SEASONS = Growing({"counts": WHOLES, "sums": SIZES})
SIGN = Kind("-1, 0 or 1", lambda value: type(value) is int and abs(value) <= 1)
ALARM = Growing({"label": LABEL, "since": LABEL, "evidence": SIZE, "sign": SIGN})
MEMORY = Growing({"days": WHOLES, "labels": LABELS, "level": SIZE, "alarm": OrNull(ALARM)})
TALLY = Growing(dict.fromkeys(Tally.__dataclass_fields__, SIZE))
JUDGEMENT = Growing(
    {
        "starts": STARTS,
        "scatter": SCATTER,
        "seasons": SEASONS,
        "sizes": POSITIVES,
        "tally": TALLY,
        "memory": MEMORY,
    }
)
CONTEST_JUDGEMENT = Growing({"starts": STARTS, "scatter": SCATTER, "memory": MEMORY})
COLUMNS = Growing(
    {
        "label": LABELS,
        "rows": COUNTS,
        "missed": SHARES,
        "effective": POSITIVES,
        "vary": list_of(among("scale", "shift"), "a list of scale or shift"),
        "tails": list_of(
            TAIL, f"a list of null or of {len(TAILS)} ascending numbers, null where infinite"
        ),
        "score": GAPPED,
        "half_width": GAPPED,
        "skill": GAPPED,
        "watched": COUNTS,
    }
)
CONTEST_COLUMNS = Growing({"label": LABELS, "difference": NUMBERS, "watched": COUNTS})
TRACK = {"acknowledged": LABELS, "forgotten": or_null(LABEL)}
SERIES = Growing(
    {
        "model": TEXT,
        "group": or_null(TEXT),
        "base": JUDGEMENT,
        "now": JUDGEMENT,
        "days": COLUMNS,
        **TRACK,
    }
)
CONTEST = Growing(
    {"base": CONTEST_JUDGEMENT, "now": CONTEST_JUDGEMENT, "days": CONTEST_COLUMNS, **TRACK}
)
SHAPE = Growing(
    {
        "kind": exactly(KIND),
        "schema": version(SCHEMA),
        "watch": WATCH,
        "series": Kind("a list", lambda value: isinstance(value, list)),
        "contest": OrNull(CONTEST),
    }
)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a monitor is made of."""

    watch: Watch
    series: dict[Name, Series]
    contest: Contest


def state(restored: Restored) -> dict[str, Any]:
    """Return what JSON holds of a monitor."""
    challenged = restored.watch.challenger is not None
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "watch": asdict(restored.watch),
        "series": [_series(name, series) for name, series in restored.series.items()],
        "contest": _contest(restored.contest) if challenged else None,
    }


def restore(data: dict[str, Any]) -> Restored:
    """Return what `state` wrote; its outline was checked by `SHAPE`."""
    watch = Watch(**{name: data["watch"][name] for name in Watch.__dataclass_fields__})
    series: dict[Name, Series] = {}
    for place, part in enumerate(data["series"]):
        where = f"series[{place}]"
        check(part, SERIES, where)
        name = (part["model"], part["group"])
        if name in series:
            raise ValueError(f"`{where}` must be of another model or group than those before")
        series[name] = _read_series(part, watch, where)
    contest = Contest.of(ContestJudgement.of(watch))
    if data["contest"] is not None:
        contest = _read_contest(data["contest"], watch)
    return Restored(watch, series, contest)


def _series(name: Name, series: Series) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {column: [] for column in COLUMNS.fields}
    for day in series.days:
        columns["label"].append(day.label)
        columns["rows"].append(day.rows)
        columns["missed"].append(day.missed)
        columns["effective"].append(day.effective)
        columns["vary"].append(day.vary)
        columns["tails"].append([_finite(tail) for tail in day.tails] or None)
        columns["score"].append(_finite(day.score))
        columns["half_width"].append(_finite(day.half_width))
        columns["skill"].append(_finite(day.skill))
        columns["watched"].append(day.watched)
    return {
        "model": name[0],
        "group": name[1],
        "acknowledged": series.acknowledged,
        "forgotten": series.forgotten,
        "base": _judgement(series.base),
        "now": _judgement(series.now),
        "days": columns,
    }


def _contest(contest: Contest) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {column: [] for column in CONTEST_COLUMNS.fields}
    for day in contest.days:
        columns["label"].append(day.label)
        columns["difference"].append(day.difference)
        columns["watched"].append(day.watched)
    return {
        "acknowledged": contest.acknowledged,
        "forgotten": contest.forgotten,
        "base": _contest_judgement(contest.base),
        "now": _contest_judgement(contest.now),
        "days": columns,
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    evidence = judgement.evidence
    return {
        "starts": _starts(evidence.starts),
        "scatter": _scatter(evidence.scatter),
        "seasons": {
            "counts": evidence.seasons.counts.tolist(),
            "sums": evidence.seasons.sums.tolist(),
        },
        "sizes": [*evidence.sizes],
        "tally": asdict(judgement.tally),
        "memory": _memory(judgement.memory),
    }


def _contest_judgement(judgement: ContestJudgement) -> dict[str, Any]:
    return {
        "starts": _starts(judgement.evidence.starts),
        "scatter": _scatter(judgement.evidence.scatter),
        "memory": _memory(judgement.memory),
    }


def _starts(starts: Starts) -> dict[str, Any]:
    return {
        "total": starts.total.tolist(),
        "product": starts.product.tolist(),
        "start": starts.start.tolist(),
        "days": starts.days,
    }


def _scatter(scatter: Scatter) -> dict[str, Any]:
    squares = np.atleast_1d(scatter.squares).tolist()
    return {"squares": squares, "days": scatter.days, "rows": scatter.rows}


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "days": [*memory.starts],
        "labels": [*memory.starts.values()],
        "level": memory.level,
        "alarm": None if memory.alarm is None else asdict(memory.alarm),
    }


def _read_series(part: dict[str, Any], watch: Watch, where: str) -> Series:
    start = Judgement.of(watch)
    return Series(
        base=_read_judgement(part["base"], start, f"{where}.base"),
        now=_read_judgement(part["now"], start, f"{where}.now"),
        days=_days(part["days"], f"{where}.days"),
        acknowledged=part["acknowledged"],
        forgotten=part["forgotten"],
    )


def _read_contest(part: dict[str, Any], watch: Watch) -> Contest:
    columns = part["days"]
    _refuse_lengths(columns, CONTEST_COLUMNS, "contest.days")
    _refuse_disorder(columns["label"], "contest.days")
    start = ContestJudgement.of(watch)
    days = [
        Difference(label, float(difference), watched)
        for label, difference, watched in zip(
            *(columns[name] for name in CONTEST_COLUMNS.fields), strict=True
        )
    ]
    return Contest(
        base=_read_contest_judgement(part["base"], start, "contest.base"),
        now=_read_contest_judgement(part["now"], start, "contest.now"),
        days=days,
        acknowledged=part["acknowledged"],
        forgotten=part["forgotten"],
    )


def _read_judgement(data: dict[str, Any], start: Judgement, where: str) -> Judgement:
    empty = start.evidence
    _refuse_places(data["seasons"], len(empty.seasons.counts), where)
    seasons = Seasons(
        np.array(data["seasons"]["counts"], np.intp),
        np.array(data["seasons"]["sums"], np.float64),
    )
    evidence = PromiseEvidence(
        empty.promise,
        starts=_read_starts(data["starts"], empty.starts, where),
        scatter=_read_scatter(data["scatter"], empty.scatter, where),
        seasons=seasons,
        sizes=tuple(map(float, data["sizes"])),
    )
    tally = Tally(**{name: data["tally"][name] for name in Tally.__dataclass_fields__})
    return replace(
        start, evidence=evidence, tally=tally, memory=_read_memory(data["memory"], where)
    )


def _read_contest_judgement(
    data: dict[str, Any], start: ContestJudgement, where: str
) -> ContestJudgement:
    evidence = DifferenceEvidence(
        starts=_read_starts(data["starts"], start.evidence.starts, where),
        scatter=_read_scatter(data["scatter"], start.evidence.scatter, where),
    )
    return replace(start, evidence=evidence, memory=_read_memory(data["memory"], where))


def _read_starts(data: dict[str, Any], empty: Starts, where: str) -> Starts:
    for name in ("total", "product", "start"):
        _refuse_length(data[name], len(empty.total), f"{where}.starts", name)
    if max(data["start"]) > data["days"]:
        raise ValueError(f"in `{where}.starts`, `start` must be no day after `days`")
    return Starts(
        np.array(data["total"], np.float64),
        np.array(data["product"], np.float64),
        np.array(data["start"], np.intp),
        data["days"],
    )


def _read_scatter(data: dict[str, Any], empty: Scatter, where: str) -> Scatter:
    _refuse_length(data["squares"], max(empty.squares.size, 1), f"{where}.scatter", "squares")
    squares = np.array(data["squares"], np.float64).reshape(empty.squares.shape)
    return Scatter(squares, data["days"], float(data["rows"]))


def _read_memory(data: dict[str, Any], where: str) -> Memory:
    _refuse_length(data["labels"], len(data["days"]), f"{where}.memory", "labels")
    starts = dict(zip(data["days"], data["labels"], strict=True))
    alarm = data["alarm"]
    if alarm is not None:
        alarm = Alarm(alarm["label"], alarm["since"], float(alarm["evidence"]), alarm["sign"])
    return Memory(starts, float(data["level"]), alarm)


def _days(columns: dict[str, list[Any]], where: str) -> list[Day]:
    _refuse_lengths(columns, COLUMNS, where)
    _refuse_disorder(columns["label"], where)
    return [_day(columns, place) for place in range(len(columns["label"]))]


def _day(columns: dict[str, list[Any]], place: int) -> Day:
    tails = columns["tails"][place] or []
    return Day(
        label=columns["label"][place],
        rows=columns["rows"][place],
        missed=float(columns["missed"][place]),
        effective=float(columns["effective"][place]),
        vary=columns["vary"][place],
        tails=tuple(_or(tail, inf) for tail in tails),
        score=_or(columns["score"][place], nan),
        half_width=_or(columns["half_width"][place], nan),
        skill=_or(columns["skill"][place], nan),
        watched=columns["watched"][place],
    )


def _refuse_lengths(columns: dict[str, Any], shape: Growing, where: str) -> None:
    if len({len(columns[name]) for name in shape.fields}) > 1:
        raise ValueError(f"the lists of `{where}` must have one length")


def _refuse_length(values: Sequence[Any], length: int, where: str, name: str) -> None:
    if len(values) != length:
        raise ValueError(f"in `{where}`, `{name}` must have {length} entries; it has {len(values)}")


def _refuse_places(seasons: dict[str, Any], places: int, where: str) -> None:
    for name in ("counts", "sums"):
        _refuse_length(seasons[name], places, f"{where}.seasons", name)


def _refuse_disorder(labels: Sequence[Label], where: str) -> None:
    for earlier, later in pairwise(labels):
        if not is_before(earlier, later):
            raise ValueError(f"in `{where}`, `label` must be in order")


def _are_tails(value: Any) -> bool:
    """Whether a value is a list of as many ascending numbers as there are tails, null at the end where infinite."""
    if not isinstance(value, list) or len(value) != len(TAILS):
        return False
    known = [tail for tail in value if tail is not None]
    rest = value[len(known) :]
    return all(map(NUMBER.holds, known)) and known == sorted(known) and rest == [None] * len(rest)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _or(value: float | None, other: float) -> float:
    return other if value is None else float(value)
