"""State: what a sketch keeps of its rows, how rows in memory come into it, and its JSON.

The JSON has a digest of its numbers, so that no changed or damaged text is read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np

from uccurve._door import ENDLESS
from uccurve._paths import ScalePath
from uccurve._vocabulary import Array
from uccurve.intervals import Intervals

from ._bins import ARRAYS, OCTAVES, PER_OCTAVE, RESOLUTIONS, Histogram, bits

# What each histogram sums, times the weights: `product` is the error times the number that is binned.
SUMS = {
    "critical": ("weight", "active", "width", "error", "scale", "product"),
    "crossover": ("gap", "error", "product"),
    "errors": ("weight", "error", "product"),
}
EMPTY = {name: Histogram.empty(sums) for name, sums in SUMS.items()}
TOTALS = ("y_sum", "y_squares", "weight_squares")
EXTREMES = ("lightest", "heaviest")  # of the weights
COUNTS = ("raised", "dropped")
HEAD = {"format": "uccurve sketch", "version": 4, "octaves": OCTAVES}
LONGEST = 2**27  # maximum number of characters of JSON that is read; the largest sketch has fewer
NEED_ROWS = "Hint: use a UCC of the rows, or assess."
OVERFLOW = (
    "the sums of the rows must stay within float64: they do not. "
    "Hint: divide all columns by a common unit first."
)


@dataclass(frozen=True, slots=True, eq=False)
class SketchState:
    """Three histograms and a few totals of rows that carry weight.

    `critical` bins all rows by their critical scale, `crossover` those whose wider band is on the side of the error by
    the scale from which their other bound is the nearer one, and `errors` all rows by their error, which is the
    critical scale in a constant band of 1. Rows without weights weigh 1.
    """

    critical: Histogram = EMPTY["critical"]
    crossover: Histogram = EMPTY["crossover"]
    errors: Histogram = EMPTY["errors"]
    weighted: bool = False
    y_sum: float = 0.0
    y_squares: float = 0.0
    weight_squares: float = 0.0
    lightest: float = np.inf
    heaviest: float = 0.0
    raised: int = 0
    dropped: int = 0
    resolution: int = PER_OCTAVE

    def __post_init__(self) -> None:
        sums = [
            values for histogram in self.histograms.values() for values in histogram.sums.values()
        ]
        totals = np.array([getattr(self, name) for name in TOTALS])
        if not all(np.isfinite(values).all() for values in (*sums, totals)):
            raise ValueError(OVERFLOW)

    @classmethod
    def of(cls, intervals: Intervals, resolution: int = PER_OCTAVE) -> Self:
        """State of rows in memory."""
        _refuse_other_kinds(intervals)
        path = ScalePath.of(intervals)
        y = intervals.in_units(intervals.y_true).ravel()
        if len(path) < len(y):  # rows without weight are left out
            y = y[np.flatnonzero(intervals.weight)]
        weight = np.ones(len(y)) if path.weight is None else path.weight
        with np.errstate(over="ignore"):
            bands = {
                "active": path.active,
                "width": path.lower_band + path.upper_band,
                "error": path.error,
            }
            columns = {"weight": weight, **bands}
            return cls(
                **_histograms(columns, path.critical, resolution),
                weighted=path.weight is not None,
                y_sum=float(np.sum(weight * y)),
                y_squares=float(np.sum(weight * y * y)),
                weight_squares=float(np.sum(weight * weight)),
                lightest=float(weight.min(initial=np.inf)),
                heaviest=float(weight.max(initial=0.0)),
                raised=intervals.raised,
                dropped=intervals.dropped,
                resolution=resolution,
            )

    @property
    def histograms(self) -> Mapping[str, Histogram]:
        """All histograms by name."""
        return {"critical": self.critical, "crossover": self.crossover, "errors": self.errors}

    @property
    def rows(self) -> int:
        """Number of rows that carry weight."""
        return int(self.critical.rows.sum())

    @property
    def total(self) -> float:
        """Sum of the weights; the number of rows without any."""
        return self.critical.total("weight")

    @property
    def unequal(self) -> bool:
        """Whether some rows count more than others."""
        return self.lightest < self.heaviest

    @property
    def effective(self) -> float:
        """Number of rows of equal weight that say as much (Kish 1965)."""
        return self.total**2 / self.weight_squares if self.unequal else float(self.rows)

    @classmethod
    def union(cls, states: Sequence[Self]) -> Self:
        """State of the rows of all of them."""
        resolutions = sorted(
            {state.resolution for state in states if state.rows} or {states[0].resolution}
        )
        if len(resolutions) > 1:
            raise ValueError(
                f"sketches must have one `resolution` to be merged; these have {' and '.join(map(str, resolutions))}, "
                "whose bins do not nest. Hint: make them again with one."
            )
        parts: dict[str, Any] = {
            name: Histogram.union([state.histograms[name] for state in states]) for name in SUMS
        }
        return cls(
            **parts,
            **{name: sum(getattr(state, name) for state in states) for name in (*TOTALS, *COUNTS)},
            weighted=any(state.weighted for state in states),
            lightest=min(state.lightest for state in states),
            heaviest=max(state.heaviest for state in states),
            resolution=resolutions[0],
        )

    def agrees(self, other: Self) -> bool:
        """Whether both hold the same rows: equal bins, counts and maxima, and sums equal up to rounding."""
        if any(
            getattr(self, name) != getattr(other, name)
            for name in ("weighted", "resolution", *EXTREMES, *COUNTS)
        ):
            return False
        slack = self.errors.rounding * np.array(
            [(self.total * self.y_squares) ** 0.5, self.y_squares, self.weight_squares]
        )
        off = np.array([getattr(self, name) - getattr(other, name) for name in TOTALS])
        return bool(np.all(np.abs(off) <= slack)) and all(
            histogram.agrees(other.histograms[name]) for name, histogram in self.histograms.items()
        )


def _refuse_other_kinds(intervals: Intervals) -> None:
    """Refuse rows whose sums would say something else."""
    if intervals.side != "both":
        raise ValueError(
            f"a sketch judges both bounds, and these intervals judge the {intervals.side} one alone. {NEED_ROWS}"
        )
    if intervals.support != ENDLESS:
        raise ValueError(f"a sketch knows no `support` at which bounds end. {NEED_ROWS}")


def _histograms(
    columns: dict[str, Array], critical: Array, resolution: int
) -> dict[str, Histogram]:
    gap, twice = 2 * columns["active"] - columns["width"], 2 * columns["error"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossover = twice / gap
    rows = np.flatnonzero((gap > 0) & np.isfinite(crossover))
    wider = {name: column[rows] for name, column in (columns | {"gap": gap}).items()}
    return {
        "critical": _histogram("critical", critical, columns, resolution),
        "crossover": _histogram("crossover", crossover[rows], wider, resolution),
        "errors": _histogram("errors", columns["error"], columns, resolution),
    }


def _histogram(
    name: str, numbers: Array, columns: Mapping[str, Array], resolution: int
) -> Histogram:
    weight, factors = (
        columns["weight"],
        {**columns, "scale": numbers, "product": columns["error"] * numbers},
    )
    sums = {key: weight if key == "weight" else weight * factors[key] for key in SUMS[name]}
    return tidy(Histogram.of_rows(numbers, sums, resolution))


def tidy(histogram: Histogram) -> Histogram:
    """Drop the infinite sums of uncoverable rows: those that are multiplied by the critical scale."""
    sums = {
        name: np.where(histogram.infinite, 0.0, values) if name in ("scale", "product") else values
        for name, values in histogram.sums.items()
    }
    return Histogram(histogram.bin, histogram.rows, histogram.maximum, sums)


# ---- JSON


def to_json(state: SketchState) -> str:
    """Write a sketch: single numbers first, then the arrays of each histogram; infinity is null."""
    body: dict[str, Any] = HEAD | {"digest": _digest(state), "bits": bits(state.resolution)}
    body |= {name: getattr(state, name) for name in ("weighted", *COUNTS, *TOTALS, "heaviest")}
    body["lightest"] = state.lightest if state.rows else None
    for name, histogram in state.histograms.items():
        arrays = {key: values.tolist() for key, values in histogram.arrays.items()}
        body[name] = arrays | {
            "maximum": [None if value == np.inf else value for value in arrays["maximum"]]
        }
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def _digest(state: SketchState) -> str:
    """Digest of all numbers, however a database may have rewritten their text."""
    single = [
        state.resolution,
        state.weighted,
        *(getattr(state, name) for name in (*COUNTS, *TOTALS, *EXTREMES)),
    ]
    arrays = [
        values for histogram in state.histograms.values() for values in histogram.arrays.values()
    ]
    return sha256(
        b"".join(np.asarray(part, "<f8").tobytes() for part in (single, *arrays))
    ).hexdigest()


def from_json(text: str | bytes) -> SketchState:
    """Read a sketch; ValueError where the text is not one."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"`text` must be a str or bytes; got {type(text).__name__}.")
    if len(text) > LONGEST:
        raise _refusal(f"it must not be longer than {LONGEST} characters; it has {len(text)}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"it is not JSON ({type(error).__name__})") from None
    if not isinstance(body, dict):
        raise _refusal(f"it must be an object, not {type(body).__name__}")
    for name, value in HEAD.items():
        if body.get(name) != value or isinstance(body.get(name), bool):
            raise _refusal(f"`{name}` must be {value!r}, as this version of uccurve writes it")
    try:
        state = _read(body)
        same = json.loads(to_json(state)) == body
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        same = False
    if not same:
        raise _refusal("its names and numbers must be those that were written; some are not")
    return state


def _read(body: dict[str, Any]) -> SketchState:
    """State of what was written; an error of some kind, or another state, where it was changed."""
    resolution = {bits(resolution): resolution for resolution in RESOLUTIONS}[body["bits"]]
    parts: dict[str, Any] = {name: body[name] for name in (*COUNTS, *TOTALS, "heaviest")}
    parts["weighted"] = body["weighted"] is True
    parts["lightest"] = np.inf if body["lightest"] is None else body["lightest"]
    for name, sums in SUMS.items():
        if any(isinstance(value, bool | str) for values in body[name].values() for value in values):
            raise TypeError(name)
        given = {key: np.array(body[name][key], np.float64) for key in (*ARRAYS, *sums)}
        number, rows = (given[key].astype(np.int64) for key in ("bin", "rows"))
        maximum = np.where(np.isnan(given["maximum"]), np.inf, given["maximum"])  # null
        parts[name] = Histogram(number, rows, maximum, {key: given[key] for key in sums})
    return SketchState(**parts, resolution=resolution)


def _refusal(what: str) -> ValueError:
    return ValueError(
        f"`text` must be the JSON of a sketch: {what}. Hint: read what UCCSketch.to_json wrote."
    )
