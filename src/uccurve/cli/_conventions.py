"""Conventions: which columns of a file hold the observation, and each model's prediction and bounds."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

OBSERVED = ("y", "y_true", "ytrue", "actual", "actuals", "target", "observed", "observation", "truth")
PREDICTED = (
    *("pred", "y_pred", "ypred", "yhat", "y_hat", "prediction", "predicted", "fit"),
    *("forecast", "point_forecast", "forecast_value", "predicted_value"),
)
CENTRES = ("median", "mean")
"""What stands in for a prediction where there is none."""
SIDES = {
    "lower": ("lower", "lo", "lwr", "lower_bound", "lower_ci", "lower_pi"),
    "upper": ("upper", "hi", "upr", "upper_bound", "upper_ci", "upper_pi"),
}
INTERVALS = ("obs_ci", "prediction_interval", "pi", "ci", "interval")
"""Words before a side that belong to it and name no model."""
SECOND_CHOICE = ("mean_ci", "confidence_interval")
"""Intervals of a mean: used only where a file has no others (statsmodels and BigQuery write both)."""
NO_MODEL = frozenset((*OBSERVED, *PREDICTED, *CENTRES))
"""Words that name no model where they stand before a bound: yhat, yhat_lower and yhat_upper are a nameless one."""
_TOKEN = re.compile(r"(?:[^\s_.\-:]|(?<=\d)\.(?=\d))+")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%?")
_QUANTILE = re.compile(r"(?:q|p|quantile_)(\d+)(\.\d+)?")


class Bounds(NamedTuple):
    """Two bounds, and the coverage that their names tell (None where they tell none)."""

    lower: str
    upper: str
    level: Fraction | None = None


class Columns(NamedTuple):
    """Columns of one model: the prediction, and its bounds, the narrowest level first."""

    pred: str
    bounds: tuple[Bounds, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of its columns."""
        return (self.pred, *(name for bounds in self.bounds for name in bounds[:2]))

    @property
    def levels(self) -> tuple[Fraction | None, ...]:
        """Coverage of each pair of bounds."""
        return tuple(bounds.level for bounds in self.bounds)


@dataclass(frozen=True, slots=True)
class Detected:
    """What was recognised: the column of the observation (None where there is none) and those of each model."""

    y: str | None
    models: Mapping[str, Columns]


class _Role(NamedTuple):
    """What one column is to a model: a prediction, a centre, or one side of an interval."""

    kind: str
    level: Fraction | None = None
    second_choice: bool = False


def detect_columns(names: Sequence[str], *, y: str | None = None, nameless: str = "model") -> Detected:
    """Columns recognised among `names`; a model without a name of its own is called `nameless`.

    Examples
    --------
    >>> detect_columns(["ds", "y", "yhat", "yhat_lower", "yhat_upper"]).models["model"].names
    ('yhat', 'yhat_lower', 'yhat_upper')
    >>> detect_columns(["y", "ETS", "ETS-lo-80", "ETS-hi-80", "ETS-lo-95", "ETS-hi-95"]).models["ETS"].levels
    (Fraction(4, 5), Fraction(19, 20))
    """
    if y is None:
        found = [name for name in names if "_".join(_tokens(name)) in OBSERVED]
        if len(found) > 1:
            raise ValueError(f"{_listed(found)} could all be the observation. Hint: choose one by --y.")
        y = found[0] if found else None
    roles: dict[str, dict[str, _Role]] = {}
    for name in names:
        model, role = ("", None) if name == y else _model_and_role(name)
        if role is not None:
            roles.setdefault(model, {})[name] = role
    named = {model: _columns(model or nameless, columns, names) for model, columns in roles.items()}
    return Detected(y, {model or nameless: columns for model, columns in named.items() if columns})


def model_option(text: str) -> tuple[str, Columns]:
    """Return a model as written on the command line, NAME=PRED,LOWER,UPPER; columns with a comma go in quotes.

    >>> name, columns = model_option('GBR=p,"lower, 5%",hi')
    >>> name, columns.names
    ('GBR', ('p', 'lower, 5%', 'hi'))
    """
    name, equals, columns = text.partition("=")
    parts = split_names(columns)
    if not (name.strip() and equals and len(parts) == 3 and all(parts)):
        raise ValueError(f"a model is written NAME=PRED,LOWER,UPPER, with three columns; got {text!r}.")
    return name.strip(), Columns(parts[0], (Bounds(parts[1], parts[2], _told(parts[1], parts[2])),))


