r"""Hook of mkdocs: formulas as MathML, made while the site is built, so that pages ask no server for a script.

A page writes ``$a/b$`` within a line and ``$$ ... $$`` on lines of their own; arithmatex leaves both as TeX.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

TEX = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>',
    flags=re.DOTALL,
)


def on_page_content(html: str, **_: Any) -> str:
    """Replace each formula of a page."""
    return TEX.sub(_mathml, html)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["open"] == "[" else "inline"
    return f'<{found["tag"]} class="formula">{convert(unescape(found["tex"]), display=display)}</{found["tag"]}>'
