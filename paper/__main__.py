"""Recompute the paper's tables and figures, or the study: python -m paper NAME... [--quick] [-o DIR]."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import paper
from paper import NAMES, Progress
from paper.results import as_text
from uccurve.resampling import Tick, watched

INTERRUPTED = (
    "interrupted: finished parts are kept, so the same command resumes where this one stopped\n"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is named, print its tables and say where the page is; 130 where it was interrupted."""
    given = parser().parse_args(arguments)
    try:
        with watched(None, "experiments") as tick:
            texts = computed(given, by_label(tick))
    except KeyboardInterrupt:
        sys.stderr.write(INTERRUPTED)
        return 130
    sys.stdout.write("\n\n".join(texts) + "\n")
    only_study = given.names == ["study"]
    page = "study.md" if only_study else "index.html"
    sys.stderr.write(f"written to {given.out}: open {given.out / page}\n")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    reader = StudyOptions(prog="python -m paper", description=__doc__)
    reader.add_argument(
        "names", nargs="+", choices=[*NAMES, "all", "study"], metavar="NAME", help=", ".join(NAMES)
    )
    reader.add_argument("--quick", action="store_true", help="small data and models, few seeds")
    reader.add_argument("--seeds", type=int, metavar="N", help="number of seeds")
    reader.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("build/paper"),
        metavar="DIR",
        help="folder to write to",
    )
    reader.add_argument(
        "--method", action="append", metavar="NAME", help="study only: run this method; repeatable"
    )
    reader.add_argument(
        "--data", action="append", metavar="NAME", help="study only: use this data set; repeatable"
    )
    reader.add_argument("--jobs", type=int, metavar="N", help="study only: number of processes")
    return reader


class StudyOptions(argparse.ArgumentParser):
    """A parser that refuses the study's own options where the study is not asked for."""

    def parse_args(self, args: Sequence[str] | None = None) -> argparse.Namespace:  # type: ignore[override]
        """Return what was given, checked."""
        given = super().parse_args(args)
        if (given.method or given.data or given.jobs) and "study" not in given.names:
            self.error("--method, --data and --jobs are for the study")
        return given


def by_label(tick: Tick | None) -> Progress:
    """Return what experiments call with a label first, for a bar that takes it last."""

    def progress(label: str, done: int, total: int) -> None:
        if tick is not None:
            tick(done, total, label)

    return progress


def computed(given: argparse.Namespace, progress: Progress) -> list[str]:
    """Return the tables of what is named."""
    texts = []
    of_paper = [name for name in given.names if name != "study"]
    if of_paper:
        results = paper.run(
            of_paper, quick=given.quick, seeds=given.seeds, out=given.out, progress=progress
        )
        texts += [as_text(result) for result in results.values()]
    if "study" in given.names:
        paper.study(
            methods=given.method,
            data=given.data,
            quick=given.quick,
            jobs=given.jobs,
            out=given.out,
            progress=progress,
        )
        page = (given.out / "study.md").read_text(encoding="utf-8")
        texts.append(page.partition("\n## How")[0])
    return texts


if __name__ == "__main__":
    sys.exit(main())
