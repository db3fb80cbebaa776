"""Page: an assessment as one page that decides first, explains below, and is closed to every script but its own."""

import base64
import hashlib
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from math import isfinite
from typing import Any

from uccurve._vocabulary import METRICS
from uccurve.results import Assessment
from uccurve.words.columns import LEVELS, TITLES, chosen, filled, model_columns
from uccurve.words.formats import coverage, share, short
from uccurve.words.tables import HOVER, Table

from . import _charts as charts
from . import _sections as sections
from ._data import explorer_data

COLOURED, BEST = 8, 5  # models that all get a colour; where there are more, so many of the best do
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
    found: Assessment,
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
    settings, ranking = found.settings, found.ranking
    named = f"{len(found)} models" if len(found) > 1 else short(found.rows[0].name)
    coloured = ranking if len(found) <= COLOURED else ranking[:BEST]
    columns = {group: model_columns(group, found.rows, settings) for group in TITLES}
    tables = {
        group: Table(filled(TITLES[group], settings), some, ranking)
        for group, some in columns.items()
        if some
    }
    levels = [level for row in ranking for level in row.levels]
    return _rendered(
        title=short(title, 200) if title else f"Prediction intervals: {named}",
        found=found,
        settings=settings,
        target=coverage(settings.shown_coverage),
        unit=filled("{unit}", settings),
        colours={row.name: i for i, row in enumerate(coloured)},
        headline=sections.headline(found),
        facts=sections.facts(found),
        promises=sections.promises(found),
        commands=sections.commands(found, reading),
        tables=tables,
        why=charts.decomposition(found),
        calibration=charts.calibration(found),
        levels=levels
        and Table("Coverage by level, as delivered", chosen(LEVELS, levels, settings), levels),
        pit=charts.pit(found),
        explorer={**explorer_data(found), "colours": len(coloured)},
        metrics=METRICS,
        pairs=sections.pairs(found),
        segments=sections.segments(found),
        reading=dict.fromkeys(
            (one.heading, one.help) for table in tables.values() for one in table.columns[1:]
        ),
        files=files,
        version=version("uccurve"),
    )


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
    filters = {"short": short, "coverage": coverage, "share": share}
    environment.filters |= filters | {"sentence": sentence, "sortable": sortable, "hover": hover}
    scripts = "\n".join(loader.get_source(environment, name)[0].strip() for name in SCRIPTS)
    plotly, own = get_plotlyjs(), f'(() => {{\n"use strict";\n{scripts}\n}})();'
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in (own, plotly)
    ]
    trusted = {
        "script": own,  # ours, no data in it
        "plotly": base64.b64encode(
            zlib.compress(plotly.encode(), 9)
        ).decode(),  # for DecompressionStream("deflate")
    }
    text = environment.get_template("report.html").render(
        policy="; ".join(POLICY).format(
            hashes=" ".join(f"'sha256-{digest}'" for digest in digests)
        ),
        **{name: Markup(part) for name, part in trusted.items()},  # noqa: S704  see above
        **context,
    )
    return text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates


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
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if isinstance(first, int | float) and isfinite(first) else None
