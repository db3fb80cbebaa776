"""Options: what a person writes on the command line, as the library takes it."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, get_type_hints

import typer

from uccurve import _refusals as checks
from uccurve._vocabulary import METRICS, Range, Unit
from uccurve.intervals import Missing

Engine = Literal["memory", "polars", "duckdb", "dask", "spark"]
Repeated = list[Any] | None


def share(text: str) -> float:
    """Return a share of rows written as 0.9 or as 90%.

    >>> share("90%"), share("99.9%"), share("0.9")
    (0.9, 0.999, 0.9)
    """
    try:
        percent = text.strip().endswith("%")
        value = float(Fraction(text.strip().rstrip("% ")) / (100 if percent else 1))
    except (ValueError, ArithmeticError):
        raise typer.BadParameter(
            f"write a share of the rows as 0.9 or 90%; got {text!r}."
        ) from None
    if not 0 < value < 1:
        near = f" Did you mean {text.strip()}%?" if 1 < value < 100 and not percent else ""
        raise typer.BadParameter(
            f"a share must lie between 0 and 1, both excluded; got {text!r}.{near}"
        )
    return value


def axes(text: str) -> Any:
    try:
        return checks.axes([name.strip().replace("-", "_") for name in text.split(",")])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def span(text: str) -> Range:
    try:
        return checks.span("range", [float(end) for end in text.split(":")])
    except ValueError:
        raise typer.BadParameter(
            f"write a range as LOW:HIGH, such as 0:0.5; got {text!r}."
        ) from None


def unit(text: str) -> Unit:
    try:
        return text if text in ("raw", "std") else float(text)
    except ValueError:
        raise typer.BadParameter(f"a unit is raw, std or a number; got {text!r}.") from None


def amount(text: str) -> float | str:
    try:
        value = checks.real("amount", float(text.removesuffix("%")), 0)
    except ValueError:
        raise typer.BadParameter(
            f"write a number in units of y, or a percentage; got {text!r}."
        ) from None
    return text if text.endswith("%") else value


def split_names(text: str) -> tuple[str, ...]:
    """Return names separated by commas; one that contains a comma is in quotes.

    >>> split_names('site,"lower, 5%"')
    ('site', 'lower, 5%')
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise typer.BadParameter(f"separate columns by single commas; got {text!r}.")
    return tuple(names)


