"""Names: which columns of a table hold the observation, each model's prediction and bounds, and the keys of a row.

The adapters and the command line recognise columns by this module alone. Upper and lower case and spacing do not
matter. Nothing is guessed where two columns could be meant.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from uccurve._vocabulary import Side

OBSERVED = (
    "y",
    "y_true",
    "ytrue",
    "actual",
    "actuals",
    "target",
    "observed",
    "observation",
    "truth",
)
PREDICTED = (
    *(
        "pred",
        "y_pred",
        "ypred",
        "yhat",
        "y_hat",
        "prediction",
        "predictions",
        "predicted",
        "fit",
        "estimate",
    ),
    *("forecast", "point_forecast", "forecast_value", "predicted_value"),
)
SIDES = {
    "lower": ("lower", "lo", "lwr", "lower_bound", "lower_ci", "lower_pi"),
    "upper": ("upper", "hi", "upr", "upper_bound", "upper_ci", "upper_pi", "value_at_risk"),
}
# Words before a side that belong to it and name no model.
INTERVALS = ("obs_ci", "prediction_interval", "pi", "ci", "interval")
# Intervals of a mean: used only where a table has no others (statsmodels and BigQuery write both).
SECOND_CHOICE = ("mean_ci", "confidence_interval")
# Words that name no model where they stand before a bound: yhat, yhat_lower and yhat_upper are a nameless one.
NO_MODEL = frozenset((*OBSERVED, *PREDICTED, "median", "mean"))
# Columns of every forecast of Prophet, whose other columns with bounds (trend, yearly) are parts of yhat.
PROPHET = frozenset(("yhat", "trend", "additive_terms"))
SERIES = ("unique_id", "item_id", "series", "series_id", "location")
TIMES = (
    *(
        "ds",
        "date",
        "datetime",
        "time",
        "timestamp",
        "period",
        "forecast_timestamp",
        "target_end_date",
    ),
    *("cutoff", "origin_date", "reference_date", "forecast_date"),
)
# Times at which forecasts were made.
ORIGINS = ("cutoff", "forecast_date", "reference_date", "origin_date")
HORIZONS = ("horizon", "h", "step", "lead_time")
# Columns of a long table, one row per quantile: the probability, the value, the model and the kind of the row.
QUANTILE = ("output_type_id", "quantile", "quantile_level")
VALUE = ("value", *PREDICTED)
MODEL = ("model_id", "model")
SAMPLES = ("sample_id", "sample", "draw")
KIND = ("output_type", "type")
# What a hub forecasts, and how files call what was observed where they hold nothing else.
TARGETS = ("target", "target_type", "target_variable")
TRUTH = ("oracle_value", "observation", "true_value", "value")
# Columns of forecast hubs, whose `target` says what is forecast.
HUB = frozenset(("output_type", "output_type_id", "target_end_date"))
_TOKEN = re.compile(r"(?:[^\s_.\-:]|(?<=\d)\.(?=\d))+")
_SIDE = "|".join(word for words in SIDES.values() for word in words)
_LEVEL = re.compile(rf"({_SIDE})_(\d+(?:\.\d+)?)%?|(\d+(?:\.\d+)?)%?_({_SIDE})")
_QUANTILE = re.compile(r"(?:q|p|ql|quantile)_?(\d+(?:\.\d+)?)|(0\.\d+)|(\d+(?:\.\d+)?)%")
_AT_RISK = re.compile(r"(?:var|value_at_risk)_?(\d+(?:\.\d+)?)%?")
_SAMPLE = re.compile(r"(?:sample|draw|boot)_?\d+")
_BothSides = tuple[list[str], list[str]]


class Bounds(NamedTuple):
    """Two bounds, one of which may be absent (""), and the coverage that their names tell (None: they tell none)."""

    lower: str
    upper: str
    level: Fraction | None = None


class ModelColumns(NamedTuple):
    """Columns of one model: the prediction, and its bounds, the narrowest level first; or samples instead of both.

    Without a prediction (""), two bounds are judged around their middle, and one bound by itself.
    """

    pred: str
    bounds: tuple[Bounds, ...]
    median: bool = (
        False  # whether the prediction is the median, so that it belongs between the bounds
    )
    samples: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of its columns."""
        pred = (self.pred,) if self.pred else ()
        return self.samples or (*pred, *self.bound_names)

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The columns of its bounds."""
        return tuple(name for bounds in self.bounds for name in bounds[:2] if name)

    @property
    def side(self) -> Side:
        """Which bounds there are."""
        if all(bounds.lower for bounds in self.bounds):
            return "both" if all(bounds.upper for bounds in self.bounds) else "lower"
        return "upper"

    @property
    def levels(self) -> tuple[Fraction | None, ...]:
        """Coverage of each pair of bounds."""
        return tuple(bounds.level for bounds in self.bounds)


class Long(NamedTuple):
    """Columns of a table with one row per quantile or per sample; what is None is not there."""

    quantile: str | None
    value: str
    model: str | None
    kind: str | None
    sample: str | None = None

    @property
    def label(self) -> str:
        """The column that tells the rows of a forecast apart."""
        return str(self.quantile if self.quantile is not None else self.sample)

    @property
    def labels(self) -> list[str]:
        """The columns that say what a row holds."""
        columns = (self.model, self.kind, self.label)
        return [name for name in columns if name is not None]

    @property
    def names(self) -> list[str]:
        """All of its columns."""
        return [*self.labels, self.value]


# What a column can be to a model; the name of one that is outside tells a level that no interval can have.
KINDS = ("pred", "median", "mean", "lower", "upper", "sample", "outside")


class _Role(NamedTuple):
    """What one column is to a model: one of `KINDS`, of which level, and whether only where there is no other.

    `quantile` is its probability where the name tells one.
    """

    kind: str
    level: Fraction | None = None
    second_choice: bool = False
    quantile: Fraction | None = None


_ROLES = {"median": _Role("median"), "mean": _Role("mean")} | {
    word: _Role("pred") for word in PREDICTED
}
for _kind, _words in SIDES.items():
    for _word in _words:
        _ROLES |= {_word: _Role(_kind)} | {
            f"{before}_{_word}": _Role(_kind) for before in INTERVALS
        }
        _ROLES |= {
            f"{before}_{_word}": _Role(_kind, second_choice=True) for before in SECOND_CHOICE
        }


def observed_column(names: Sequence[str], *, hint: str = "choose one with `y_true`") -> str | None:
    """Return the column of the observation; None where there is none.

    >>> observed_column(["ds", "Actual", "pred"])
    'Actual'
    """
    plain = {name: plain_name(name) for name in names}
    words = list(OBSERVED)
    if _is_of_hub(plain.values()):
        words.remove("target")
    observed = [name for name in names if plain[name] in words]
    if len(observed) > 1:
        raise ValueError(f"{_listed(observed)} could all be the observation. Hint: {hint}.")
    return observed[0] if observed else None


def _is_of_hub(words: Collection[str]) -> bool:
    """Whether columns are those of a forecast hub, whose `target` says what is forecast."""
    is_long = any(word in words for word in (*QUANTILE, *SAMPLES)) and "value" in words
    return is_long or not HUB.isdisjoint(words)


def model_columns(
    names: Sequence[str],
    *,
    y: str | None = None,
    nameless: str = "model",
    hint: str = "rename or drop the others",
    side: Side | None = None,
) -> dict[str, ModelColumns]:
    """Return the models recognised among `names`; one without a name of its own is called `nameless`.

    Parameters
    ----------
    names : sequence of str
    y : str, optional
        Column of the observation, which is no model's.
    nameless, hint : str
        What to call a model without a name, and what to do where several columns could be meant.
    side : {"both", "upper", "lower"}, optional
        Judge one bound; by default both, or the only one where a table has bounds of one side only.

    Examples
    --------
    >>> model_columns(["ds", "y", "yhat", "yhat_lower", "yhat_upper"], y="y")["model"].names
    ('yhat', 'yhat_lower', 'yhat_upper')
    >>> model_columns(["ETS", "ETS-lo-80", "ETS-hi-80", "ETS-lo-95", "ETS-hi-95"])["ETS"].levels
    (Fraction(4, 5), Fraction(19, 20))
    """
    roles: dict[str, dict[str, _Role]] = {}
    for name in names:
        model, role = ("", None) if name == y else _model_and_role(name)
        if role is not None:
            roles.setdefault(model, {})[name] = role
    if PROPHET.issubset(map(plain_name, names)):
        roles = _without_parts(roles)
    if side is None:
        side = _only_side(roles)
    one_sided = side if side is not None and side != "both" else None
    models: dict[str, ModelColumns] = {}
    for model, of_model in roles.items():
        title = model or nameless
        if one_sided is not None:
            columns = _one_sided(title, of_model, names, one_sided, hint)
        else:
            columns = _columns(title, of_model, names, hint, named=bool(model))
        if columns is not None:
            models[title] = columns
        elif model and one_sided is None:
            _refuse_misspelt(model, of_model, names)
    return models


def _without_parts(roles: Mapping[str, dict[str, _Role]]) -> dict[str, dict[str, _Role]]:
    """Return the columns of a forecast of Prophet without its parts, such as the trend, which tell no level."""

    def is_whole(model: str) -> bool:
        return not model or any(role.level for role in roles[model].values())

    return {model: of_model for model, of_model in roles.items() if is_whole(model)}


def long_columns(names: Sequence[str], *, y: str | None = None) -> Long | None:
    """Return the columns of a table with one row per quantile or per sample; None where it is none.

    >>> long_columns(["location", "output_type", "output_type_id", "value"])
    Long(quantile='output_type_id', value='value', model=None, kind='output_type', sample=None)
    >>> long_columns(["location", "date", "sample_id", "predicted", "model"])
    Long(quantile=None, value='predicted', model='model', kind=None, sample='sample_id')
    """
    by_word = {plain_name(name): name for name in reversed(names) if name != y}

    def first(words: Sequence[str]) -> str | None:
        return next((by_word[word] for word in words if word in by_word), None)

    quantile = first(QUANTILE)
    sample = first(SAMPLES) if quantile is None else None
    value = first(VALUE)
    if value is None or (quantile is None and sample is None):
        return None
    return Long(quantile, value, first(MODEL), first(KIND), sample)


def key_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that tell rows apart in forecasting: series, times and horizons.

    >>> key_columns(["ds", "unique_id", "y", "cutoff"])
    ['ds', 'unique_id', 'cutoff']
    """
    return [name for name in names if plain_name(name) in ("id", *SERIES, *TIMES, *HORIZONS)]


