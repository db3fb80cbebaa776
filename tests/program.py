"""The command line in the process of the tests: what a process of its own prints and returns, without its imports."""

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import IO
from unittest.mock import patch


def call(arguments: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `uccurve` in a folder, with nothing on standard input and with files for what it prints."""
    from uccurve.cli.app import main

    code: object = 0
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        stack.enter_context(chdir(folder))
        stack.enter_context(patch.object(sys, "argv", ["uccurve", *arguments]))
        stack.enter_context(warnings.catch_warnings())
        warnings.resetwarnings()  # the tests make errors of them
        with _streams(files):
            try:
                main()
            except SystemExit as stop:
                code = stop.code or 0
        out, err = map(_text, files[1:])
    assert isinstance(code, int), code
    return subprocess.CompletedProcess(["uccurve", *arguments], code, out, err)


@contextmanager
def _streams(files: Sequence[IO[bytes]]) -> Iterator[None]:
    """Put files in the place of standard input, output and errors: descriptors, and Python's streams over them."""
    kept = [os.dup(place) for place in range(3)]
    try:
        for place, file in enumerate(files):
            os.dup2(file.fileno(), place)
        with ExitStack() as stack:
            for place, (name, mode) in enumerate(
                {"stdin": "r", "stdout": "w", "stderr": "w"}.items()
            ):
                stream = stack.enter_context(open(place, mode, encoding="utf-8", closefd=False))
                stack.enter_context(patch.object(sys, name, stream))
            yield
    finally:
        for place, old in enumerate(kept):
            os.dup2(old, place)
            os.close(old)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
