"""Execute the notebooks: python notebooks/execute.py [NAME ...] [--quick] [-o DIR].

The stored notebooks have no outputs; copies with outputs go to DIR (build/notebooks), where the site finds them. A
notebook whose data set is neither on this machine nor within reach is skipped with a message.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
NAMES = ("introduction", "synthetic", "gap", "bnn", "housing", "wine", "traffic")


MISSING = "DataError"
"""What the loaders of the data sets raise; the notebook runs in another process, so its name is all that is known."""


def execute(name: str, out: Path) -> str:
    """Run one notebook from top to bottom, write the copy with its outputs, and return what became of it."""
    notebook = nbformat.read(HERE / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    start = time.perf_counter()
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        extra_arguments=[
            "--log-level=ERROR"
        ],  # no warning about encryption: the kernel talks to this machine only
        timeout=3600,
        resources={"metadata": {"path": str(HERE)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        if error.ename != MISSING:
            raise
        return f"skipped, its data set is missing: {error.evalue}"
    nbformat.write(notebook, out / f"{name}.ipynb")  # type: ignore[no-untyped-call]
    return f"{time.perf_counter() - start:.1f} s"


def main() -> None:
    """Execute the named notebooks, by default all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; by default all of them"
    )
    parser.add_argument("--quick", action="store_true", help="small data and models")
    parser.add_argument(
        "-o", "--out", type=Path, default=HERE.parent / "build" / "notebooks", metavar="DIR"
    )
    given = parser.parse_args()
    os.environ["UCCURVE_QUICK"] = "1" if given.quick else "0"
    os.environ.pop("MPLBACKEND", None)  # figures belong in the notebook
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
    )
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or NAMES:
        sys.stdout.write(f"{name}: {execute(name, given.out)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