def told_coverage(models: Iterable[ModelColumns]) -> Fraction | None:
    """Return the coverage that the names of all bounds agree on; None where they tell none, or several."""
    levels = {level for columns in models for level in columns.levels}
    return levels.pop() if len(levels) == 1 else None


def told_level(lower: str, upper: str) -> Fraction | None:
    """Return the coverage that the names of two bounds tell together."""
    roles = {
        name: role for name in (lower, upper) if (role := _model_and_role(name)[1]) is not None
    }
    return next((level for level, both in _sides(roles).items() if all(both)), None)


def told_quantile(name: str) -> Fraction | None:
    """Return the probability that a name ends with, such as 0.05, p5 or sales_q0.05; None where it tells none."""
    tokens = _tokens(name)
    points = (_quantile("_".join(tokens[cut:])) for cut in range(len(tokens)))
    return next((point for point in points if point is not None), None)


def plain_name(name: str) -> str:
    """Return a name in lower case, its words joined by underscores."""
    return "_".join(_tokens(name))


def _columns(
    model: str, roles: Mapping[str, _Role], names: Sequence[str], hint: str, *, named: bool
) -> ModelColumns | None:
    """Return the model's columns, or None where some are missing."""
    sides = _sides({name: role for name, role in roles.items() if not role.second_choice})
    if not any(all(both) for both in sides.values()):
        sides = _sides(roles)
    pairs = {level: both for level, both in sides.items() if all(both)}
    centres, median = _centres(model, roles, names)
    if None not in pairs and (
        pairs or median or model in centres
    ):  # surely a model, and one that tells its levels
        outside = [name for name, role in roles.items() if role.kind == "outside"]
        _refuse_incomplete(model, outside, sides)
    if not pairs:
        samples = tuple(name for name, role in roles.items() if role.kind == "sample")
        return ModelColumns("", (), samples=samples) if len(samples) > 1 else None
    if not centres and not _needs_no_prediction(model, roles, names, named=named):
        return None
    groups = [centres, *(side for both in pairs.values() for side in both)]
    if len(pairs) > 1 and None in pairs:
        groups = [[name for both in pairs.values() for side in both for name in side]]
    if rivals := [group for group in groups if len(group) > 1]:
        raise ValueError(
            f"{_listed(rivals[0])} could all belong to {model}. Hint: {hint.format(model=model)}."
        )
    bounds = [Bounds(lower[0], upper[0], level) for level, (lower, upper) in pairs.items()]
    bounds.sort(key=lambda pair: pair.level or Fraction(0))
    return ModelColumns(centres[0] if centres else "", tuple(bounds), median)