def split_names(text: str) -> list[str]:
    """Return names separated by commas; one that contains a comma is in quotes.

    >>> split_names('site,"lower, 5%"')
    ['site', 'lower, 5%']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def told_coverage(models: Iterable[Columns]) -> Fraction | None:
    """Return the coverage that the names of all bounds agree on; None where they tell none, or several."""
    levels = {level for columns in models for level in columns.levels}
    return levels.pop() if len(levels) == 1 else None


def _told(lower: str, upper: str) -> Fraction | None:
    """Coverage told by the names of two bounds."""
    roles = [_model_and_role(name)[1] for name in (lower, upper)]
    pairs = _pairs({name: role for name, role in zip((lower, upper), roles, strict=True) if role is not None})
    return next(iter(pairs), None)


def _columns(model: str, roles: Mapping[str, _Role], names: Sequence[str]) -> Columns | None:
    """Return the model's columns, or None where some are missing."""
    first = {name: role for name, role in roles.items() if not role.second_choice}
    pairs = _pairs(first) or _pairs(roles)
    centres = _centres(model, roles, names)
    if not pairs or not centres:
        return None
    untold = [name for level, sides in pairs.items() for side in sides for name in side if None in pairs]
    several = [untold] if len(pairs) > 1 else []
    for group in (*several, centres, *(side for sides in pairs.values() for side in sides)):
        if len(group) > 1:
            hint = f"--model {model}=PRED,LOWER,UPPER"
            raise ValueError(f"{_listed(group)} could all belong to {model}. Hint: choose by {hint}.")
    bounds = [Bounds(lower[0], upper[0], level) for level, (lower, upper) in pairs.items()]
    return Columns(centres[0], tuple(sorted(bounds, key=lambda one: one.level or Fraction(0))))


def _pairs(roles: Mapping[str, _Role]) -> dict[Fraction | None, tuple[list[str], list[str]]]:
    """Return lower and upper bounds by their level, where both are there."""
    sides: dict[Fraction | None, tuple[list[str], list[str]]] = {}
    for name, role in roles.items():
        if role.kind in ("lower", "upper"):
            sides.setdefault(role.level, ([], []))[role.kind == "upper"].append(name)
    return {level: both for level, both in sides.items() if all(both)}


def _centres(model: str, roles: Mapping[str, _Role], names: Sequence[str]) -> list[str]:
    """Return predictions; else a column called like the model; else medians and means."""
    by_kind = {kind: [name for name, role in roles.items() if role.kind == kind] for kind in ("pred", "centre")}
    own = [name for name in names if name.strip() == model and name not in roles]
    return by_kind["pred"] or own or by_kind["centre"]


def _model_and_role(name: str) -> tuple[str, _Role | None]:
    """Return the model that a column name speaks of ('' for none) and its role in it (None for none)."""
    spans = [match.span() for match in _TOKEN.finditer(name)]
    tokens = _tokens(name)
    if role := _role(tokens):
        return "", role
    for cut in range(1, len(tokens)):  # the longest role first: NAME_lower_bound, not NAME_lower and bound
        if role := _role(tokens[cut:]):
            before = name[: spans[cut - 1][1]]
            return ("" if "_".join(tokens[:cut]) in NO_MODEL else before.strip()), role
    for cut in range(len(tokens) - 1, 0, -1):
        if role := _role(tokens[:cut]):
            return name[spans[cut][0] :].strip(), role
    return "", None


def _role(tokens: Sequence[str]) -> _Role | None:
    """Return the role that words have together."""
    text = "_".join(tokens)
    if text in PREDICTED:
        return _Role("pred")
    point = _quantile(text)
    if text in CENTRES or point == Fraction(1, 2):
        return _Role("centre")
    if point is not None:
        return _Role("lower" if 2 * point < 1 else "upper", abs(1 - 2 * point))
    return next(filter(None, (_side(text, kind, word) for kind, words in SIDES.items() for word in words)), None)


def _side(text: str, kind: str, word: str) -> _Role | None:
    """Return the role of one side of an interval, where the text is called by this word."""
    if text in (word, *(f"{before}_{word}" for before in INTERVALS)):
        return _Role(kind)
    if text in [f"{before}_{word}" for before in SECOND_CHOICE]:
        return _Role(kind, second_choice=True)
    level = _percent(text.removeprefix(f"{word}_")) if text.startswith(f"{word}_") else None
    return None if level is None else _Role(kind, level)


def _quantile(text: str) -> Fraction | None:
    """Return the probability in a name such as q05, q0.05, q2.5, p5 or quantile_0.05.

    >>> [str(_quantile(name)) for name in ("q5", "q05", "p2.5", "q0.025", "q975", "p50", "q0", "p100")]
    ['1/20', '1/20', '1/40', '1/40', '39/40', '1/2', 'None', 'None']
    """
    match = _QUANTILE.fullmatch(text)
    if not match:
        return None
    whole, decimals = match.groups(default="")
    if decimals and int(whole) == 0:
        value = Fraction(whole + decimals)
    elif decimals or len(whole) < 3 or int(whole) == 100:
        value = Fraction(whole + decimals) / 100
    else:
        value = Fraction(f"0.{whole}")
    return value if 0 < value < 1 else None


def _percent(text: str) -> Fraction | None:
    """Return the coverage in the end of a name such as lo-90, lo-97.5 or lower_0.9; lower_1 is a model's number."""
    match = _PERCENT.fullmatch(text)
    if not match:
        return None
    value = Fraction(match[1])
    value = value / 100 if value >= 1 else value
    return value if Fraction(1, 10) <= value < 1 else None


def _tokens(name: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(name)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
