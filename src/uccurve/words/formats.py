"""Formats: numbers, names and what is done to bands, as people read them in tables and sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite, isnan, log10, nan

from uccurve._vocabulary import Side
from uccurve.points import Estimate, Move

UNCHANGED = "unchanged"
DASH = "–"  # what stands where there is nothing to show
DIGITS = 6  # digits that a number shows at most
SPELLED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WIDE = ("W", "F")  # East Asian widths of signs that take two columns of a terminal
RIGHT_TO_LEFT = (
    "R",
    "AL",
    "AN",
)  # directions of signs that would turn the numbers beside them around
# What keeps the direction of a name to itself; signs without a width.
ISOLATE, END_OF_ISOLATE = ISOLATES = "\u2068", "\u2069"


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
Writer = Callable[[float], str]


def number(value: float, low: float = nan, high: float = nan) -> Cell:
    """Three significant digits, or more where the interval is narrower than that; at most six.

    >>> print(
    ...     number(686.2, 659.8, 712.4),
    ...     number(0.98765, 0.98701, 0.98829),
    ...     number(12345.6),
    ...     number(1.2e-7),
    ...     sep="; ",
    ... )
    686 [660, 712]; 0.9877 [0.9870, 0.9883]; 12,346; 1.2e-07
    """
    return _cell(_writer(value, low, high), value, low, high)


def alike(*values: float) -> list[str]:
    """Numbers of one sum, with the decimals of the largest.

    >>> alike(3900.0, 1900.4, 12.2)
    ['3,900', '1,900', '12']
    """
    write = _writer(max(values, key=abs), nan, nan)
    return [write(value) for value in values]


def factor(value: float, low: float = nan, high: float = nan) -> Cell:
    """What bands are multiplied by, with two decimals; three significant digits where those would say nothing.

    >>> print(factor(0.966), factor(0.00123), factor(inf), sep="; ")
    × 0.97; × 0.00123; none
    """
    if isnan(value):
        return Cell(DASH)
    if not isfinite(value):
        return Cell("none")
    is_usual = value == 0 or 0.095 <= value < 1e4
    write = _decimals(2) if is_usual else _writer(value, low, high)
    cell = _cell(write, value, low, high)
    return Cell(f"× {cell.text}", cell.interval)


def amount(value: float, low: float = nan, high: float = nan) -> Cell:
    """What is added to bands, with its sign.

    >>> print(amount(0.3517), amount(-12.0))
    +0.352 -12.0
    """
    if value == inf:
        return Cell("none")
    cell = number(value, low, high)
    return Cell(f"+{cell.text}", cell.interval) if value > 0 else cell


def share(value: float, low: float = nan, high: float = nan) -> Cell:
    """Share of rows in percent; only all of them are 100%, and only none are 0%.

    >>> print(share(0.904, 0.891, 0.916), share(0.9987), share(0.99999), share(1.0), sep="; ")
    90.4% [89.1, 91.6]; 99.87%; >99.99%; 100%
    """
    return _share(value, low, high, _share_decimals(value, low, high))


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
    if isnan(value):
        return Cell(DASH)
    return Cell("<0.001" if value < 0.001 else f"{value:.2g}")


def count(value: int | None) -> Cell:
    """How many.

    >>> print(count(12345))
    12,345
    """
    return Cell(DASH if value is None else f"{value:,}")


def coverage(value: float | None) -> Cell:
    """A coverage that was asked for, with all its digits.

    >>> print(coverage(0.9), coverage(0.999), coverage(0.29))
    90% 99.9% 29%
    """
    return Cell(DASH if value is None else f"{100 * value:g}%")


def words(value: object) -> Cell:
    """Text that fits into a table.

    >>> print(words("kept"), words(None))
    kept –
    """
    return Cell(DASH if value is None else short(str(value)))


def in_column(form: Format, values: Sequence[Estimate]) -> list[Cell]:
    """Numbers of one column, with the same decimals where that leaves each of them readable.

    >>> [cell.text for cell in in_column(number, [Estimate(686.2), Estimate(27.41), Estimate(9.5)])]
    ['686.20', '27.41', '9.50']
    >>> [cell.text for cell in in_column(share, [Estimate(0.998), Estimate(0.879)])]
    ['99.80%', '87.90%']
    """
    decimals = SHARED_DECIMALS[form](values) if form in SHARED_DECIMALS else None
    if decimals is None:
        return [form(value.value, value.low, value.high) for value in values]
    write = WITH_DECIMALS[form]
    return [write(value.value, value.low, value.high, decimals) for value in values]


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number and what it counts.

    >>> counted(1, "row"), counted(2000, "row has", "rows have")
    ('1 row', '2,000 rows have')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def spelled(count: int) -> str:
    """Return a small number as a word.

    >>> spelled(2), spelled(12)
    ('two', '12')
    """
    return SPELLED[count] if count < len(SPELLED) else f"{count:,}"


def p(value: float) -> str:
    """Return a p-value as part of a sentence.

    >>> p(0.03), p(1e-9), p(nan)
    ('p = 0.03', 'p < 0.001', 'not tested')
    """
    if isnan(value):
        return "not tested"
    text = pvalue(value).text
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def axes_in_words(axes: Sequence[str]) -> str:
    """Return the axes of a curve, y first.

    >>> axes_in_words(("bandwidth", "miss_rate"))
    'miss rate vs. bandwidth'
    """
    return " vs. ".join(axes[::-1]).replace("_", " ")


def joined(items: Sequence[str], last: str = "and") -> str:
    """Return items as a list, with "and" or "or" before the last.

    >>> joined(["a", "b", "c"]), joined(["a", "b"], "or"), joined(["a"])
    ('a, b and c', 'a or b', 'a')
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Names as a short list.

    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown = ", ".join(short(name) for name in names[:limit])
    hidden = len(names) - limit
    return f"{shown} and {hidden} more" if hidden > 0 else shown


