"""Formats: numbers as people read them in tables and sentences, and the phrases that several sentences share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite, isnan, log10, nan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uccurve.results import ModelRow, Segment

DASH = "-"  # what stands where there is nothing to show


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table shows of one value: its text and, apart, its confidence interval.

    >>> print(Cell("686", "[660, 712]"))
    686 [660, 712]
    """

    text: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.interval}" if self.interval else self.text


Format = Callable[..., Cell]  # a value, and the ends of its interval where it has one, as a cell


def number(value: float, low: float = nan, high: float = nan) -> Cell:
    """Three significant digits, or more where the interval is narrower than that; at most six.

    >>> print(number(686.2, 659.8, 712.4), number(0.98765, 0.98701, 0.98829), number(12345.6), number(1.2e-7), sep="; ")
    686 [660, 712]; 0.9877 [0.9870, 0.9883]; 12,346; 1.2e-07
    """
    return _cell(_written(value, low, high), value, low, high)


def alike(*values: float) -> list[str]:
    """Numbers of one sum, with the decimals of the largest.

    >>> alike(3900.0, 1900.4, 12.2)
    ['3,900', '1,900', '12']
    """
    written = _written(max(values, key=abs), nan, nan)
    return [written(value) for value in values]


def factor(value: float, low: float = nan, high: float = nan) -> Cell:
    """What bands are multiplied by, with two decimals; three significant digits where those would say nothing.

    >>> print(factor(0.966), factor(0.00123), factor(inf), sep="; ")
    x 0.97; x 0.00123; none
    """
    if not isfinite(value):
        return Cell(DASH if isnan(value) else "none")
    usual = value == 0 or 0.095 <= value < 1e4
    cell = _cell(_decimals(2) if usual else _written(value, low, high), value, low, high)
    return Cell(f"x {cell.text}", cell.interval)


def amount(value: float, low: float = nan, high: float = nan) -> Cell:
    """What is added to bands, with its sign.

    >>> print(amount(0.3517), amount(-12.0))
    +0.352 -12.0
    """
    cell = number(value, low, high)
    return Cell(f"+{cell.text}", cell.interval) if value > 0 else cell


def share(value: float, low: float = nan, high: float = nan) -> Cell:
    """Share of rows in percent; only all of them are 100%, and only none are 0%.

    >>> print(share(0.904, 0.891, 0.916), share(0.9987), share(0.99999), share(1.0), sep="; ")
    90.4% [89.1, 91.6]; 99.87%; >99.99%; 100%
    """
    if value in (0, 1):
        return _cell(_percent(0 if isnan(low + high) else 1), value, low, high, "%")
    cell = _cell(_percent(1 if 0.01 <= value <= 0.99 else 2), value, low, high, "%")
    return Cell({"0.00%": "<0.01%", "100.00%": ">99.99%"}.get(cell.text, cell.text), cell.interval)


def percent(value: float, low: float = nan, high: float = nan) -> Cell:
    """A gain or a skill in percent.

    >>> print(percent(0.573, 0.551, 0.594), percent(-0.0001), sep="; ")
    57.3% [55.1, 59.4]; 0.0%
    """
    return _cell(_percent(1), value, low, high, "%")


def pvalue(value: float) -> Cell:
    """Two significant digits.

    >>> print(pvalue(0.0312), pvalue(0.41), pvalue(0.0004), pvalue(0.999))
    0.031 0.41 <0.001 1
    """
    return Cell(DASH if isnan(value) else "<0.001" if value < 0.001 else f"{value:.2g}")


def count(value: int | None) -> Cell:
    """How many.

    >>> print(count(12345))
    12,345
    """
    return Cell(DASH if value is None else f"{value:,}")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number and what it counts.

    >>> counted(1, "row"), counted(2000, "row has", "rows have")
    ('1 row', '2,000 rows have')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def p(value: float) -> str:
    """Return a p-value as part of a sentence.

    >>> p(0.03), p(1e-9), p(nan)
    ('p = 0.03', 'p < 0.001', 'not tested')
    """
    text = pvalue(value).text
    return "not tested" if isnan(value) else f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def is_reachable(one: ModelRow | Segment) -> bool:
    """Whether some factor, or shift, brings the rows to the target."""
    return isfinite(one.half_width) and (isfinite(one.scale) or isfinite(one.shift))


