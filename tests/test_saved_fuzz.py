"""Saved JSON that somebody damaged: gate, apply and watch refuse it in one sentence, or say what they said before."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from test_cli import models
from uccurve.cli.app import app

MUTATIONS = 150  # of each file
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    -1e308,
    10**400,
    "",
    "x",
    [],
    {},
    [[]],
    0.5,
    float("nan"),
    float("inf"),
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value."""
    yield path
    inner = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in inner:
        yield from places(value, (*path, key))


def mutated(data: Any, rng: random.Random) -> str:
    """Return JSON text with one value changed, removed, or its text cut."""
    copy = json.loads(json.dumps(data))
    *path, last = rng.choice([place for place in places(copy) if place])
    parent = copy
    for key in path:
        parent = parent[key]
    if rng.random() < 0.3 and isinstance(parent, dict):
        del parent[last]
    else:
        parent[last] = rng.choice(VALUES)
    text = json.dumps(copy)
    return text[: rng.randrange(len(text))] if rng.random() < 0.1 else text


@pytest.mark.parametrize("command", ["gate", "apply", "from", "watch"])
def test_a_damaged_file_is_refused_or_changes_nothing_but_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    models(120).with_columns(day=models(120)["id"].cast(int) // 20).write_csv("a.csv")
    runner = CliRunner()
    made = {
        "gate": ["assess", "a.csv", "--coverage", "80%", "--json", "saved.json"],
        "from": ["assess", "a.csv", "--coverage", "99%", "--json", "saved.json"],
        "apply": ["calibrate", "a.csv", "--coverage", "80%", "--save", "saved.json"],
        "watch": ["watch", "saved.json", "a.csv", "--coverage", "80%", "--day", "day"],
    }
    used = {
        "gate": [
            "gate",
            "saved.json",
            "a.csv",
            "--coverage",
            "80%",
            "--baseline",
            "a",
            "--proposed",
            "b",
        ],
        "from": ["calibrate", "--from", "saved.json", "a.csv", "-o", "o.csv", "--force"],
        "apply": ["apply", "saved.json", "a.csv", "-o", "o.csv", "--force"],
        "watch": ["watch", "saved.json"],
    }
    first = runner.invoke(app, made[command])
    assert Path("saved.json").is_file(), first.output
    data = json.loads(Path("saved.json").read_text())
    rng = random.Random(command)  # noqa: S311  damage needs no secrets
    refused = 0
    for _ in range(MUTATIONS):
        Path("saved.json").write_text(mutated(data, rng))
        done = runner.invoke(app, used[command])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            assert isinstance(done.exception, ValueError | OSError | TypeError), repr(
                done.exception
            )
            assert str(done.exception).count("\n") == 0
            refused += 1
        else:
            assert done.exit_code in (0, 3, 4), done.output
    assert refused > MUTATIONS / 10
