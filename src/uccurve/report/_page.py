"""Page: an assessment as one page that decides first, explains below and stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from uccurve._checks import METRICS
from uccurve.compare._columns import TITLES, Column, Group, filled, model_columns
from uccurve.compare._formats import coverage, short
from uccurve.compare._tables import Table

from . import _charts as charts
from ._data import explorer_data
from ._grids import grid, sentence
from ._pairs import pairs
from ._segments import segments
from ._verdict import card
from ._webpage import rendered

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment

COLOURED, BEST = 8, 5
"""Models that all get a colour; where there are more, so many of the best do."""
FIRST = 8
"""Models whose waterfall is shown at once."""
PAPER: tuple[Group, ...] = ("areas", "gains", "delivered", "cost")
"""Tables of the paper's numbers."""


def page(found: Assessment, *, title: str | None = None, files: Sequence[str] = ()) -> str:
    """Return the page of an assessment: the verdict first, then why, calibration, curves, pairs, segments and areas.

    It needs no network and sends nothing: plotly's script is part of it, and its policy forbids every request. Names
    from the data are shown as text and never run.

    Parameters
    ----------
    title : str, optional
    files : sequence of str
        What was assessed, where it came from files.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> a = assess(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]), coverage=0.5)
    >>> "Content-Security-Policy" in page(a, title="Small")
    True
    """
    colours, data = _colours(found), explorer_data(found)
    parts: dict[str, Any] = {
        "pairs": pairs(found),
        "segments": segments(found),
    }
    return rendered(
        {**data, "colours": len(colours)},
        title=short(title, 200) if title else f"Prediction intervals: {_count(found)}",
        lead=_lead(found),
        card=card(found, files),
        contents=_contents(parts),
        models=grid(_models(found, "verdict"), colours),
        brackets=_brackets(found),
        notes=[sentence(f"Note: {note}") for note in found.notes],
        why=charts.decomposition(found, colours),
        first=FIRST,
        why_text=_why(found),
        reasons=[sentence(reason) for reason in found.verdict.reasons],
        why_numbers=grid(_models(found, "scores"), colours),
        calibration=charts.calibration(found, colours),
        calibration_text=_calibration(found),
        explorer=_explorer(found, data),
        metrics=METRICS,
        paper=[
            grid(_models(found, group), colours) for group in PAPER if model_columns(group, found.rows, found.settings)
        ],
        reading=_reading(found),
        settings=_settings(found, files),
        **parts,
    )


def _count(found: Assessment) -> str:
    return f"{len(found)} models" if len(found) > 1 else short(found.rows[0].name)


def _lead(found: Assessment) -> str:
    models = f"{len(found)} models" if len(found) > 1 else "one model"
    asked = found.settings.coverage
    promise = "no coverage was asked for" if asked is None else f"{coverage(asked)} coverage promised"
    return f"{models[0].upper()}{models[1:]}, {found.rows[0].n:,} rows, {promise}."


def _colours(found: Assessment) -> dict[str, int]:
    """Return the numbers of the colours, by model: all of few models, the best of many."""
    ranking = found.ranking if len(found) <= COLOURED else found.ranking[:BEST]
    return {row.name: i for i, row in enumerate(ranking)}


def _contents(parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    sections = [
        ("verdict", "Verdict"),
        ("why", "Why"),
        ("calibration", "Calibration"),
        ("curves-section", "Curves"),
        ("pairs", "Pairs"),
        ("segments", "Segments"),
        ("paper", "The paper's areas"),
        ("reading", "How to read this"),
        ("made", "How this page was made"),
    ]
    return [(name, title) for name, title in sections if parts.get(name, True)]


def _models(found: Assessment, group: Group) -> Table:
    """Return one table of the models, best first."""
    columns = model_columns(group, found.rows, found.settings)
    return Table(filled(TITLES[group], found.settings), columns, found.ranking)


def _brackets(found: Assessment) -> str:
    settings = found.settings
    dependent = f"; dependent rows: {settings.block}" if settings.block else ""
    return f"Brackets are {coverage(settings.confidence_level)} confidence intervals{dependent}."


def _why(found: Assessment) -> str:
    return (
        f"The interval score at {coverage(found.settings.shown_coverage)} judges width and misses together; lower is "
        "better. It starts from the best single interval for all rows; predictions and bands save part of that, and "
        "bands of the wrong scale give some of it back."
    )


def _calibration(found: Assessment) -> str:
    asked = found.settings.coverage
    if asked is None:
        return "Share of the rows inside their interval, as delivered. No coverage was asked for, so none was promised."
    return (
        f"Share of the rows inside their interval, as delivered, with its {coverage(found.settings.confidence_level)} "
        f"confidence interval; the line is the promised {coverage(asked)}."
    )


def _explorer(found: Assessment, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of the explorer."""
    knobs = sorted({model["knob"] for model in data["models"]})
    return {
        "names": [f"{row.rank}. {short(row.name)}" for row in found.ranking],
        "chosen": data["chosen"],
        "axes": data["axes"],
        "knob": data["models"][data["chosen"]]["knob"],
        "knobs": " or ".join(knobs),
        "cost": data["cost"],
        "units": list(data["units"]),
        "target": str(coverage(found.settings.shown_coverage)),
        "comparable": found.comparable,
        "grey": len(found) > COLOURED,
        "accuracy": _accuracy(data),
    }


def _accuracy(data: Mapping[str, Any]) -> str:
    """Return how far the explorer's numbers may be off."""
    curves = [model["curve"] for model in data["models"]]
    if all(curve["exact"] for curve in curves):
        return "The curves are exact."
    off = max(curve["off"] for curve in curves)
    if not off:
        return "The curves are those of sketches: straight lines between the ends of their bins."
    drawn, total = max(len(curve["t"]) for curve in curves), max(curve["vertices"] for curve in curves)
    return (
        f"The page carries {drawn:,} of up to {total:,} vertices of a curve: numbers in the explorer are off by at "
        f"most {off:.2g} of an axis; those in the other tables are exact."
    )


def _reading(found: Assessment) -> list[tuple[str, str]]:
    """Return headings and meanings of the columns that the page shows."""
    columns: dict[str, Column] = {}
    for group in TITLES:
        for column in model_columns(group, found.rows, found.settings)[1:]:
            columns.setdefault(column.heading, column)
    return [(heading, column.help) for heading, column in columns.items()]


def _settings(found: Assessment, files: Sequence[str]) -> list[tuple[str, str]]:
    """Return what was asked for, and by what the page was made."""
    settings = found.settings
    x, y = (name.replace("_", " ") for name in settings.axes)
    asked = "none asked for" if settings.coverage is None else str(coverage(settings.coverage))
    method = "influence of each row (nothing is random)"
    if settings.n_resamples is not None:
        method = f"bootstrap, {settings.n_resamples:,} resamples, random seed {settings.seed}"
    found_settings = [
        ("files", ", ".join(short(str(file), 80) for file in files)),
        ("rows", f"{found.rows[0].n:,}"),
        ("coverage", asked),
        ("ranked by", "interval score" if settings.ranked_by == "score" else "potential CRPS"),
        ("unit", filled("{unit}", settings)),
        ("confidence level", str(coverage(settings.confidence_level))),
        ("confidence intervals", method),
        ("dependent rows", settings.block or "none: every row counts by itself"),
        ("axes of curves and crossings", f"{y} vs. {x}"),
        ("made by", f"uccurve {version('uccurve')}"),
    ]
    return [(name, text) for name, text in found_settings if text]