def change(one: ModelRow | Segment) -> str:
    """Return what is done to the bands: a factor, or by how much they are widened or narrowed."""
    if not is_reachable(one):
        return "as delivered" if isnan(one.scale) else "x 1.00"
    if isnan(one.scale):
        return f"{'narrowed' if one.shift < 0 else 'widened'} by {number(abs(one.shift))}"
    return str(factor(one.scale))


def fixed(row: ModelRow, segments: Sequence[Segment]) -> Iterator[str]:
    """Return how many failing segments the factor for all rows fixes; nothing where it fixes none."""
    failing = [one.short for one in segments if one.model == row.name and one.fails]
    left, total = sum(failing), len(failing)
    if left < total:
        which = f"{total - left} of the {total}" if left else {1: "the", 2: "both"}.get(total, f"all {total}")
        yield f"Bands {change(row)} fix {which} failing segment{'s' if total > 1 else ''} of {short(row.name)}."


def axes_in_words(axes: Sequence[str]) -> str:
    """Return the axes of a curve, y first.

    >>> axes_in_words(("bandwidth", "miss_rate"))
    'miss rate vs. bandwidth'
    """
    return " vs. ".join(axes[::-1]).replace("_", " ")


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Names as a short list.

    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(short(name) for name in names[:limit]) + more


def coverage(value: float | None) -> Cell:
    """A coverage that was asked for, with all its digits.

    >>> print(coverage(0.9), coverage(0.999), coverage(0.29))
    90% 99.9% 29%
    """
    return Cell(DASH if value is None else f"{100 * value:g}%")


def words(value: object) -> Cell:
    """Text that fits into a table.

    >>> print(words("kept"), words(None))
    kept -
    """
    return Cell(DASH if value is None else short(str(value)))


def short(name: str, width: int = 40) -> str:
    r"""Return a name on one line of printable characters, its middle left out where it is long.

    >>> short("model_" + "x" * 90 + "_v2"), short("two\nlines\x1b[31m")
    ('model_xxxxxxxxxxxxx...xxxxxxxxxxxxxxx_v2', 'two lines�[31m')
    """
    head = name if len(name) <= 4 * width else f"{name[:width]}{name[-width:]}"
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(head.split()))
    cut = len(line) > width or len(head) < len(name)
    return f"{line[: width // 2 - 1]}...{line[-(width - width // 2 - 2) :]}" if cut else line


def _cell(written: Callable[[float], str], value: float, low: float, high: float, sign: str = "") -> Cell:
    if isnan(value):
        return Cell(DASH)
    text = f"{written(value)}{sign}" if isfinite(value) else written(value)
    return Cell(text, "" if isnan(low) or isnan(high) else f"[{written(low)}, {written(high)}]")


def _written(value: float, low: float, high: float) -> Callable[[float], str]:
    """How to write a value and the ends of its interval: with the same decimals, or with an exponent."""
    half = (high - low) / 2
    known = 0 < half < inf
    size = _size(max(abs(value), half) if known else value)
    digits = max(3, min(6, size + 1 - _size(half))) if known else 3
    if not -4 <= size < 7:
        return lambda x: f"{x:.{digits}g}"
    return _decimals(max(0, digits - 1 - size))


def _size(value: float) -> int:
    """Power of ten of the first digit; that of 1 where there is none."""
    return floor(log10(abs(value))) if isfinite(value) and value else 0


def _decimals(decimals: int) -> Callable[[float], str]:
    return lambda x: f"{round(x, decimals) + 0.0:,.{decimals}f}"


def _percent(decimals: int) -> Callable[[float], str]:
    fixed = _decimals(decimals)
    return lambda x: f"{100 * x:.3g}" if 1e4 <= abs(x) < inf else fixed(100 * x)