def joined_names(names: Sequence[str]) -> str:
    """Return names as `split_names` takes them.

    >>> joined_names(["site", "lower, 5%"])
    'site,"lower, 5%"'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def model_option(text: str) -> tuple[str, Any]:
    """Return a model as written on the command line, NAME=PRED,LOWER,UPPER; columns with a comma go in quotes.

    >>> name, columns = model_option('GBR=p,"lower, 5%",hi')
    >>> name, columns.names
    ('GBR', ('p', 'lower, 5%', 'hi'))
    """
    from uccurve.adapters._names import Bounds, Columns, told_level

    name, equals, columns = text.partition("=")
    try:
        pred, lower, upper = split_names(columns)
    except (ValueError, typer.BadParameter):
        equals = ""
    if not (name.strip() and equals):
        raise typer.BadParameter(
            f"a model is written NAME=PRED,LOWER,UPPER, with three columns; got {text!r}."
        )
    return name.strip(), Columns(pred, (Bounds(lower, upper, told_level(lower, upper)),))


def option(
    name: str,
    text: str,
    metavar: str | None = None,
    parser: Any = None,
    short: str = "",
    **more: Any,
) -> Any:
    """Return an option: its name, what it is for, what stands for its value, and what reads it."""
    return typer.Option(
        *filter(None, (name, short)), help=text, metavar=metavar, parser=parser, **more
    )


def argument(metavar: str, text: str) -> Any:
    """Return an argument: what stands for it, and what it is for."""
    return typer.Argument(metavar=metavar, help=text)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which columns a person asked for, and how to read them: the options of all commands that read files.

    What is None is found by convention.
    """

    y: Annotated[str | None, option("--y", "Column with the observations.", "COL")] = None
    model: Annotated[
        Repeated, option("--model", "A model; repeatable.", "NAME=PRED,LOWER,UPPER", model_option)
    ] = None
    weight: Annotated[str | None, option("--weight", "Column with row weights.", "COL")] = None
    by: Annotated[
        Repeated,
        option("--by", "Segment column; repeatable, commas join.", "COL[,COL]", split_names),
    ] = None
    block: Annotated[
        Any, option("--block", "Dependent rows: a label, or N in a row.", "COL|N", str)
    ] = None
    on: Annotated[
        Any, option("--on", "Keys that match rows across files.", "COL[,COL]", split_names)
    ] = None
    missing: Annotated[
        Missing, option("--missing", "What to do with rows that lack a number or a match.")
    ] = "raise"
    min_band: Annotated[
        Any, option("--min-band", "Minimum band: 0.3 or 5% of the mean.", "BAND", amount)
    ] = None
    sort_crossing: Annotated[
        bool, option("--sort-crossing", "Sort bounds and quantiles that cross.")
    ] = False
    decimal: Annotated[Literal[".", ","], option("--decimal", "Decimal mark in CSV files.")] = "."
    na: Annotated[
        Repeated, option("--na", "Another marker of missing values; repeatable.", "TEXT", str)
    ] = None

    def __post_init__(self) -> None:
        names = [name for name, _ in self.model or ()]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise typer.BadParameter(
                f"the model name {repeated[0]!r} is given twice.", param_hint="--model"
            )

    @property
    def models(self) -> dict[str, Any]:
        """The models that were named, with their columns."""
        return dict(self.model or ())

    @property
    def labels(self) -> list[str]:
        """Columns that hold labels."""
        block = [self.block] if isinstance(self.block, str) else []
        return list(
            dict.fromkeys([*(name for feature in self.by or () for name in feature), *block])
        )

    def written(self, *names: str) -> list[str]:
        """Return these options as a person writes them, but for those that have their default value.

        >>> Request(missing="drop", na=["-", "?"], sort_crossing=True).written(
        ...     "y", "missing", "na", "sort_crossing"
        ... )
        ['--missing', 'drop', '--na', '-', '--na', '?', '--sort-crossing']
        """
        words: list[str] = []
        for name in names:
            value, flag = getattr(self, name), f"--{name.replace('_', '-')}"
            if value != getattr(Request, name):
                values = value if isinstance(value, list) else [value]
                words += (
                    [flag]
                    if value is True
                    else [word for one in values for word in (flag, str(one))]
                )
        return words


def reads_files(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options of `Request` (by default all), and pass them to it as one `request`."""
    types = get_type_hints(Request, include_extras=True)
    shared = [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=getattr(Request, name), annotation=types[name]
        )
        for name in names or types
    ]

    def with_request(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**given: Any) -> None:
            command(request=Request(**{one.name: given.pop(one.name) for one in shared}), **given)

        own = [
            one
            for one in signature(command, eval_str=True).parameters.values()
            if one.name != "request"
        ]
        call.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]  # what typer looks at
        return call

    return with_request


FILE_HELP = "CSV or Parquet (also .gz, .zst), a folder of Parquet files, or - for standard input."
Coverage = Annotated[
    Any,
    option("--coverage", "Promised coverage, 0.9 or 90%; default from column names.", "C", share),
]
Bins = Annotated[int, option("--bins", "Number of bins for a numeric --by column.", "N", min=1)]
BINS = 4  # by default
Seed = Annotated[int, option("--seed", "Random seed.", "N", min=0)]
Force = Annotated[bool, option("--force", "Replace existing output files.")]
Json = Annotated[
    str | None, option("--json", "Write all numbers as JSON; - is standard output.", "OUT")
]
Axes = Annotated[Any, option("--axes", f"Two of {', '.join(METRICS)}.", "X,Y", axes)]
