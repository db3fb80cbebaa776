"""Webpage: one self-contained page from a template, closed to every script and request but its own."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

POLICY = (
    "default-src 'none'",
    "script-src {hashes}",
    "style-src 'unsafe-inline'",  # plotly places its labels by style attributes
    "img-src data: blob:",  # and makes pictures for its download button
    "base-uri 'none'",
    "form-action 'none'",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell of a table shows, and the number it is sorted by."""

    text: str
    value: float | None = None
    small: str = ""
    kind: str = ""
    swatch: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Name of a column, what it means, and whether it holds words."""

    name: str
    title: str = ""
    text: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table whose first column names the rows."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]


def rendered(data: Mapping[str, Any], **context: Any) -> str:
    """The page of ``report.html`` with `data` for its script and `context` for its words and tables."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(f'reports need {error.name}: pip install "uccurve[report]"') from None
    environment = Environment(
        loader=PackageLoader("uccurve.report"), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=False
    )

    def source(name: str) -> str:
        loaded = environment.loader.get_source(environment, name)  # type: ignore[union-attr]  # set two lines above
        return loaded[0].strip()

    def table(grid: Grid) -> Markup:
        parts = {"caption": grid.caption, "heads": grid.heads, "rows": grid.rows}
        return Markup(environment.get_template("table.html").render(**parts))  # noqa: S704  escaped by the template

    scripts = {"plotly": get_plotlyjs(), "script": source("report.js")}
    trusted = {name: Markup(text) for name, text in scripts.items()}  # noqa: S704  ours and plotly's, no data in them
    return environment.get_template("report.html").render(
        policy="; ".join(POLICY).format(hashes=" ".join(map(_hash, scripts.values()))),
        style=Markup(source("report.css")),  # noqa: S704  ours
        data=Markup(embedded(data)),  # noqa: S704  has no character that could end its element
        table=table,
        **trusted,
        **context,
    )


def embedded(data: Mapping[str, Any]) -> str:
    r"""JSON that cannot leave the script element it stands in.

    >>> print(embedded({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
