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
from uccurve._vocabulary import METRICS, Range, Side, Unit

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


def read_unit(text: str) -> Unit:
    """Return raw, std, a number, or the name of a column."""
    try:
        return text if text in ("raw", "std") else float(text)
    except ValueError:
        return text


def read_support(text: str) -> tuple[float | None, float | None]:
    """Return what y can be, written LOW:HIGH, where either may be left out.

    >>> read_support("0:"), read_support(":1")
    ((0.0, None), (None, 1.0))
    """
    low, colon, high = text.partition(":")
    try:
        ends = (float(low) if low.strip() else None, float(high) if high.strip() else None)
    except ValueError:
        colon = ""
    if not colon or ends == (None, None):
        raise typer.BadParameter(
            f"write what y can be as LOW:HIGH, such as 0: or 0:1; got {text!r}."
        )
    return ends


def condition(text: str) -> Any:
    from ._tables import Condition

    try:
        return Condition.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


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

    What a model lacks is left out: ``net=,lo,hi`` has no prediction, ``net=p,,hi`` only an upper bound.

    >>> name, columns = model_option('GBR=p,"lower, 5%",hi')
    >>> name, columns.names
    ('GBR', ('p', 'lower, 5%', 'hi'))
    """
    from uccurve.adapters._names import Bounds, ModelColumns, told_level

    name, equals, columns = text.partition("=")
    cells = next(csv.reader([columns], skipinitialspace=True), [])
    names = [cell.strip() for cell in cells]
    if not (name.strip() and equals and len(names) == 3 and any(names[1:])):
        raise typer.BadParameter(
            f"a model is written NAME=PRED,LOWER,UPPER, with three columns; got {text!r}."
        )
    pred, lower, upper = names
    return name.strip(), ModelColumns(pred, (Bounds(lower, upper, told_level(lower, upper)),))


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
        Any,
        option(
            "--block",
            "Dependent rows: a label, or N in a row; default: by date or origin.",
            "COL|N|none",
            str,
        ),
    ] = None
    truth: Annotated[
        str | None, option("--truth", "File that only holds what was observed.", "FILE")
    ] = None
    where: Annotated[
        Repeated,
        option("--where", "Rows to read: =, !=, <, <=, >, >=; repeatable.", "COL=VALUE", condition),
    ] = None
    on: Annotated[
        Any, option("--on", "Keys that match rows across files.", "COL[,COL]", split_names)
    ] = None
    missing: Annotated[
        Literal["raise", "drop", "pairwise"] | None,
        option("--missing", "What to do with rows that lack a number or a match."),
    ] = None
    min_band: Annotated[
        Any, option("--min-band", "Minimum band: 0.3 or 5% of the mean.", "BAND", amount)
    ] = None
    support: Annotated[
        Any, option("--support", "What y can be: bounds end there.", "LOW:HIGH", read_support)
    ] = None
    side: Annotated[
        Side | None, option("--side", "Which bounds are judged; default: those there are.")
    ] = None
    unit: Annotated[
        Any, option("--unit", "raw, std (of y), a number, or a column.", "UNIT|COL", read_unit)
    ] = "raw"
    unit_by: Annotated[
        str | None, option("--unit-by", "Measure each series in its own spread.", "SERIES")
    ] = None
    unit_floor: Annotated[
        float | None, option("--unit-floor", "Smallest such spread.", "U", min=0)
    ] = None
    features: Annotated[
        Any,
        option("--features", "Look for pockets among these columns.", "COL[,COL]|all", split_names),
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

        if self.unit_by is not None and self.unit != "raw":
            raise typer.BadParameter("give --unit or --unit-by, not both.")
        if self.unit_floor is not None and self.unit_by is None:
            raise typer.BadParameter(
                "--unit-floor is the smallest unit of --unit-by SERIES: give both."
            )

    @property
    def models(self) -> dict[str, Any]:
        """The models that were named, with their columns."""
        return dict(self.model or ())

    @property
    def conditions(self) -> list[Any]:
        """The conditions on the rows."""
        return list(self.where or ())

    @property
    def unit_column(self) -> str | None:
        """The column with one unit per row, where units are one."""
        is_column = isinstance(self.unit, str) and self.unit not in ("raw", "std")
        return self.unit if is_column else None

    @property
    def labels(self) -> list[str]:
        """Columns that hold labels, or features."""
        names = [name for names in self.by or () for name in names]
        if isinstance(self.block, str):
            names.append(self.block)
        if self.unit_by is not None:
            names.append(self.unit_by)
        names += self.features or ()
        return list(dict.fromkeys(names))

    @property
    def named_columns(self) -> set[str]:
        """Columns that were named for something else than a feature."""
        named = {self.y, self.weight, self.unit_column, self.unit_by, self.block, *(self.on or ())}
        for names in self.by or ():
            named.update(names)
        return {name for name in named if name is not None}

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
                words += _as_words(flag, value)
        return words


def _as_words(flag: str, value: Any) -> list[str]:
    """Return an option as a person writes it."""
    if value is True:
        return [flag]
    if isinstance(value, tuple):  # a support
        ends = ["" if end is None else f"{end:g}" for end in value]
        return [flag, ":".join(ends)]
    words = []
    for item in value if isinstance(value, list) else [value]:
        written = f"{item.column}{item.relation}{item.value}" if flag == "--where" else str(item)
        words += [flag, written]
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


ALL = tuple(get_type_hints(Request))
WATCHED = (
    *("y", "model", "weight", "by", "truth", "where", "missing", "min_band", "support", "side"),
    *("sort_crossing", "decimal", "na"),
)
FILE_HELP = (
    "CSV or Parquet (also .gz, .zst), a folder of such files or of one folder per model, dw.duckdb::TABLE, or - for "
    "standard input."
)
Coverage = Annotated[
    Any,
    option("--coverage", "Promised coverage, 0.9 or 90%; default from column names.", "C", share),
]
Tolerance = Annotated[
    Any, option("--tolerance", "How far coverage may lie off and be kept, 0.5%.", "T", share)
]
Bins = Annotated[int, option("--bins", "Number of bins for a numeric --by column.", "N", min=1)]
BINS = 4  # by default
Seed = Annotated[int, option("--seed", "Random seed.", "N", min=0)]
Force = Annotated[bool, option("--force", "Replace existing output files.")]
Json = Annotated[
    str | None, option("--json", "Write all numbers as JSON; - is standard output.", "OUT")
]
Axes = Annotated[Any, option("--axes", f"Two of {', '.join(METRICS)}.", "X,Y", axes)]
