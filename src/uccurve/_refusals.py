"""Refusals: one sentence that names the argument, the rule, what breaks it and what to do."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._vocabulary import (
    METRICS,
    Axes,
    Metric,
)


def keyword(name: str, value: Any) -> str:
    """Return an argument as Python writes it; its name alone where no value is given.

    >>> keyword("min_band", "5%"), keyword("lower", None)
    ('min_band="5%"', '`lower`')
    """
    if value is None:
        return f"`{name}`"
    if isinstance(value, str):
        return f'{name}="{value}"'
    return f"{name}={value:g}" if isinstance(value, float) else f"{name}={value!r}"


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do about a refusal: a text with ``{name}`` where an argument stands, and the values of these arguments.

    As text it is what a reader of Python needs; `written` is for others, such as the command line.

    >>> hint = Hint("pass {missing} to leave such rows out", {"missing": "drop"})
    >>> str(hint), hint.written(lambda name, value: f"--{name} {value}")
    ('pass missing="drop" to leave such rows out', 'pass --missing drop to leave such rows out')
    """

    text: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.written(keyword)

    def written(self, form: Callable[[str, Any], str]) -> str:
        """Return the text with its arguments as `form` writes their names and values."""
        return self.text.format(
            **{name: form(name, value) for name, value in self.arguments.items()}
        )


class Refusal(ValueError):  # noqa: N818  # what our sentences are called
    """Data or arguments that cannot be used: what is wrong, which may name arguments too, and a hint as data.

    >>> from uccurve._refusals import Hint
    >>> refusal = Refusal("`lower` must not exceed `upper`.", Hint("swap the two columns"))
    >>> isinstance(refusal, ValueError), str(refusal)
    (True, '`lower` must not exceed `upper`. Hint: swap the two columns.')
    """

    __module__ = "uccurve"  # where users import it from, and what a traceback shows

    def __init__(self, what: str | Hint, hint: Hint) -> None:
        super().__init__(what, hint)
        self.what = what if isinstance(what, Hint) else Hint(escaped(what))
        self.hint = hint

    def __str__(self) -> str:
        return self.written(keyword)

    def written(self, form: Callable[[str, Any], str]) -> str:
        """Return the sentence and its hint with their arguments as `form` writes them."""
        return f"{self.what.written(form)} Hint: {self.hint.written(form)}."


FLOOR_HINT = Hint(
    "pass {min_band} (of the mean half-width) or a number in units of y_true to raise such bands",
    {"min_band": "5%"},
)


class Rule(NamedTuple):
    """What a column must be, how to say that a row or several break it, and what to do, also where nearly all do."""

    name: str
    must: str
    verbs: tuple[str, str]
    hint: str | Hint
    hint_for_most: str | Hint = ""


def rows(bad: npt.NDArray[np.bool_], rule: Rule, detail: Callable[[Any], object]) -> None:
    """Raise the sentence that counts the `bad` rows and shows the first; return where there are none."""
    if not bad.any():
        return
    per_row = bad.reshape(len(bad), -1).any(axis=1)
    count, place = int(np.count_nonzero(per_row)), tuple(int(i) for i in np.argwhere(bad)[0])
    where = f"row {place[0]}" if bad.ndim == 1 else f"row {place[0]}, output {place[1]}"
    raise broken(rule, count, len(bad), f", first {where} ({detail(place)!s})")


def broken(rule: Rule, count: int, total: int, first: str = "") -> Refusal:
    """Return the refusal of `count` rows that break a rule, with the `first` of them where rows have an order."""
    hint = rule.hint_for_most if count > 0.9 * total and rule.hint_for_most else rule.hint
    what = f"`{rule.name}` must {rule.must}: {count} of {counted(total, 'row')} {rule.verbs[count > 1]}{first}."
    return Refusal(what, hint if isinstance(hint, Hint) else Hint(escaped(hint)))