def short(name: str, width: int = 40) -> str:
    r"""Return a name on one line of printable characters, its middle left out where it is long.

    A name that is written from right to left keeps its direction to itself.

    >>> short("model_" + "x" * 90 + "_v2"), short("two\nlines\x1b[31m")
    ('model_xxxxxxxxxxxxx...xxxxxxxxxxxxxxx_v2', 'two lines�[31m')
    >>> short("\u05d0\u05d1") == "\u2068\u05d0\u05d1\u2069"
    True
    """
    head = name if len(name) <= 4 * width else f"{name[:width]}{name[-width:]}"
    on_one_line = " ".join(head.split())
    line = "".join(sign if _is_harmless(sign) else "\ufffd" for sign in on_one_line)
    if len(undirected(line)) > width or len(head) < len(name):
        start = line[: width // 2 - 1]
        end = line[-(width - width // 2 - 2) :]
        line = f"{start}...{end}"
    return directed(line)


def directed(text: str) -> str:
    """Return a text that keeps its direction to itself where it holds signs that are written from right to left."""
    is_isolated = ISOLATE in text
    turns = any(unicodedata.bidirectional(sign) in RIGHT_TO_LEFT for sign in text)
    return f"{ISOLATE}{text}{END_OF_ISOLATE}" if turns and not is_isolated else text


def undirected(text: str) -> str:
    """Return a text without the signs that `directed` adds, for pictures, which do not know them."""
    return text.replace(ISOLATE, "").replace(END_OF_ISOLATE, "")


def _is_harmless(sign: str) -> bool:
    return sign.isprintable() or sign in ISOLATES


def told_apart(names: Sequence[str], width: int) -> list[str]:
    """Return short names that differ where the names do: where their ends are alike, what lies between is kept.

    >>> told_apart(["boosting_model_01_of_the_year", "boosting_model_02_of_the_year"], 16)
    ['boo...01_of_the_', 'boo...02_of_the_']
    >>> told_apart(["x" * 30 + "a" + "x" * 30, "x" * 30 + "b" + "x" * 30, "net"], 12)
    ['xx...xxxxaxx', 'xx...xxxxbxx', 'net']
    """
    labels = [undirected(short(name, width)) for name in names]
    if len(set(labels)) == len(set(names)):
        return labels
    alike = [name for name, label in zip(names, labels, strict=True) if labels.count(label) > 1]
    shared = _shared_start(alike)
    for place, name in enumerate(names):
        if name in alike:
            labels[place] = _from_where_they_differ(name, shared, width)
    return _numbered(labels, width)


def _shared_start(names: Sequence[str]) -> int:
    """How many signs all names begin with."""
    first = min(names)
    last = max(names)
    for place, sign in enumerate(first):
        if last[place] != sign:
            return place
    return len(first)


def _from_where_they_differ(name: str, shared: int, width: int) -> str:
    """Return the start of a name, then the word in which it differs from others with the same start."""
    line = undirected(short(name, max(len(name), width)))
    begins = shared
    while begins > shared - 4 and begins > 0 and line[begins - 1 : begins].isalnum():
        begins -= 1
    rest = line[begins:]
    start = max(width // 4 - 1, width - 3 - len(rest), 1)
    if begins <= start + 3:
        return line[:width]
    return f"{line[:start]}...{rest}"[:width]


def _numbered(labels: Sequence[str], width: int) -> list[str]:
    """Return labels with a number behind those that look the same."""
    numbered = []
    for place, label in enumerate(labels):
        if labels.count(label) == 1:
            numbered.append(label)
            continue
        same = labels[: place + 1].count(label)
        numbered.append(f"{short(label, max(width - 4, 6))} ({same})")
    return numbered


@dataclass(frozen=True, slots=True)
class Shipment:
    """One model and what is done to it before it ships.

    `level` is that of the interval that is moved, where a model has several and it is not the coverage aimed at.

    >>> from uccurve.points import Estimate
    >>> net = Shipment("net", Move("scale", Estimate(1.69)))
    >>> net.shipped, net.named
    ('net with bands × 1.69', 'net × 1.69')
    """

    name: str
    move: Move
    side: Side = "both"
    level: float | None = None
    unchanged: bool = False

    @property
    def shipped(self) -> str:
        """The model as the object of "ship"."""
        name = short(self.name)
        change = UNCHANGED if self.unchanged else self.change
        if self.side != "both":
            return f"{name}'s {self.side} bound {change}"
        if self.unchanged:
            return f"{name}{self._interval_unchanged} {change}"
        return f"{name} with {self._bands} {change}"

    @property
    def named(self) -> str:
        """The model as one of several."""
        if self.unchanged:
            return f"{short(self.name)} {UNCHANGED}"
        return f"{short(self.name)} {self.change}"

    @property
    def change(self) -> str:
        """What is done to its bands, or to its one bound."""
        if self.move.kind == "scale":
            return factor(self.move.estimate.value).text
        return f"{self._direction} by {number(abs(self.move.estimate.value))}"

    @property
    def _direction(self) -> str:
        """Which way a shift goes; a positive one widens the interval."""
        widens = self.move.estimate.value >= 0
        if self.side == "both":
            return "widened" if widens else "narrowed"
        moves_up = widens == (self.side == "upper")
        return "raised" if moves_up else "lowered"

    @property
    def _bands(self) -> str:
        return "bands" if self.level is None else f"its {coverage(self.level)} bands"

    @property
    def _interval_unchanged(self) -> str:
        return "" if self.level is None else f"'s {coverage(self.level)} intervals"


def movers(moves: Iterable[Move]) -> str:
    """Return what would have to move the bands: a factor, a shift, or either.

    >>> from uccurve.points import Estimate
    >>> movers([Move("shift", Estimate(1.0))])
    'shift'
    """
    kinds = {move.kind for move in moves}
    if kinds == {"shift"}:
        return "shift"
    return "factor" if kinds == {"scale"} else "factor or shift"


def percent_more(ratio: float) -> str:
    """Return by how much a ratio exceeds 1, in percent; two digits.

    >>> percent_more(1.0213), percent_more(1.0005)
    ('2.1%', '0.05%')
    """
    return f"{100 * abs(ratio - 1):.2g}%"


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian signs and emoji take two, combining ones none.

    >>> columns_of("net"), columns_of("模型"), columns_of("e\u0301")
    (3, 4, 1)
    """
    return sum(_columns_of_sign(sign) for sign in text)


def width_name(side: Side) -> str:
    """What the mean distance between prediction and bounds is called.

    >>> width_name("both"), width_name("upper")
    ('half-width', 'margin')
    """
    return "half-width" if side == "both" else "margin"


def padded(text: str, width: int, side: str = "<") -> str:
    """Return a text filled with spaces to a width in columns of a terminal, on the right or (">") on the left.

    >>> padded("net", 5), padded("模型", 5, ">")
    ('net  ', ' 模型')
    """
    fill = " " * max(0, width - columns_of(text))
    return fill + text if side == ">" else text + fill


def _columns_of_sign(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in WIDE else 1


def _cell(write: Writer, value: float, low: float, high: float, sign: str = "") -> Cell:
    """Return a value with a sign after it, and the ends of its interval without."""
    if isnan(value):
        return Cell(DASH)
    text = f"{write(value)}{sign}" if isfinite(value) else write(value)
    if isnan(low) or isnan(high):
        return Cell(text)
    return Cell(text, f"[{write(low)}, {write(high)}]")


def _writer(value: float, low: float, high: float) -> Writer:
    """How to write a value and the ends of its interval: with the same decimals, or with an exponent."""
    digits = _digits(value, low, high)
    decimals = _own_decimals(value, low, high)
    if decimals is None:
        return lambda x: f"{x:.{digits}g}"
    return _decimals(decimals)


def _digits(value: float, low: float, high: float) -> int:
    """Significant digits: three, or more where the interval is narrower than that."""
    half = (high - low) / 2
    if not 0 < half < inf:
        return 3
    largest = max(abs(value), half)
    return max(3, min(DIGITS, _size(largest) + 1 - _size(half)))


def _own_decimals(value: float, low: float, high: float) -> int | None:
    """Decimals of a number on its own; None where it is written with an exponent."""
    half = (high - low) / 2
    size = _size(max(abs(value), half) if 0 < half < inf else value)
    if not -4 <= size < 7:
        return None
    return max(0, _digits(value, low, high) - 1 - size)


def _size(value: float) -> int:
    """Power of ten of the first digit; that of 1 where there is none."""
    return floor(log10(abs(value))) if isfinite(value) and value else 0


def _decimals(decimals: int) -> Writer:
    return lambda x: f"{round(x, decimals) + 0.0:,.{decimals}f}"


def _percent(decimals: int) -> Writer:
    """How to write a share in percent, without the sign."""
    write = _decimals(decimals)

    def written(x: float) -> str:
        is_huge = 1e4 <= abs(x) < inf
        return f"{100 * x:.3g}" if is_huge else write(100 * x)

    return written


def _share_decimals(value: float, low: float, high: float) -> int:
    """Decimals of one share in percent."""
    if value in (0, 1):
        return 0 if isnan(low + high) else 1
    return 1 if 0.01 <= value <= 0.99 else 2


def _share(value: float, low: float, high: float, decimals: int) -> Cell:
    whole = value in (0, 1) and isnan(low + high)
    cell = _cell(_percent(0 if whole else decimals), value, low, high, "%")
    if cell.text == f"{0:.{decimals}f}%" and value > 0:
        return Cell("<0.01%", cell.interval)
    if cell.text == f"{100:.{decimals}f}%" and value < 1:
        return Cell(">99.99%", cell.interval)
    return cell


def _number(value: float, low: float, high: float, decimals: int) -> Cell:
    return _cell(_decimals(decimals), value, low, high)


def _shared_share_decimals(values: Sequence[Estimate]) -> int | None:
    decimals = [
        _share_decimals(value.value, value.low, value.high) for value in values if value.is_finite
    ]
    return max(decimals, default=None)


def _shared_decimals(values: Sequence[Estimate]) -> int | None:
    """Decimals with which all numbers of a column keep two digits and none shows more than six; None without such."""
    finite = [value for value in values if value.is_finite and value.value]
    alone = [_own_decimals(value.value, value.low, value.high) for value in finite]
    known = [decimals for decimals in alone if decimals is not None]
    if not known or len(known) < len(alone):
        return None
    sizes = [_size(value.value) for value in finite]
    room = DIGITS - 1 - max(0, *sizes)
    decimals = min(max(known), max(room, 0))
    return decimals if decimals > -min(sizes) else None


SHARED_DECIMALS: Mapping[Format, Callable[[Sequence[Estimate]], int | None]] = {
    number: _shared_decimals,
    share: _shared_share_decimals,
}
WITH_DECIMALS: Mapping[Format, Callable[..., Cell]] = {number: _number, share: _share}
