"""Streamed and in memory: every number of the two assessments of the same rows, held together.

A number that is streamed equals that of memory, lies with it in one bracket, or is null with a reason. Factors lie in
the bin of the exact one. Ends of confidence intervals are those of memory but for the bracket of their number and a
share of their length; what depends on the factor that ships is known up to what one bin may move it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf, isclose, log
from typing import Any

import numpy as np

from uccurve.sketch._bins import bins

BIN = 1 + 1 / 16
"""Largest ratio of two numbers in one bin."""
ONLY_ROWS = ("decomposition.climatology", "decomposition.prediction")
"""What no bin tells."""
OF_ALL_LEVELS = ("crps", "crps_skill", "areas", "gains", "concentration", "partial_gain", "cost")
"""What only the rows tell of a curve through several levels; a note says so."""
AT_THE_FACTOR = ("half_width", "score", "skill", "at_most", "shipped_pvalue", "short")
"""What of a segment depends on the factor that ships; null where that of memory is."""
ENDS_OF_WEIGHTED = 0.2
"""Share of an interval's length where rows have weights: the sparsity of a stream rests on their effective number in
general (Kish), that of memory on those around the factor (Korn and Graubard)."""
FEW, MANY = 10, 200
"""Rows from which bins tell a standard error roughly, and to a few percent: of fewer rows, those that share a bin with
the factor matter too much, and three scales do not stand for all."""
SCALE = re.compile(r"(levels\.\d+\.)?scale\.(value|low|high)")


def flat(value: Any, name: str = "") -> dict[str, Any]:
    """Numbers and texts of nested dicts and lists, by their path."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {
            path: one
            for key, part in items
            for path, one in flat(part, f"{name}.{key}" if name else str(key)).items()
        }
    return {name: value}


class DisagreementError(AssertionError):
    """Both numbers, and what was allowed."""


@dataclass(frozen=True)
class Room:
    """How far numbers may differ beyond their brackets.

    `ends` is a share of a confidence interval's length for its ends, `factor` the largest ratio of numbers in a bin.
    Of dependent or weighted rows the ranks around a factor rest on the share that is missed there, so they may differ
    by a few rows, which may lie far apart in a tail: `ranks` says whether they are the same, `many` whether there are
    enough rows for all ends.
    """

    ends: float = 0.05
    factor: float = BIN
    ranks: bool = True
    many: bool = True


def agree(streamed: dict[str, Any], exact: dict[str, Any], room: Room | None = None) -> None:
    """Fail unless two assessments as plain data agree."""
    room = room or Room()
    weighted = any("weights" in note for note in exact["notes"])
    rows = min(row["n"] for row in exact["models"].values())
    ranks = room.ranks and exact["settings"]["block"] is None and not weighted
    ends = max(room.ends, ENDS_OF_WEIGHTED) if weighted else room.ends
    room = replace(room, ends=ends, ranks=ranks, many=rows >= MANY)
    assert streamed.keys() == exact.keys()
    assert streamed["models"].keys() == exact["models"].keys()
    for name, row in streamed["models"].items():
        agree_on_row(name, row, exact["models"][name], streamed["brackets"][name], room)
    for part, other in zip(streamed["segments"], exact["segments"], strict=True):
        agree_on_segment(part, other, room)
    for key in ("comparisons", "wis_comparisons"):
        for pair, other in zip(streamed[key], exact[key], strict=True):
            agree_on_pair(pair, other, streamed["brackets"], room)
    asked = flat(streamed["settings"])
    for path, value in flat(exact["settings"]).items():
        if path not in ("seed", "block"):
            equal(f"settings.{path}", asked[path], value)


def equal(path: str, value: Any, other: Any, slack: float = 0.0) -> None:
    """Fail unless two values are equal, numbers up to rounding and some slack."""
    if isinstance(value, int | float) and isinstance(other, int | float):
        if isclose(value, other, rel_tol=1e-9, abs_tol=max(slack, 1e-13)):
            return
    elif value == other:
        return
    message = f"{path}: {value!r} streamed, {other!r} in memory (slack {slack:.3g})"
    raise DisagreementError(message)


