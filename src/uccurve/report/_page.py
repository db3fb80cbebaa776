"""Page: an assessment as one page that decides first, explains below and stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

from uccurve._checks import METRICS
from uccurve.compare._columns import LEVELS, TITLES, Group, chosen, filled, model_columns
from uccurve.compare._formats import coverage, short
from uccurve.compare._tables import Table

from . import _charts as charts
from ._data import explorer_data
from ._pairs import pairs
from ._segments import segments
from ._verdict import commands, facts, headline, promises
from ._webpage import rendered

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment

COLOURED, BEST = 8, 5
"""Models that all get a colour; where there are more, so many of the best do."""
PAPER: tuple[Group, ...] = ("areas", "gains", "delivered", "cost")
"""Tables of the paper's numbers."""


def page(found: Assessment, *, title: str | None = None, files: Mapping[str, str] | None = None) -> str:
    """Return the page of an assessment: the verdict first, then why, calibration, curves, pairs, segments and areas.

    It needs no network and sends nothing: plotly's script is part of it, and its policy forbids every request. Names
    from the data are shown as text and never run.

    Parameters
    ----------
    title : str, optional
    files : mapping from model to file, optional
        Where the models came from.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> a = assess(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]), coverage=0.5)
    >>> "Content-Security-Policy" in page(a, title="Small")
    True
    """
    named = f"{len(found)} models" if len(found) > 1 else short(found.rows[0].name)
    coloured = found.ranking if len(found) <= COLOURED else found.ranking[:BEST]
    explorer, tables, files = explorer_data(found), _tables(found), files or {}
    return rendered(
        {**explorer, "colours": len(coloured)},
        title=short(title, 200) if title else f"Prediction intervals: {named}",
        found=found,
        settings=found.settings,
        target=coverage(found.settings.shown_coverage),
        unit=filled("{unit}", found.settings),
        colours={row.name: i for i, row in enumerate(coloured)},
        headline=headline(found),
        facts=facts(found),
        promises=promises(found),
        commands=commands(found, files),
        tables=tables,
        paper=[tables[group] for group in PAPER if group in tables],
        why=charts.decomposition(found),
        calibration=charts.calibration(found),
        levels=_levels(found),
        pit=charts.pit(found),
        explorer=explorer,
        metrics=METRICS,
        pairs=pairs(found),
        segments=segments(found),
        reading=_reading(tables.values()),
        files=dict.fromkeys(files.values()),
        version=version("uccurve"),
    )


def _tables(found: Assessment) -> dict[Group, Table]:
    """Return the tables of the models that have something to show, best model first."""
    columns = {group: model_columns(group, found.rows, found.settings) for group in TITLES}
    return {
        group: Table(filled(TITLES[group], found.settings), some, found.ranking)
        for group, some in columns.items()
        if some
    }


def _levels(found: Assessment) -> Table | None:
    """Return what each level of each model covers; None where no model has several."""
    rows = [level for row in found.ranking for level in row.levels]
    return Table("Coverage by level, as delivered", chosen(LEVELS, rows, found.settings), rows) if rows else None


def _reading(tables: Iterable[Table]) -> dict[str, str]:
    """Return headings and meanings of the columns that the page shows."""
    meanings: dict[str, str] = {}
    for table in tables:
        for column in table.columns[1:]:
            meanings.setdefault(column.heading, column.help)
    return meanings