def _centres(
    model: str, roles: Mapping[str, _Role], names: Sequence[str]
) -> tuple[list[str], bool]:
    """Return the columns that may be a model's prediction, and whether it is the median."""
    by_kind = {kind: [name for name, role in roles.items() if role.kind == kind] for kind in KINDS}
    own_name = [name for name in names if name.strip() == model and name not in roles]
    named = by_kind["pred"] or own_name
    is_median = not named and bool(by_kind["median"])
    return named or by_kind["median"] or by_kind["mean"], is_median


def _only_side(roles: Mapping[str, Mapping[str, _Role]]) -> Side | None:
    """Return the side that all bounds of a table are on; None where there are both, or none."""
    kinds: set[Side] = set()
    for model, of_model in roles.items():
        known = not model or any(role.level or role.kind == "pred" for role in of_model.values())
        for role in of_model.values():
            if known and role.kind == "lower":
                kinds.add("lower")
            elif known and role.kind == "upper":
                kinds.add("upper")
    return kinds.pop() if len(kinds) == 1 else None


def _one_sided(
    model: str, roles: Mapping[str, _Role], names: Sequence[str], side: Side, hint: str
) -> ModelColumns | None:
    """Return the columns of a model of which one bound is judged, or None where it has none."""
    centres, is_median = _centres(model, roles, names)
    sides = _sides(roles)
    by_level: dict[Fraction | None, list[str]] = {}
    for name, role in roles.items():
        if role.kind == side:
            other = sides[role.level][side == "lower"]
            by_level.setdefault(_one_sided_level(role, side, beside=bool(other)), []).append(name)
    if not by_level:
        return None
    for group in (centres, *by_level.values()):
        if len(group) > 1:
            raise ValueError(
                f"{_listed(group)} could all belong to {model}. Hint: {hint.format(model=model)}."
            )
    bounds = [
        Bounds("", bound, level) if side == "upper" else Bounds(bound, "", level)
        for level, (bound,) in by_level.items()
    ]
    bounds.sort(key=lambda pair: pair.level or Fraction(0))
    return ModelColumns(centres[0] if centres else "", tuple(bounds), is_median)