def in_bracket(path: str, known: list[float], *numbers: float) -> None:
    """Fail unless all numbers lie in a bracket, up to rounding."""
    low, high = (-inf if known[0] is None else known[0]), (inf if known[1] is None else known[1])
    rounding = 1e-9 * max(abs(low), abs(high))
    for number in numbers:
        if not low - rounding <= number <= high + rounding:
            raise DisagreementError(f"{path}: {number!r} is not in [{low!r}, {high!r}]")


def in_one_bin(path: str, value: float | None, other: float | None, room: Room) -> None:
    """Fail unless a factor that is interpolated lies in the bin of the exact one."""
    if value is None or other is None:
        equal(path, value, other)
    elif room.factor == BIN and not np.array_equal(
        bins(np.array([value])), bins(np.array([other]))
    ):
        raise DisagreementError(
            f"{path}: {value!r} streamed and {other!r} in memory, in other bins"
        )


def around(path: str, value: Any, other: Any, room: Room) -> None:
    """Fail unless the end of an interval lies outside the exact one, by a bin at most."""
    if value is None or other is None:
        if room.ranks:
            equal(path, value, other)
        return
    if not room.ranks:
        return
    small, large = sorted((value, other))
    outside = value >= other * (1 - 1e-12)
    if path.endswith("low"):
        outside = value <= other * (1 + 1e-12)
    near = small == 0 or large / small <= room.factor * (1 + 1e-9)
    if not (outside and near):
        raise DisagreementError(f"{path}: {value!r} streamed, {other!r} in memory")


def agree_on_row(
    name: str, row: dict[str, Any], exact: dict[str, Any], brackets: dict[str, Any], room: Room
) -> None:
    """One model: every number of its row."""
    numbers = flat(row)
    others = flat(exact)
    for path in numbers.keys() ^ others.keys():
        assert path.startswith(("partial_gain", "cost")), path
    numbers = dict.fromkeys(others) | numbers
    own_levels = [level["level"] for level in exact["levels"]]
    only_rows = [*ONLY_ROWS]
    if len(own_levels) > 1:
        only_rows += OF_ALL_LEVELS
    elif exact["level"] not in (None, *own_levels):
        only_rows += ["cost"]  # of the curve whose scale 1 is another interval
    for path, other in others.items():
        where = f"{name}.{path}"
        value = numbers[path]
        if path in only_rows or path.partition(".")[0] in only_rows:
            equal(where, value or None, None)
        elif path == "concentration":  # an upper end
            assert value >= other or value == 0, where
        elif SCALE.fullmatch(path):
            (in_one_bin if path.endswith("value") else around)(where, value, other, room)
        elif path not in ("rank", "pvalue", "cost.cheapest_at"):  # which follow from the others
            agree_on_number(where, (numbers, others), path, brackets, room)


def agree_on_number(
    where: str,
    rows: tuple[dict[str, Any], dict[str, Any]],
    path: str,
    brackets: dict[str, Any],
    room: Room,
) -> None:
    """A number of a row, or an end of its interval."""
    numbers, others = rows
    value, other = numbers[path], others[path]
    base, _, end = path.rpartition(".")
    if end in ("low", "high"):
        known = brackets.get(base.replace(".", "_"))
        if known is not None and others["n"] < MANY:
            agree_roughly(where, numbers, others, base, others["n"])
        else:
            agree_on_end(where, value, other, known, (_length(others, base), room))
        return
    known = brackets.get(path.removesuffix(".value").replace(".", "_"))
    if known is None or value is None or other is None:
        equal(where, value, other)
    else:
        in_bracket(where, known, value, other)


def _length(numbers: dict[str, Any], base: str) -> float:
    ends = numbers[f"{base}.low"], numbers[f"{base}.high"]
    return 0.0 if None in ends else float(ends[1] - ends[0])


