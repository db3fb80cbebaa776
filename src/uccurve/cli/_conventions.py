"""Conventions: which columns of a file hold the observation, and each model's prediction and bounds."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

OBSERVED = ("y", "y_true", "actual", "target")
PREDICTED = ("pred", "y_pred", "yhat", "prediction")
LOWER = ("lower", "lo", "lower_bound")
UPPER = ("upper", "hi", "upper_bound")
WORDS = {**dict.fromkeys(PREDICTED, "pred"), **dict.fromkeys(LOWER, "lower"), **dict.fromkeys(UPPER, "upper")}
ALONE = frozenset((*OBSERVED, *PREDICTED))
"""Words that name no model where they stand before a bound: yhat, yhat_lower and yhat_upper are a nameless one."""
_LEVEL = re.compile(r"(?P<model>.+)-(?P<side>lo|hi)-(?P<level>\d+(?:\.\d+)?)", re.IGNORECASE)
_QUANTILE = re.compile(r"q(?P<point>0?\.)?(?P<digits>\d{1,6})")


class Columns(NamedTuple):
    """The columns of one model."""

    pred: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What the convention took: the column of the observation (None where there is none) and those of each model."""

    y: str | None
    models: Mapping[str, Columns]


def taken(names: Sequence[str], *, y: str | None = None, nameless: str = "model") -> Taken:
    """Columns found among `names`; a model without a name of its own is called `nameless`.

    Examples
    --------
    >>> taken(["ds", "y", "yhat", "yhat_lower", "yhat_upper"]).models
    {'model': Columns(pred='yhat', lower='yhat_lower', upper='yhat_upper')}
    >>> taken(["y", "AutoARIMA", "AutoARIMA-lo-90", "AutoARIMA-hi-90"]).models
    {'AutoARIMA': Columns(pred='AutoARIMA', lower='AutoARIMA-lo-90', upper='AutoARIMA-hi-90')}
    """
    if y is None:
        found = [name for name in names if name.strip().lower() in OBSERVED]
        if len(found) > 1:
            raise ValueError(f"{_listed(found)} could all be the observation. Hint: say which by --y.")
        y = found[0] if found else None
    rest = [name for name in names if name != y]
    levels, words = _levels(rest), _words(rest, nameless)
    for model in levels.keys() & words.keys():
        names = [*levels[model][1:], *words[model][1:]]
        raise ValueError(f"{_listed(names)} could all belong to {model}. Hint: say which by --model.")
    return Taken(y, {**levels, **words})


def model_option(text: str) -> tuple[str, Columns]:
    """A model as it is written on the command line: NAME=PRED,LOWER,UPPER; columns with a comma go in quotes.

    >>> model_option('GBR=p,"lower, 5 %",hi')
    ('GBR', Columns(pred='p', lower='lower, 5 %', upper='hi'))
    """
    name, equals, columns = text.partition("=")
    parts = next(csv.reader([columns]), [])
    if not (name.strip() and equals and len(parts) == 3 and all(parts)):
        raise ValueError(f"a model is written NAME=PRED,LOWER,UPPER, with three columns; got {text!r}.")
    return name.strip(), Columns(*parts)


def _levels(names: Sequence[str]) -> dict[str, Columns]:
    """Models written NAME, NAME-lo-90, NAME-hi-90; each level of a model that has several is one of its own."""
    sides: dict[tuple[str, str], dict[str, str]] = {}
    for name in names:
        if (match := _LEVEL.fullmatch(name)) and match["model"] in names:
            sides.setdefault((match["model"], match["level"]), {})[match["side"].lower()] = name
    whole = {key: Columns(key[0], both["lo"], both["hi"]) for key, both in sides.items() if len(both) == 2}
    counts = [model for model, _ in whole]
    return {
        model if counts.count(model) == 1 else f"{model}-{level}": columns for (model, level), columns in whole.items()
    }


def _words(names: Sequence[str], nameless: str) -> dict[str, Columns]:
    """Models written by words: pred, lower, upper, alone or joined to a model's name."""
    roles: dict[str, dict[str, list[str]]] = {}
    for name in names:
        model, role = _model_and_role(name)
        if role:
            roles.setdefault(model, {}).setdefault(role, []).append(name)
    found = {model: _whole(model or nameless, parts) for model, parts in roles.items()}
    return {model or nameless: columns for model, columns in found.items() if columns}


def _whole(model: str, parts: Mapping[str, list[str]]) -> Columns | None:
    """The model's three columns, or None where one is missing."""
    pairs = [(parts.get("lower", []), parts.get("upper", []))]
    pairs += [(parts[low], parts[high]) for low, high in _quantile_pairs(parts)]
    pairs = [pair for pair in pairs if all(pair)]
    centres = parts.get("pred") or parts.get("centre") or []
    if not pairs or not centres:
        return None
    several = [name for pair in pairs for side in pair for name in side] if len(pairs) > 1 else []
    for names in (several, centres, *pairs[0]):
        if len(names) > 1:
            hint = f"--model {model}=PRED,LOWER,UPPER"
            raise ValueError(f"{_listed(names)} could all belong to {model}. Hint: say which by {hint}.")
    return Columns(centres[0], pairs[0][0][0], pairs[0][1][0])


def _quantile_pairs(parts: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    levels = [(float(role[1:]), role) for role in parts if role.startswith("q")]
    return [(role, other) for low, role in levels for high, other in levels if low < 0.5 and abs(low + high - 1) < 1e-9]


def _model_and_role(name: str) -> tuple[str, str]:
    """The model that a column name speaks of ('' for none) and its role in it ('' for none)."""
    plain = name.strip()
    if role := _role(plain):
        return "", role
    for cut in re.finditer(r"[_.\-: ]+", plain):
        before, after = plain[: cut.start()], plain[cut.end() :]
        for word, model in ((after, before), (before, after)):
            if (role := _role(word)) and model:
                return ("" if model.lower() in ALONE else model), role
    return "", ""


def _role(word: str) -> str:
    """The role of a word: pred, lower, upper, centre (in place of a prediction) or a quantile."""
    small = word.lower()
    if match := _QUANTILE.fullmatch(small):
        digits = match["digits"] if match["point"] else match["digits"].zfill(2)  # q5 is q05, and q0.5 is q50
        level = float(f"0.{digits}")
        return "centre" if level == 0.5 else f"q{level:g}"
    return "centre" if small in ("median", "mean") else WORDS.get(small, "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