def _one_sided_level(role: _Role, side: Side, *, beside: bool) -> Fraction | None:
    """Return the coverage of one bound: that of its quantile, or of its interval where it is `beside` the other."""
    if role.quantile is not None:
        return role.quantile if side == "upper" else 1 - role.quantile
    if role.level is not None and beside:
        return (1 + role.level) / 2
    return role.level


def _refuse_incomplete(
    model: str,
    outside: Sequence[str],
    sides: Mapping[Fraction | None, _BothSides],
) -> None:
    """Refuse a level with one side only, and one that no interval can have."""
    if outside:
        raise ValueError(
            f"levels of {model} must lie between 0 and 1, both excluded; `{outside[0]}` does not. Hint: drop it."
        )
    for level, (lower, upper) in sides.items():
        if level is not None and not (lower and upper):
            absent = "upper" if lower else "lower"
            raise ValueError(
                f"levels of {model} must have both bounds: `{(lower or upper)[0]}` has no {absent} bound. "
                "Hint: add the other side, or drop this one."
            )


def _refuse_misspelt(model: str, roles: Mapping[str, _Role], names: Sequence[str]) -> None:
    """Refuse a model that has a prediction and one bound, or a column whose name is nearly one that is missing."""
    missing = [
        kind
        for kind in ("pred", "lower", "upper")
        if kind not in {role.kind for role in roles.values()}
    ]
    near = _near_misses(model, roles, names, missing)
    if near or missing in (["lower"], ["upper"]):
        lacks = " and ".join({"pred": "prediction"}.get(kind, f"{kind} bound") for kind in missing)
        seen = (
            f": {_listed(near)} {'is' if len(near) == 1 else 'are'} not recognised" if near else ""
        )
        raise ValueError(f"{model} has no {lacks}{seen}. Hint: rename or drop its columns.")