def agree_roughly(
    path: str, numbers: dict[str, Any], others: dict[str, Any], base: str, rows: int
) -> None:
    """Of few rows an interval is there if it is in memory, and of similar length on the logarithm."""
    ends = [(each[f"{base}.low"], each[f"{base}.high"]) for each in (numbers, others)]
    if None in ends[0]:  # what bins hide may leave no unit with a miss, or nothing above 0
        return
    assert None not in ends[1] or "excess_deficit" in base, (path, ends)
    if rows < FEW or None in ends[1] or base == "best_score" or any(low <= 0 for low, _ in ends):
        return
    reaches = [log(high) - log(low) for low, high in ends]
    assert max(reaches) <= 1.5 * min(reaches) + 0.15, (path, ends)


def agree_on_end(
    path: str, value: Any, other: Any, known: list[float] | None, slack: tuple[float, Room]
) -> None:
    """An end of a confidence interval: that of memory, but for what bins hide."""
    length, room = slack
    if known is not None and None in known:
        known = None  # unbounded
        length = length or 1.0
    if "partial_gain" in path:
        equal(path, value, None)
    elif "excess_deficit" in path and None in (value, other):
        return  # asymmetric bands have none in a stream, levels none in memory
    elif value is None or other is None:
        equal(path, value, other)
    elif ".half_width." in path and ".levels." not in path:
        if not room.ranks:
            return
        assert max(value, other) <= min(value, other) * room.factor**2, (path, value, other)
    elif known is None:
        equal(
            path, value, other, 1e-6 * (length + abs(other))
        )  # the spread is the root of a difference
    else:
        share = 3 * room.ends if "crps_skill" in path else room.ends  # of two standard errors
        equal(path, value, other, 2.5 * (known[1] - known[0]) + share * length)


def agree_on_segment(part: dict[str, Any], exact: dict[str, Any], room: Room) -> None:
    """One model on one segment: what does not depend on the factor is equal."""
    where = f"{part['model']} on {part['feature']} {part['label']}"
    numbers = flat(part)
    for path, other in flat(exact).items():
        value = numbers[path]
        if path == "scale.value":
            in_one_bin(f"{where}.{path}", value, other, room)
        elif path.startswith("shipped_coverage") or path in AT_THE_FACTOR:
            assert not room.many or (value is None) == (other is None), (where, path, value, other)
        elif path == "pvalue" and value is not None and other is not None:
            equal(f"{where}.{path}", value, other, 1e-6 * other)
        else:
            equal(f"{where}.{path}", value, other)


def agree_on_pair(
    pair: dict[str, Any], exact: dict[str, Any], brackets: dict[str, Any], room: Room
) -> None:
    """Two models; a test counts only as much of the difference as brackets cannot hide."""
    where = f"{pair['first']} against {pair['second']}"
    for path in ("first", "second", "statistic"):
        assert pair[path] == exact[path]
    known = [
        brackets[name].get(pair["statistic"], (0.0, 0.0))
        for name in (pair["first"], pair["second"])
    ]
    hidden = sum(inf if high is None else high - low for low, high in known)
    assert (exact["pvalue"] is None) == (pair["pvalue"] is None), (where, pair, exact)
    difference = exact["difference"]
    length = 0.0 if difference["low"] is None else difference["high"] - difference["low"]
    rounding = 1e-9 * abs(difference["value"] or 0.0)
    for end in ("value", "low", "high"):
        slack = rounding + (hidden if end == "value" else 1.5 * hidden + room.ends * length)
        if end == "value" or difference[end] is None or room.many:
            equal(f"{where}.{end}", pair["difference"][end], difference[end], slack)
    if exact["pvalue"] and pair["pvalue"] and room.many and not hidden:
        apart = abs(log(pair["pvalue"]) - log(exact["pvalue"]))
        assert apart <= 0.1 * (1 - log(exact["pvalue"])), where
