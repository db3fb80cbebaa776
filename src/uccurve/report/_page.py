"""Page: an assessment as one page that decides first, explains below, and is closed to every script but its own."""

import base64
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from math import inf, isfinite
from typing import Any

from uccurve._vocabulary import METRICS
from uccurve.points import Estimate
from uccurve.results import Assessment
from uccurve.view import DARK, LIGHT, MODELS, STATES, coloured
from uccurve.words.columns import LEVELS, TITLES, chosen, filled, model_columns
from uccurve.words.formats import Cell, coverage, percent, share, short, told_apart
from uccurve.words.tables import HOVER, Table
from uccurve.words.verdict import how_sure

from . import _charts as charts
from . import _sections as sections

SENTENCE = 400  # characters of a sentence, which may hold long names
SCRIPTS = ("curve.js", "explorer.js", "page.js")
POLICY = (
    "default-src 'none'",
    "script-src {hashes}",
    "style-src 'unsafe-inline'",  # charts and plotly's labels are placed by style attributes
    "img-src data: blob:",  # plotly makes pictures for its download button
    "base-uri 'none'",
    "form-action 'none'",
)


def page(
    assessment: Assessment,
    *,
    title: str | None = None,
    files: Sequence[str] = (),
    reading: Sequence[str] | None = ("calibration.csv",),
) -> str:
    """Return the page of an assessment: the verdict first, then why, calibration, curves, pairs, segments and areas.

    It needs no network and sends nothing: plotly's script is part of it, and its policy forbids every request. Names
    from the data are shown as text and never run.

    Parameters
    ----------
    title : str, optional
    files : sequence of str, optional
        Where the models came from.
    reading : sequence of str, optional
        The file of the model to ship and the options of ``uccurve calibrate`` that read it; None where it cannot.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> a = assess(
    ...     Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]), coverage=0.5
    ... )
    >>> "Content-Security-Policy" in page(a, title="Small")
    True
    """
    settings = assessment.settings
    ranking = assessment.ranking
    tables = _tables(assessment)
    return _rendered(
        title=short(title, 200) if title else f"Prediction intervals: {_named(assessment)}",
        assessment=assessment,
        verdict=assessment.verdict,
        settings=settings,
        target=coverage(settings.shown_coverage),
        unit=filled("{unit}", settings),
        light=LIGHT,
        dark=DARK,
        colours={row.name: place for place, row in enumerate(coloured(assessment))},
        sure=how_sure(assessment),
        aside=assessment.verdict.text.split("\n")[1:],
        sentences=assessment.verdict.text.split("\n")[0].removeprefix(assessment.verdict.headline),
        command=sections.command(assessment, reading),
        tables=tables,
        why=charts.decomposition(assessment),
        calibration=charts.calibration(assessment),
        levels=_levels(assessment),
        pit=charts.pit(assessment),
        explorer={**charts.explorer_data(assessment), "colours": min(len(MODELS), len(ranking))},
        metrics=METRICS,
        states=STATES,
        findings=sections.findings(assessment),
        pairs=sections.pairs(assessment),
        segments=sections.segments(assessment),
        pockets=sections.pockets(assessment),
        reading=_columns_explained(tables),
        files=files,
        version=version("uccurve"),
    )


def _named(assessment: Assessment) -> str:
    count = len(assessment)
    return f"{count} models" if count > 1 else short(assessment.rows[0].name)


def _tables(assessment: Assessment) -> dict[str, Table]:
    """Tables of the models that have something to show, by their groups."""
    settings = assessment.settings
    tables: dict[str, Table] = {}
    for group, title in TITLES.items():
        columns = model_columns(group, assessment.rows, settings)
        if columns:
            tables[group] = Table(filled(title, settings), columns, assessment.ranking)
    return tables


def _levels(assessment: Assessment) -> Table | None:
    """Nominal against observed coverage; None where no model has several levels."""
    levels = [level for row in assessment.ranking for level in row.levels]
    if not levels:
        return None
    columns = chosen(LEVELS, levels, assessment.settings)
    return Table("Coverage by level, as delivered", columns, levels)


def _columns_explained(tables: Mapping[str, Table]) -> dict[tuple[str, str], None]:
    """Headings and what they mean, each once."""
    columns = [column for table in tables.values() for column in table.columns[1:]]
    return dict.fromkeys((column.heading, column.help) for column in columns)


def _rendered(**context: Any) -> str:
    """Return the page of ``report.html`` with `context` for its words, tables and script."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(f'reports need {error.name}: pip install "uccurve[report]"') from None
    loader = PackageLoader("uccurve.report")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= FILTERS
    sources = [loader.get_source(environment, name)[0].strip() for name in SCRIPTS]
    script = '(() => {\n"use strict";\n' + "\n".join(sources) + "\n})();"
    plotly = get_plotlyjs()
    hashes = f"{_digest(script)} {_digest(plotly)}"
    text = environment.get_template("report.html").render(
        policy="; ".join(POLICY).format(hashes=hashes),
        script=Markup(script),  # noqa: S704  ours, no data in it
        plotly=Markup(_packed(plotly)),  # noqa: S704  base64
        **context,
    )
    return text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates


def _digest(script: str) -> str:
    """What the policy knows a script by."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _packed(script: str) -> str:
    """Return a script packed for DecompressionStream("deflate"); for all pages of a process once."""
    return base64.b64encode(zlib.compress(script.encode(), 9)).decode()


def breakable(text: str) -> Any:
    """Return a text, escaped, whose long names may be broken after an underscore or a slash.

    >>> str(breakable("net_<1>"))
    'net_<wbr>&lt;1&gt;'
    """
    from markupsafe import Markup, escape

    broken = escape(text)
    for sign in "_/":
        broken = broken.replace(sign, Markup(sign + "<wbr>"))  # noqa: S704  one of two signs
    return broken


def cells(table: Table) -> list[list[Cell]]:
    """Return the cells of each column, numbers with the same decimals."""
    return [column.cells(table.rows) for column in table.columns]


def hover(full: object, shown: str) -> str:
    """Return the text that is shown on hover; nothing where the text says it all.

    >>> hover("one", "one"), hover("a long name", "a...e")
    ('', 'a long name')
    """
    return "" if full is None or shown == full else short(str(full), HOVER)


def sentence(text: str) -> str:
    """Return a sentence that ends in one stop, its middle left out where it is long.

    >>> sentence("Note: all rows form one block")
    'Note: all rows form one block.'
    """
    return short(f"{text.rstrip('.')}.", SENTENCE)


def sortable(value: Any) -> float | None:
    """Return the number that a cell is sorted by; None for what is undefined or infinite."""
    number = float(value) if isinstance(value, int | float | Estimate) else inf
    return number if isfinite(number) else None


FILTERS: Mapping[str, Callable[..., Any]] = {
    "short": short,
    "told_apart": told_apart,
    "coverage": coverage,
    "share": share,
    "percent": percent,
    "sentence": sentence,
    "sortable": sortable,
    "hover": hover,
    "breakable": breakable,
    "cells": cells,
}
