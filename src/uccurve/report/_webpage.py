"""Webpage: one self-contained page from templates, closed to every script and request but its own."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from math import isfinite
from typing import Any

from uccurve.compare._formats import coverage, share, short
from uccurve.compare._tables import HOVER

POLICY = (
    "default-src 'none'",
    "script-src {hashes}",
    "style-src 'unsafe-inline'",  # charts and plotly's labels are placed by style attributes
    "img-src data: blob:",  # plotly makes pictures for its download button
    "base-uri 'none'",
    "form-action 'none'",
)
SCRIPTS = ("curve.js", "explorer.js", "page.js")
STYLES = ("page.css", "charts.css", "small.css", "print.css")
SENTENCE = 400
"""Characters of a sentence, which may hold long names."""


def rendered(data: Mapping[str, Any], **context: Any) -> str:
    """Return the page of ``report.html`` with `data` for its script and `context` for its words and tables."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(f'reports need {error.name}: pip install "uccurve[report]"') from None
    loader = PackageLoader("uccurve.report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"short": short, "coverage": coverage, "share": share}
    environment.filters |= {"sentence": sentence, "sortable": sortable, "hover": hover}

    def sources(names: tuple[str, ...]) -> str:
        return "\n".join(loader.get_source(environment, name)[0].strip() for name in names)

    plotly, own = get_plotlyjs(), f'(() => {{\n"use strict";\n{sources(SCRIPTS)}\n}})();'
    trusted = {
        "style": sources(STYLES),
        "script": own,  # ours, no data in it
        "plotly": packed(plotly),  # base64
        "data": embedded(data),  # has no character that could end its element
    }
    text = environment.get_template("report.html").render(
        policy="; ".join(POLICY).format(hashes=" ".join(map(_hash, (own, plotly)))),
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


def packed(script: str) -> str:
    """Return a script compressed for the browser's DecompressionStream("deflate"), as base64."""
    return base64.b64encode(zlib.compress(script.encode(), 9)).decode()


def embedded(data: Mapping[str, Any]) -> str:
    r"""Return JSON that cannot leave the script element it stands in.

    >>> print(embedded({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
