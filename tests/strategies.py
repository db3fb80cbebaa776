"""Rows that tell right from wrong: asymmetric, tied, weighted, off-centre, zero-banded, tiny and huge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import reject
from hypothesis import strategies as st

import uccurve as ucc
from oracle import PAIRS, Oracle, rows

LIMIT = (
    2.0**53 * 1e-9
)  # about 9e6: the widest band, in mean errors, up to which a shift is added to nine digits
COLUMNS = ("y_true", "y_pred", "lower_band", "upper_band")
Cell = tuple[float, float, float, float]  # y_pred, error, lower band, upper band


@dataclass(frozen=True)
class Data:
    """Columns for the package and for the oracle alike."""

    y_true: tuple[float, ...]
    y_pred: tuple[float, ...]
    lower_band: tuple[float, ...]
    upper_band: tuple[float, ...]
    weight: tuple[float, ...] | None = None
    side: str = "both"
    support: tuple[float | None, float | None] = (None, None)

    def intervals(self) -> ucc.Intervals:
        return ucc.Intervals.from_bands(
            self.y_true,
            self.y_pred,
            self.lower_band,
            self.upper_band,
            weight=self.weight,
            side=self.side,  # type: ignore[arg-type]  # drawn from the names
            support=self.support,
        )

    def curve(self, vary: str = "scale") -> Any:
        """The package's curve; typed loosely because the tests call it with names from a list."""
        return curve(self.intervals(), vary)

    def oracle(self, vary: str = "scale") -> Oracle:
        return Oracle(
            rows(
                self.y_true,
                self.y_pred,
                self.lower_band,
                self.upper_band,
                self.weight,
                side=self.side,
                support=self.support,
            ),
            vary,
        )


def curve(iv: ucc.Intervals, vary: str = "scale") -> Any:
    """The package's curve; other rows are drawn where it must refuse these, and does."""
    c = ucc.UCC(iv, vary=vary)  # type: ignore[arg-type]  # the name comes from a list
    weight = iv.weight
    bands = {"upper": iv.upper_band, "lower": iv.lower_band}
    judged_bands = [*bands.values()] if iv.side == "both" else [bands[iv.side]]
    widest = max(float(band[weight > 0].max()) for band in judged_bands)
    if vary == "shift" and iv.side != "both":
        sign = -1 if iv.side == "lower" else 1
        away = np.abs(sign * (iv.y_true - iv.y_pred) - bands[iv.side])
        refused_beyond(c, widest, float(np.sum(weight * away)))
    elif vary == "shift":
        refused_beyond(c, widest, float(np.sum(weight * np.abs(iv.y_true - iv.y_pred))))
    else:
        _refused_beyond_float64(c)
    return c


def _refused_beyond_float64(c: ucc.UCC) -> None:
    """Where a curve over the scale is refused, fail unless float64 cannot hold it, and draw other rows."""
    try:
        c.at(1.0)
    except ValueError as error:
        iv, sentence = c.intervals, str(error)
        y_true, y_pred, lower, upper = (getattr(iv, name).tolist() for name in COLUMNS)
        oracle = Oracle(rows(y_true, y_pred, lower, upper, iv.weight.tolist()))
        if "leaves the range of float64" in sentence:
            assert oracle.value("bandwidth", oracle.end) > Fraction(10) ** 199
        else:
            assert "float64 cannot hold a band of " in sentence
            widest = max(max(row.lower_band, row.upper_band) for row in oracle.rows)
            assert widest * oracle.end > 10**18 * oracle.value("excess", oracle.end)
        reject()


def refused_beyond(c: ucc.UCC, widest: float, error: float) -> None:
    """Where a band is wider than LIMIT mean errors, fail unless the curve refuses that, and draw other rows."""
    if not widest > LIMIT * error > 0:
        return
    if widest > LIMIT * error * (1 + 1e-9):  # else rounding decides
        with pytest.raises(
            ValueError,
            match=r"bands and errors of comparable size: the largest band is .* mean error",
        ):
            c.at(1.0)
    reject()


