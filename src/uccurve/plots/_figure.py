"""Figure: one whose text stays text in vector files, so that it can be searched, copied and set in another font."""

from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

VECTOR: dict[str, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42}


class TextFigure(Figure):
    """A figure that saves its text as text, whatever the rcParams say when it is saved."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Save the figure; as `matplotlib.figure.Figure.savefig`."""
        with rc_context(VECTOR):
            super().savefig(*args, **kwargs)