def _near_misses(
    model: str, roles: Mapping[str, _Role], names: Sequence[str], missing: Sequence[str]
) -> list[str]:
    """Return columns whose names are nearly those of what a model lacks."""
    rest = {
        name: plain_name(name[len(model) :])
        for name in names
        if name.startswith(model) and name not in roles
    }
    return [
        name
        for name, word in rest.items()
        if difflib.get_close_matches(word, missing, n=1, cutoff=0.75)
    ]


def _needs_no_prediction(
    model: str, roles: Mapping[str, _Role], names: Sequence[str], *, named: bool
) -> bool:
    """Whether two bounds alone are a model: they tell a level, or have no name, and no prediction is misspelt."""
    tells = any(role.level is not None for role in roles.values())
    return (tells or not named) and not _near_misses(model, roles, names, ["pred"])


def _sides(roles: Mapping[str, _Role]) -> dict[Fraction | None, _BothSides]:
    """Return lower and upper bounds by their level."""
    sides: dict[Fraction | None, _BothSides] = {}
    for name, role in roles.items():
        if role.kind in ("lower", "upper"):
            sides.setdefault(role.level, ([], []))[role.kind == "upper"].append(name)
    return sides


def _model_and_role(name: str) -> tuple[str, _Role | None]:
    """Return the model that a column name speaks of ('' for none) and its role in it (None for none)."""
    spans = [match.span() for match in _TOKEN.finditer(name)]
    tokens = _tokens(name)
    if name.strip() == "VaR":  # in any other spelling it may be a variance
        return "", _Role("upper")
    for cut in range(
        len(tokens)
    ):  # the longest role first: NAME_lower_bound, not NAME_lower and bound
        if role := _role(tokens[cut:]):
            before = name[: spans[cut - 1][1]].strip() if cut else ""
            return ("" if "_".join(tokens[:cut]) in NO_MODEL else before), role
    for cut in range(len(tokens) - 1, 0, -1):
        if role := _role(tokens[:cut]):
            return name[spans[cut][0] :].strip(), role
    return "", None


def _role(tokens: Sequence[str]) -> _Role | None:
    """Return the role that words have together."""
    text = "_".join(tokens)
    if text in _ROLES or _SAMPLE.fullmatch(text):
        return _ROLES.get(text, _Role("sample"))
    point = _quantile(text)
    if point is not None:
        kind = "median" if 2 * point == 1 else "lower" if 2 * point < 1 else "upper"
        level = abs(1 - 2 * point)
        return _Role(kind, level, quantile=point) if 0 < point < 1 else _Role("outside")
    at_risk = _AT_RISK.fullmatch(text)
    if at_risk is not None:
        number = Fraction(at_risk[1])
        point = number / 100 if number >= 1 else number
        return _Role("upper", abs(1 - 2 * point), quantile=point) if 0 < point < 1 else None
    match = _LEVEL.fullmatch(text)
    if match is None:
        return None
    word, number = match[1] or match[4], Fraction(match[2] or match[3])
    level = number / 100 if number >= 1 else number
    if level >= 1 and word in ("lo", "hi"):
        return _Role("outside")
    return (
        _Role(_ROLES[word].kind, level) if Fraction(1, 10) <= level < 1 else None
    )  # lower_1: the number of a model


def _quantile(text: str) -> Fraction | None:
    """Return the probability in a name such as q05, q0.05, q2.5, p5, ql0.05, q_10, quantile_0.05, 0.05 or 5%.

    >>> [
    ...     str(_quantile(name))
    ...     for name in ("q5", "q05", "p2.5", "q0.025", "q975", "p50", "0.1", "2.5%", "p100", "5")
    ... ]
    ['1/20', '1/20', '1/40', '1/40', '39/40', '1/2', '1/10', '1/40', '1', 'None']
    """
    match = _QUANTILE.fullmatch(text)
    if not match:
        return None
    number = match[1] or match[2] or match[3]
    if number.startswith("0.") and not match[3]:
        return Fraction(number)
    percent = match[3] or "." in number or len(number) < 3 or number == "100"
    return Fraction(number) / 100 if percent else Fraction(f"0.{number}")


def _tokens(name: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(name)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