def _data(cells: Sequence[Cell], weight: Sequence[float] | None, never: bool) -> Data:
    pred, error, lower, upper = (list(column) for column in zip(*cells, strict=True))
    true = [p + z for p, z in zip(pred, error, strict=True)]
    if not never:  # a row off its prediction gets the smallest positive band of the set on the side of its error
        spare = min([band for band in lower + upper if band > 0], default=1.0)
        for i, (y, p) in enumerate(zip(true, pred, strict=True)):
            upper[i] = upper[i] or (spare if y > p else 0.0)
            lower[i] = lower[i] or (spare if y < p else 0.0)
    return Data(
        tuple(true),
        tuple(pred),
        tuple(lower),
        tuple(upper),
        None if weight is None else tuple(weight),
    )


def _weights(n: int) -> st.SearchStrategy[Sequence[float]]:
    whole = st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n)
    real = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e3)), min_size=n, max_size=n)
    return st.one_of(whole, real, whole).filter(any)


@st.composite
def _filled(
    draw: st.DrawFn, cell: st.SearchStrategy[Cell], max_size: int, weighted: bool, never: bool
) -> Data:
    many = 31 if max_size > 30 else 1  # who asks for many rows wants many
    cells = draw(st.lists(cell, min_size=many, max_size=max_size))
    weight = draw(st.one_of(st.none(), _weights(len(cells)))) if weighted else None
    return _data(cells, weight, never)


def dyadic(
    max_size: int = 8, *, weighted: bool = True, never: bool = False
) -> st.SearchStrategy[Data]:
    """Quarters: every error, band and shift is a float without rounding, and ties and hits on a bound abound."""
    quarter = st.integers(-12, 12).map(lambda n: n / 4)
    band = st.integers(0, 10).map(lambda n: n / 4)
    return _filled(st.tuples(quarter, quarter, band, band), max_size, weighted, never)


def real(
    max_size: int = 8, *, weighted: bool = True, never: bool = False
) -> st.SearchStrategy[Data]:
    """Floats in general position, some bands zero or equal."""
    size = st.floats(1e-3, 1e3)
    band = st.one_of(size, size, st.sampled_from([0.0, 0.1, 0.3, 1.0]))
    error = st.one_of(size, size.map(lambda v: -v), st.sampled_from([0.0, 0.1, -0.3]))
    pred = st.floats(-1e3, 1e3).map(
        lambda v: v if abs(v) > 1e-90 else 0.0
    )  # smaller ones are refused
    return _filled(st.tuples(pred, error, band, band), max_size, weighted, never)


@st.composite
def extreme(draw: st.DrawFn, max_size: int = 6, *, weighted: bool = True) -> Data:
    """From 1e-100 to 1e100, about one magnitude or spread over many."""
    centre, spread = draw(st.integers(-100, 99)), draw(st.sampled_from([1, 10, 100]))
    power = st.integers(max(-100, centre - spread), min(99, centre + spread))
    size = st.builds(lambda head, p: float(f"{head}e{p}"), st.floats(1.0, 9.9), power)
    band = st.one_of(size, size, size, st.just(0.0))
    error = st.one_of(size, size.map(lambda v: -v), st.just(0.0))
    return draw(_filled(st.tuples(st.just(0.0), error, band, band), max_size, weighted, False))


def mixed(
    max_size: int = 8, *, weighted: bool = True, never: bool = False
) -> st.SearchStrategy[Data]:
    return st.one_of(
        dyadic(max_size, weighted=weighted, never=never),
        real(max_size, weighted=weighted, never=never),
    )


@st.composite
def judged(draw: st.DrawFn, inner: st.SearchStrategy[Data], *, supported: bool = True) -> Data:
    """Rows of which one bound or both are judged, and whose bounds may end somewhere, also at an observation."""
    data = draw(inner)
    seen = [*data.y_true, *data.y_pred]
    room = st.integers(0, 12).map(lambda n: n / 4)
    low = min(seen) - draw(room) if supported and draw(st.booleans()) else None
    high = max(seen) + draw(room) if supported and draw(st.booleans()) else None
    if low is not None and low == high:
        high = None
    side = draw(st.sampled_from(["both", "upper", "lower"]))
    return replace(data, side=side, support=(low, high))


varies = st.sampled_from(["scale", "shift"])
pairs = st.sampled_from(PAIRS)
fractions = st.integers(0, 64).map(lambda n: Fraction(n, 64))
