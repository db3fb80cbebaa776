"""Sketch: what the curve needs of any number of rows, in a few mergeable kilobytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, overload

from uccurve.intervals import Intervals, Missing

from ._bins import PER_OCTAVE, checked
from ._state import Sketched, State
from .curve import SketchUCC

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


class UCCSketch(Sketched):
    """Curve of any number of rows in constant memory; sketches of parts add up to the sketch of the whole.

    Rows are binned by their critical scale, those with the wider band on the side of the error also by the scale from
    which their other bound is the nearer one, and all by their error, which gives the curve of the constant band. A bin
    keeps its number of rows, minimum, maximum and sums. Bins of one resolution are the same in every sketch.

    Parameters
    ----------
    resolution : {16, 32, 64, 128}
        Number of bins per factor of two. Twice as many make a sketch twice as large, and brackets of scales half and
        those of areas a quarter as wide. Only sketches of one resolution can be merged.

    Attributes
    ----------
    rows : int
        Number of rows that carry weight.
    raised, dropped : int
        Number of bands that `min_band` raised and of rows that ``missing="drop"`` left out.

    Notes
    -----
    Counts, bins and extremes of merged sketches do not depend on the order of merging. Float sums depend on it in
    their last digits; ``==`` ignores these and brackets allow for them. Weights are used as given, so those of
    different sketches must be on one scale.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> s = UCCSketch().update(iv)
    >>> s
    UCCSketch(3 rows, 2 bins of the scale)
    >>> s == UCCSketch().update(iv[:1]) + UCCSketch().update(iv[1:])
    True
    >>> round(s.ucc().area(), 12)  # bandwidth 2 times the mean critical scale 4/3
    2.666666666667
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # a sketch can be updated

    def __init__(self, resolution: int = PER_OCTAVE) -> None:
        self._state = State(resolution=checked(resolution))

    @overload
    @classmethod
    def from_frame(
        cls,
        frame: IntoFrame,
        *,
        y_true: str = ...,
        y_pred: str = ...,
        lower: str = ...,
        upper: str = ...,
        weight: str | None = ...,
        by: None = ...,
        min_band: float | str | None = ...,
        missing: Missing = ...,
        resolution: int = ...,
    ) -> Self: ...

    @overload
    @classmethod
    def from_frame(
        cls,
        frame: IntoFrame,
        *,
        y_true: str = ...,
        y_pred: str = ...,
        lower: str = ...,
        upper: str = ...,
        weight: str | None = ...,
        by: str | list[str],
        min_band: float | str | None = ...,
        missing: Missing = ...,
        resolution: int = ...,
    ) -> dict[Any, Self]: ...

    @classmethod
    def from_frame(
        cls,
        frame: IntoFrame,
        *,
        y_true: str = "y_true",
        y_pred: str = "y_pred",
        lower: str = "lower",
        upper: str = "upper",
        weight: str | None = None,
        by: str | list[str] | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
        resolution: int = PER_OCTAVE,
    ) -> Self | dict[Any, Self]:
        """Sketch of the named columns of any frame that narwhals supports, computed by the engine that holds it.

        Parameters
        ----------
        frame : IntoFrame
            pandas, Polars, PyArrow, DuckDB, Ibis, Dask, PySpark and others. Lazy ones stay where they are: one pass
            over the rows is pushed down, and only the bins come back.
        y_true, y_pred, lower, upper, weight : str
            Names of the columns.
        by : str or list of str, optional
            Columns to group by: the answer is a dict with one sketch per group, from the same pass.
        min_band : float or str, optional
            As in `Intervals.from_bounds`; a percentage takes one more pass, for the mean half-width of all rows
            regardless of group. That is a float sum, so the bands raised to it may differ in the last digits between
            engines.
        missing : {"raise", "drop"}
            Refuse rows with NaN, null or infinity, or leave them out with a `DroppedRowsWarning`.
        resolution : {16, 32, 64, 128}
            Number of bins per factor of two.

        Returns
        -------
        UCCSketch, or dict of UCCSketch by group (a tuple of values where `by` is a list)

        Examples
        --------
        >>> import polars as pl
        >>> data = {"y_true": [1, 2, 4], "y_pred": [0, 0, 0], "lower": [-1, -1, -4], "upper": [1, 1, 4]}
        >>> UCCSketch.from_frame(pl.LazyFrame(data))
        UCCSketch(3 rows, 2 bins of the scale)
        >>> UCCSketch.from_frame(pl.LazyFrame(data | {"site": ["N", "S", "S"]}), by="site")["S"]
        UCCSketch(2 rows, 2 bins of the scale)
        """
        from uccurve._frames import opened

        from ._engines import Columns, Scan, states

        keys = [by] if isinstance(by, str) else by or ()
        roles = {"y_true": y_true, "y_pred": y_pred, "lower": lower, "upper": upper, "weight": weight}
        named = {role: name for role, name in roles.items() if name is not None}
        named |= {f"by[{i}]" if len(keys) > 1 else "by": key for i, key in enumerate(keys)}
        labels = {f"by_{i}": key for i, key in enumerate(keys)}
        options: Any = {"min_band": min_band, "missing": missing, "resolution": resolution}
        columns = [Columns("", y_pred, lower, upper)]
        scan = Scan.of(opened(frame, named), columns, y_true, weight, labels, **options)
        (found,) = states(scan)
        sketches = {group: cls._of(state) for group, state in found.items()}
        if by is None:
            return sketches[()]
        return {group[0]: one for group, one in sketches.items()} if isinstance(by, str) else sketches

    @classmethod
    def _of(cls, state: State) -> Self:
        self = cls()
        self._state = state
        return self

    def update(self, intervals: Intervals) -> Self:
        """Add rows, in place; returns the sketch itself.

        Examples
        --------
        >>> UCCSketch().update(Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2])).rows
        2
        """
        if not isinstance(intervals, Intervals):
            raise TypeError(f"`intervals` must be Intervals; got {type(intervals).__name__}.")
        self._state = State.union([self._state, State.of(intervals, self.resolution)])
        return self

    def merge(self, other: UCCSketch) -> Self:
        """Add another sketch's rows, in place; returns the sketch itself. ``a + b`` makes a new one."""
        if not isinstance(other, UCCSketch):
            raise TypeError(f"`other` must be a UCCSketch; got {type(other).__name__}. Hint: update takes Intervals.")
        self._state = State.union([self._state, other._state])
        return self

    def __add__(self, other: UCCSketch) -> Self:
        if not isinstance(other, UCCSketch):
            return NotImplemented
        return self._of(State.union([self._state, other._state]))

    def __radd__(self, other: object) -> Self:
        return self + UCCSketch(self.resolution) if other == 0 else NotImplemented  # sum() starts from 0

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same rows: equal bins, counts and extremes, and sums equal up to rounding."""
        if not isinstance(other, UCCSketch):
            return NotImplemented
        return self._state.agrees(other._state)

    def ucc(self) -> SketchUCC:
        """Curve over the scale, with the answers of a `UCC` and their brackets.

        Examples
        --------
        >>> c = UCCSketch().update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).ucc()
        >>> low, high = c.bracket("area", axes=("bandwidth", "deficit"))
        >>> low <= 3 <= high, high - low < 1e-12
        (True, True)
        """
        return SketchUCC(self)

    def to_json(self) -> str:
        """Return the sketch as JSON: arrays of numbers, exact to the last bit.

        Examples
        --------
        >>> s = UCCSketch().update(Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2]))
        >>> UCCSketch.from_json(s.to_json()) == s
        True
        """
        from ._saved import to_json

        return to_json(self._state)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Sketch from `to_json`; refused where it cannot be the sketch of any rows."""
        from ._saved import from_json

        return cls._of(from_json(text))

    @property
    def resolution(self) -> int:
        """Number of bins per factor of two."""
        return self._state.resolution

    @property
    def nbytes(self) -> int:
        """Size of all bins in bytes; at most 1.6 MB at a resolution of 16, whatever the rows."""
        return self._state.nbytes

    def __repr__(self) -> str:
        rows = f"{self.rows} row{'' if self.rows == 1 else 's'}"
        notes = [f"{self.raised} bands raised"] * bool(self.raised)
        notes += [f"{self.dropped} rows dropped"] * bool(self.dropped)
        count = len(self._state.critical.bin)
        bins = f"{count} bin{'' if count == 1 else 's'} of the scale"
        return f"UCCSketch({', '.join([rows, bins, *notes])})"
