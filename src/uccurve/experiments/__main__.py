"""`python -m uccurve.experiments NAME... [--quick] [--seeds N] [-o DIR]`: what `uccurve reproduce` does, without it."""

import argparse
import sys

from . import NAMES, run
from .results import as_text


def main() -> None:
    """Run the named experiments and print our values beside the paper's."""
    parser = argparse.ArgumentParser(prog="python -m uccurve.experiments", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"{', '.join(NAMES)}, or all")
    parser.add_argument("--quick", action="store_true", help="small data and models, few seeds")
    parser.add_argument("--seeds", type=int, metavar="N", help="how many seeds")
    parser.add_argument("-o", "--out", default="paper", metavar="DIR", help="folder to write to")
    given = parser.parse_args()

    def progress(label: str, done: int, total: int) -> None:
        sys.stderr.write(f"[{done}/{total}] {label}\n")

    found = run(given.names, quick=given.quick, seeds=given.seeds, out=given.out, progress=progress)
    sys.stdout.write("\n\n".join(map(as_text, found.values())) + "\n")


if __name__ == "__main__":
    main()
