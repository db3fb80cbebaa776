"""Extension of griffe: examples that a docstring shows without a heading become code, not quotations of quotations."""

import re
from typing import Any

from griffe import Extension, Object

HEADED = re.compile(r"\nExamples\n-+\n")
BARE = re.compile(r"(?:^|(?<=\n\n))>>> .*?(?=\n\n|\Z)", flags=re.DOTALL)


class Examples(Extension):
    """Fences around examples that stand before an Examples section, or without one."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring:
            text = obj.docstring.value
            start = found.start() if (found := HEADED.search(text)) else len(text)
            obj.docstring.value = BARE.sub(r"```pycon\n\g<0>\n```", text[:start]) + text[start:]
