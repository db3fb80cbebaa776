"""Extension of griffe: docstrings and signatures as a reader of the reference wants them.

Examples that a docstring shows without a heading become code, not quotations of quotations, and options that several
functions share as one TypedDict are listed in each signature.
"""

import re
from typing import Any

from griffe import ExprSubscript, Extension, Function, Object, Parameter, ParameterKind

KEYWORD = ParameterKind.keyword_only
HEADED = re.compile(r"\nExamples\n-+\n")
BARE = re.compile(r"(?:^|(?<=\n\n))>>> .*?(?=\n\n|\Z)", flags=re.DOTALL)


class Readable(Extension):
    """Fences around examples, and options by name."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Fence the examples that stand before an Examples section, or without one."""
        if obj.docstring:
            text = obj.docstring.value
            start = found.start() if (found := HEADED.search(text)) else len(text)
            obj.docstring.value = BARE.sub(r"```pycon\n\g<0>\n```", text[:start]) + text[start:]

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Put the fields of ``**options: Unpack[Options]`` in its place, those of its bases among them."""
        for given in list(func.parameters):
            shared = given.annotation
            if isinstance(shared, ExprSubscript) and shared.canonical_path == "typing.Unpack":
                del func.parameters[given.name]
                options = func.modules_collection[shared.slice.canonical_path]  # type: ignore[union-attr]  # a name
                for field in options.attributes.values():
                    named = Parameter(
                        field.name, annotation=field.annotation, kind=KEYWORD, default="..."
                    )
                    func.parameters.add(named)
                if func.docstring:
                    listed = f"\n{', '.join(options.attributes)}"
                    func.docstring.value = func.docstring.value.replace(f"\n**{given.name}", listed)
