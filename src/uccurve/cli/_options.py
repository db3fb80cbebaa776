"""Options: what a person writes on the command line, as the library takes it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from uccurve import _checks as checks
from uccurve._checks import Range, Unit
from uccurve.adapters._names import Bounds, Columns, told_level

from ._loading import Request
from ._tables import Dialect

Vary = StrEnum("Vary", ["scale", "shift"])
Tails = StrEnum("Tails", ["joint", "separate"])
Fallback = StrEnum("Fallback", ["pooled"])
Engine = StrEnum("Engine", ["memory", "polars", "duckdb", "dask", "spark"])
Missing = StrEnum("Missing", ["raise", "drop"])
Decimal = StrEnum("Decimal", {"point": ".", "comma": ","})


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


def axes(text: str) -> Any:
    try:
        return checks.axes([name.strip().replace("-", "_") for name in text.split(",")])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def span(text: str) -> Range:
    try:
        low, high = (float(end) for end in text.split(":"))
        return checks.span("range", (low, high))
    except ValueError:
        raise typer.BadParameter(f"write a range as LOW:HIGH, such as 0:0.5; got {text!r}.") from None


def unit(text: str) -> Unit:
    try:
        return text if text in ("raw", "std") else float(text)
    except ValueError:
        raise typer.BadParameter(f"a unit is raw, std or a number; got {text!r}.") from None


def amount(what: str) -> Callable[[str], float | str]:
    """Return what reads a number in units of y, or a percentage."""

    def read(text: str) -> float | str:
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise typer.BadParameter(f"a {what} is a number in units of y, or a percentage; got {text!r}.")
        return text if text.endswith("%") else value

    return read


def split_names(text: str) -> tuple[str, ...]:
    """Return names separated by commas; one that contains a comma is in quotes.

    >>> split_names('site,"lower, 5%"')
    ('site', 'lower, 5%')
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise typer.BadParameter(f"separate columns by single commas; got {text!r}.")
    return tuple(names)


def model_option(text: str) -> tuple[str, Columns]:
    """Return a model as written on the command line, NAME=PRED,LOWER,UPPER; columns with a comma go in quotes.

    >>> name, columns = model_option('GBR=p,"lower, 5%",hi')
    >>> name, columns.names
    ('GBR', ('p', 'lower, 5%', 'hi'))
    """
    name, equals, columns = text.partition("=")
    try:
        pred, lower, upper = split_names(columns)
    except (ValueError, typer.BadParameter):
        equals = ""
    if not (name.strip() and equals):
        problem = f"a model is written NAME=PRED,LOWER,UPPER, with three columns; got {text!r}."
        raise typer.BadParameter(problem, param_hint="--model")
    return name.strip(), Columns(pred, (Bounds(lower, upper, told_level(lower, upper)),))


def option(name: str, metavar: str, text: str, parser: Callable[[str], Any] | None = None, **limits: Any) -> Any:
    """Return an option: its name, what stands for its value, what it is for, and what reads it."""
    return typer.Option(name, metavar=metavar, help=text, parser=parser, **limits)


def switch(name: str, text: str) -> Any:
    """Return an option that is there or not, or one of a few words."""
    return typer.Option(name, help=text)


class Reading:
    """Options of all commands that read files, which become one `Request`."""

    y: Annotated[str | None, option("--y", "COL", "Column of the observation.")] = None
    model: Annotated[list[str] | None, option("--model", "NAME=PRED,LOWER,UPPER", "A model; repeatable.")] = None
    weight: Annotated[str | None, option("--weight", "COL", "Column of the row weights.")] = None
    by: Annotated[list[str] | None, option("--by", "COL[,COL]", "Segments; repeatable, commas combine.")] = None
    block: Annotated[str | None, option("--block", "COL|N", "Dependent rows: labels, or N consecutive rows.")] = None
    on: Annotated[Any, option("--on", "COL[,COL]", "Keys that match the rows of several files.", split_names)] = None
    missing: Annotated[Missing, switch("--missing", "Rows that lack a number or a match.")] = Missing["raise"]
    min_band: Annotated[
        Any, option("--min-band", "BAND", "Raise smaller bands: 0.3 or 5%.", amount("minimum band"))
    ] = None
    sort_crossing: Annotated[bool, switch("--sort-crossing", "Put crossing bounds in ascending order.")] = False
    decimal: Annotated[Decimal, switch("--decimal", "Decimal sign of CSV files.")] = Decimal.point
    na: Annotated[list[str] | None, option("--na", "TEXT", "Another sign of a missing number; repeatable.")] = None


def reads_files(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options of `Reading` (by default all), and pass them to it as one `request`."""
    types = get_type_hints(Reading, include_extras=True)
    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Reading, name), annotation=types[name])
        for name in names or types
    ]

    def with_request(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**given: Any) -> None:
            asked = {one.name: given.pop(one.name) for one in shared}
            command(request=_request(**asked), **given)

        own = [one for one in signature(command, eval_str=True).parameters.values() if one.name != "request"]
        call.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]  # what typer looks at
        return call

    return with_request


def _request(
    *,
    model: list[str] | None,
    by: list[str] | None = None,
    on: tuple[str, ...] | None = None,
    missing: Any,
    decimal: Decimal,
    na: list[str] | None,
    **others: Any,
) -> Request:
    models = [model_option(text) for text in model or []]
    names = [name for name, _ in models]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"the model name {name!r} is given twice.", param_hint="--model")
    features = tuple(split_names(text) for text in by or [])
    dialect = Dialect(decimal.value, tuple(na or ()))
    return Request(models=dict(models), by=features, on=on or (), missing=missing.value, dialect=dialect, **others)


FILE_HELP = "CSV or Parquet (also .gz, .zst), a folder of Parquet files, or - for standard input."
Files = Annotated[list[str], typer.Argument(metavar="FILE", help=FILE_HELP)]
Coverage = Annotated[Any, option("--coverage", "C", "Promise, 0.9 or 90%; else from the column names.", share)]
Axes = Annotated[Any, option("--axes", "X,Y", f"Two of {', '.join(checks.METRICS)}.", axes)]
Cost = Annotated[float | None, option("--cost", "C", "Cost C x + (1 - C) y.", min=0, max=1)]
Bins = Annotated[int, option("--bins", "N", "Bins of a numeric feature of --by.", min=1)]
Seed = Annotated[int, option("--seed", "N", "Random seed.", min=0)]
Force = Annotated[bool, switch("--force", "Replace existing output files.")]
Json = Annotated[str | None, option("--json", "OUT", "Write all numbers as JSON; - is standard output.")]