def escaped(text: str) -> str:
    """Return a text that `Hint` shows as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def sentence(rule: Rule, count: int, total: int, first: str = "") -> str:
    """Return what is said of `count` rows that break a rule, and of the `first` of them where rows have an order."""
    return str(broken(rule, count, total, first))


def prefixed(prefix: str, error: Exception) -> Exception:
    """Return an error of the same kind that says first whose it is.

    >>> str(prefixed("GBR: ", ValueError("too few rows")))
    'GBR: too few rows'
    """
    if isinstance(error, Refusal):
        return Refusal(Hint(escaped(prefix) + error.what.text, error.what.arguments), error.hint)
    return type(error)(f"{prefix}{error}")


def counted(count: int, what: str) -> str:
    """Return a number of things: 1 row, 2 rows."""
    return f"{count} {what}{'s' if count != 1 else ''}"


def shown(value: Any, form: Callable[[Any], str] = repr) -> str:
    """Return a value as it appears in a sentence: at most 60 characters on one line."""
    try:
        text = " ".join(form(value).split())
    except ValueError:  # Python writes no integer of more than 4300 digits
        text = f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:48]}... ({len(text)} characters)"


def amount(name: str, value: Any, whole: str) -> tuple[float, float]:
    """Return a number in units of y_true and a share of a `whole`, one of which is given and the other 0."""
    percent = isinstance(value, str) and value.strip().endswith("%")
    try:
        size = float(value.strip()[:-1]) / 100 if percent else number(value)
    except (TypeError, ValueError, OverflowError):
        size = np.nan
    if not 0 <= size < np.inf:
        raise ValueError(
            f"`{name}` must be a number of at least 0 in units of y_true, or a percentage of {whole} "
            f'such as "5%"; {shown(value)} is neither.'
        )
    return (0.0, size) if percent else (size, 0.0)


def floor(min_band: Any, half_width: float) -> float:
    """Return the minimum band that `min_band` asks for, in units of y_true."""
    value, share = amount("min_band", min_band, "the mean half-width")
    if share and half_width < 0:
        what = f"the mean half-width, of which it is {min_band}, is {half_width:.4g}"
        raise Refusal(
            f"`min_band` must be a number here: {what}.", Hint("pass a number in units of y_true")
        )
    return share * half_width if share else value


def choice(name: str, value: Any, options: Sequence[str]) -> None:
    """Refuse a `value` that is not among the `options`, and suggest the nearest one."""
    if not (isinstance(value, str) and value in options):
        raise ValueError(
            f"`{name}` must be one of {', '.join(options)}; got {shown(value)}.{nearest(value, options)}"
        )


def axes(value: Any) -> Axes:
    """Return two metric names, first x, then y."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(
            f"`axes` must be two of {', '.join(METRICS)}, first x, then y; got {shown(value)}."
        )
    for name in value:
        if not (isinstance(name, str) and name in METRICS):
            raise ValueError(
                f"`axes` must be two of {', '.join(METRICS)}; got {shown(name)}.{nearest(name, METRICS)}"
            )
    return value[0], value[1]


def nearest(value: Any, options: Sequence[str]) -> str:
    """Return the option most like a misspelt `value`, as a question after the sentence."""
    names = {str(option).lower(): option for option in options}
    near = difflib.get_close_matches(value.lower(), names, n=1) if isinstance(value, str) else []
    return f" Did you mean {names[near[0]]!r}?" if near else ""


