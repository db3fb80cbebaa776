"""Options: what a person writes on the command line, as the library takes it."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from uccurve import _checks as checks
from uccurve._checks import Range, Unit

from ._conventions import Columns, model_option, split_names
from ._labels import by_option
from ._loading import Request
from ._tables import Dialect


class Vary(StrEnum):
    """What a calibration does to the bands."""

    SCALE = "scale"
    SHIFT = "shift"


class Tails(StrEnum):
    """Whether both sides of an interval share a factor, or each has its own."""

    JOINT = "joint"
    SEPARATE = "separate"


class Fallback(StrEnum):
    """What calibrates groups that were never seen."""

    POOLED = "pooled"


class Engine(StrEnum):
    """What reads the files: memory answers exactly and knows tests, the others stream."""

    MEMORY = "memory"
    POLARS = "polars"
    DUCKDB = "duckdb"
    DASK = "dask"
    SPARK = "spark"


class Missing(StrEnum):
    """What happens to rows with a missing number."""

    RAISE = "raise"
    DROP = "drop"


class Decimal(StrEnum):
    """The decimal sign of a CSV file."""

    POINT = "."
    COMMA = ","


def share(text: str) -> Fraction:
    """Return a share of rows written as 0.9 or as 90%, exactly as written.

    >>> share("90%"), share("0.9")
    (Fraction(9, 10), Fraction(9, 10))
    """
    try:
        percent = text.strip().endswith("%")
        value = Fraction(text.strip().rstrip("% ")) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"write a share of the rows as 0.9 or 90%; got {text!r}.") from None
    if not 0 < value < 1:
        near = f" Did you mean {text.strip()}%?" if 1 < value < 100 and not percent else ""
        raise typer.BadParameter(f"a share must lie between 0 and 1, both excluded; got {text!r}.{near}")
    return value


def _axes(text: str) -> Any:
    try:
        return checks.axes([name.strip().replace("-", "_") for name in text.split(",")])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _range(text: str) -> Range:
    try:
        low, high = (float(end) for end in text.split(":"))
        return checks.span("range", (low, high))
    except ValueError:
        raise typer.BadParameter(f"write a range as LOW:HIGH, such as 0:0.5; got {text!r}.") from None


def _unit(text: str) -> Unit:
    try:
        return text if text in ("raw", "std") else float(text)
    except ValueError:
        raise typer.BadParameter(f"a unit is raw, std or a number; got {text!r}.") from None


def _min_band(text: str) -> float | str:
    try:
        return text if text.endswith("%") else float(text)
    except ValueError:
        raise typer.BadParameter(f"a minimum band is a number in units of y, or a percentage; got {text!r}.") from None


def _margin(text: str) -> float | str:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"a margin is a number in units of y, or a percentage; got {text!r}.")
    return text if text.endswith("%") else value


def _names(text: str) -> tuple[str, ...]:
    names = split_names(text)
    if not all(names):
        raise typer.BadParameter(f"separate columns by single commas; got {text!r}.")
    return tuple(names)


def models_option(texts: list[str] | None) -> dict[str, Columns]:
    """Models by name, as given by --model."""
    try:
        pairs = [model_option(text) for text in texts or []]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--model") from None
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"the model name {name!r} is given twice.", param_hint="--model")
    return dict(pairs)


def request(
    *,
    y: str | None,
    model: list[str] | None,
    by: list[str] | None = None,
    missing: Missing,
    decimal: Decimal,
    na: list[str] | None,
    **others: Any,
) -> Request:
    """Return what all commands that read files were asked for."""
    for text in by or []:
        _names(text)
    return Request(
        y=y,
        models=models_option(model),
        by=by_option(by or []),
        missing=missing.value,
        dialect=Dialect(decimal.value, tuple(na or ())),
        **others,
    )


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help="CSV or Parquet (also .gz, .zst), a folder of Parquet files, or - for standard input."
    ),
]
Coverage = Annotated[
    Any,
    typer.Option(
        "--coverage", metavar="C", parser=share, help="Promised coverage, 0.9 or 90%; else from the column names."
    ),
]
Confidence = Annotated[
    Any,
    typer.Option(
        "--confidence", metavar="P", parser=share, help="Reach the coverage in this share of calibration sets."
    ),
]
Level = Annotated[Any, typer.Option("--level", metavar="P", parser=share, help="False-alarm rate of the whole gate.")]
ConfidenceLevel = Annotated[
    Any, typer.Option("--confidence-level", metavar="P", parser=share, help="Of confidence intervals and tests.")
]
Y = Annotated[str | None, typer.Option("--y", metavar="COL", help="Column of the observation.", show_default=False)]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME=PRED,LOWER,UPPER", help="A model and its columns; repeatable."),
]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of the row weights.")]
By = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="COL[,COL]", help="Segments of the rows; repeatable, columns combine by commas."),
]
Block = Annotated[
    str | None,
    typer.Option("--block", metavar="COL|N", help="Dependent rows: a column of labels, or N consecutive rows."),
]
On = Annotated[
    Any, typer.Option("--on", metavar="COL[,COL]", parser=_names, help="Match the rows of several files by these.")
]
MinBand = Annotated[
    Any, typer.Option("--min-band", metavar="BAND", parser=_min_band, help="Raise smaller bands to this: 0.3 or 5%.")
]
Margin = Annotated[
    Any,
    typer.Option(
        "--margin", metavar="M", parser=_margin, help="How much worse the score may be: 0.3 (in units of y) or 2%."
    ),
]
Rows = Annotated[Missing, typer.Option("--missing", help="Refuse rows with a missing number, or drop them.")]
SortCrossing = Annotated[bool, typer.Option("--sort-crossing", help="Put crossing bounds in ascending order.")]
DecimalSign = Annotated[Decimal, typer.Option("--decimal", help="Decimal sign of CSV files.")]
Na = Annotated[
    list[str] | None,
    typer.Option("--na", metavar="TEXT", help="A further sign of a missing number in CSV files; repeatable."),
]
AxesOption = Annotated[
    Any, typer.Option("--axes", metavar="X,Y", parser=_axes, help=f"Two of {', '.join(checks.METRICS)}.")
]
Cost = Annotated[float | None, typer.Option("--cost", metavar="C", min=0, max=1, help="Cost C x + (1 - C) y.")]
Partial = Annotated[
    Any, typer.Option("--partial", metavar="LO:HI", parser=_range, help="Range of miss rates for a partial gain.")
]
UnitOption = Annotated[
    Any, typer.Option("--unit", metavar="UNIT", parser=_unit, help="raw, std (standard deviation of y) or a number.")
]
Bins = Annotated[int, typer.Option("--bins", metavar="N", min=1, help="Bins of a numeric feature of --by.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output files.")]
Json = Annotated[
    str | None, typer.Option("--json", metavar="OUT", help="Write all numbers as JSON; - is standard output.")
]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="OUT", help="NEW with calibrated bounds.")]