def real(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """Return one finite number between `low` and `high`."""
    try:
        converted = number(value)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number; got {shown(value)}.") from None
    except OverflowError:
        converted = np.inf
    if not (low <= converted <= high and np.isfinite(converted)):
        span = (
            f" from {low:g} to {high:g}"
            if high < np.inf
            else f" of at least {low:g}"
            if low > -np.inf
            else ""
        )
        raise ValueError(f"`{name}` must be a finite number{span}; got {shown(value)}.")
    return converted


def unit(value: Any) -> float | None:
    """Return the size of a unit in units of y_true; None for its standard deviation."""
    if isinstance(value, str) and value in ("raw", "std"):
        return 1.0 if value == "raw" else None
    try:
        size = real("unit", value)
    except (TypeError, ValueError):
        size = 0.0
    if size <= 0:
        raise ValueError(
            f"`unit` must be 'raw', 'std' or a finite number above 0; got {shown(value)}."
        )
    return size


def number(value: Any) -> float:
    """Return one number as a float; text, booleans and arrays are none."""
    if isinstance(value, str | bytes | bool | np.bool_) or np.ndim(value):
        raise TypeError
    return float(value)


def span(name: str, value: Any) -> tuple[float, float]:
    """Return a range (low, high) of a metric."""
    try:
        low, high = (number(end) for end in value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"`{name}` must be a range (low, high); got {shown(value)}.") from None
    if not 0 <= low <= high:
        raise ValueError(
            f"`{name}` must be a range (low, high) with 0 <= low <= high; got {shown(value)}."
        )
    return low, high


def only(
    what: str, given: Mapping[str, Any], names: Sequence[str] = METRICS
) -> tuple[Metric, Any] | None:
    """Return the one name (a metric) whose value is not None; refuse several, and unknown names."""
    named = [(name, value) for name, value in given.items() if value is not None]
    for name, _ in named:
        if name not in names:
            raise TypeError(
                f"a {what} is given for one of {', '.join(names)}; got {name!r}.{nearest(name, names)}"
            )
    if len(named) > 1:
        raise ValueError(
            f"give one {what} only; got {' and '.join(f'`{name}`' for name, _ in named)}."
        )
    return named[0] if named else None  # type: ignore[return-value]  # a metric, as checked above


def target(
    given: Mapping[str, Any], *, conformal: bool, confidence: float | None
) -> tuple[Metric, Any]:
    """Return the one target that is given, as a metric and its value; a coverage is a miss rate, exactly."""
    if given.get("coverage") is not None and given.get("miss_rate") is not None:
        miss_rate_of(given["coverage"], given["miss_rate"])  # refuses both
    given_target = only("target", given, ("coverage", *METRICS))
    if given_target is None:
        raise ValueError("give one target to find, such as coverage=0.9.")
    asked, value = given_target
    name: Metric = asked
    if asked not in METRICS:
        name = "miss_rate"
        value = miss_rate_of(value)
    if flag("conformal", conformal) and name != "miss_rate":
        raise ValueError(f"`conformal` needs a target coverage or miss_rate, not {name}.")
    if confidence is not None and not conformal:
        raise ValueError("`confidence` needs conformal=True: it is about new rows.")
    real(name, value, 0, 1 if name == "miss_rate" else np.inf)
    return name, value


def as_written(value: float | Fraction) -> Fraction:
    """Return the fraction a person meant by a float of any precision: 0.07 is 7/100 and 1/3 is a third.

    >>> as_written(0.07), as_written(1 / 3), as_written(np.float32(0.8))
    (Fraction(7, 100), Fraction(1, 3), Fraction(4, 5))
    """
    if isinstance(value, Fraction):
        return value
    exact = float(str(value) if isinstance(value, np.float16 | np.float32) else value)
    simple = Fraction(exact).limit_denominator(10**6)
    return simple if float(simple) == exact else Fraction(repr(exact))


def miss_rate_of(coverage: Any = None, miss_rate: Any = None) -> Fraction:
    """Return the miss rate that a coverage (or a miss rate itself) asks for, without rounding; both ends excluded.

    >>> miss_rate_of(coverage=0.9), miss_rate_of(miss_rate=0.05)
    (Fraction(1, 10), Fraction(1, 20))
    """
    if coverage is not None and miss_rate is not None:
        raise ValueError(
            "give `coverage` or `miss_rate`, not both: a coverage of 0.9 is a miss rate of 0.1."
        )
    return (
        1 - proportion("coverage", coverage)
        if miss_rate is None
        else proportion("miss_rate", miss_rate, "10% is 0.1")
    )


def proportion(name: str, value: Any, hint: str = "90% is 0.9") -> Fraction:
    """Return the fraction that a number between 0 and 1, both excluded, stands for."""
    try:
        number(value)
        meant = as_written(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"`{name}` must be a number between 0 and 1; got {shown(value)}. Hint: {hint}."
        ) from None
    if not 0 < meant < 1:
        raise ValueError(
            f"`{name}` must lie between 0 and 1, both excluded; got {shown(value)}. Hint: {hint}."
        )
    return meant


def flag(name: str, value: Any) -> bool:
    """Return a truth value; refuse anything else."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"`{name}` must be True or False; got {shown(value)}.")
    return bool(value)
