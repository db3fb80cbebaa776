"""Hook of mkdocs: the notebooks as pages, with outputs where `make docs` has executed them."""

import base64
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
SOURCES, EXECUTED = ROOT / "notebooks", ROOT / "build" / "notebooks"
PLAIN = "*This page was built without the notebook's outputs; `make docs` adds them where its data are at hand.*\n\n"
IMAGES = {"image/png": "png", "image/svg+xml": "svg"}
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add one page per notebook, with its pictures."""
    for source in sorted(SOURCES.glob("*.ipynb")):
        notebook = json.loads(source.read_text(encoding="utf-8"))
        shown = executed(source.name, notebook)
        text, pictures = page(source.stem, shown or notebook)
        if shown is None:
            head, _, rest = text.partition("\n\n")
            text = f"{head}\n\n{PLAIN}{rest}"
        files.append(File.generated(config, f"notebooks/{source.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def executed(name: str, notebook: dict[str, Any]) -> dict[str, Any] | None:
    """The executed copy of a notebook, or None where there is none or its cells have changed since."""
    path = EXECUTED / name
    if not path.is_file():
        return None
    copy: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    same = [cell["source"] for cell in copy["cells"]] == [
        cell["source"] for cell in notebook["cells"]
    ]
    return copy if same else None


def page(stem: str, notebook: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
    """Markdown of a notebook, and its pictures by file name."""
    blocks: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(source)
            continue
        blocks.append(f"```python\n{source}\n```")
        blocks += [_output(output, stem, pictures) for output in _joined(cell.get("outputs", []))]
    return "\n\n".join(block for block in blocks if block) + "\n", pictures


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs of a cell, with consecutive prints joined; what went to stderr is left out."""
    kept: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] != "stream":
            kept.append(output)
        elif output["name"] == "stdout" and kept and kept[-1]["output_type"] == "stream":
            kept[-1] = {**kept[-1], "text": [*kept[-1]["text"], *output["text"]]}
        elif output["name"] == "stdout":
            kept.append(output)
    return kept


def _output(output: dict[str, Any], stem: str, pictures: dict[str, bytes]) -> str:
    if output["output_type"] == "stream":
        return _text("".join(output["text"]))
    data = output.get("data", {})
    for kind, ending in IMAGES.items():
        if kind in data:
            name = f"{stem}-{len(pictures) + 1}.{ending}"
            content = "".join(data[kind])
            pictures[name] = base64.b64decode(content) if ending == "png" else content.encode()
            return f"![Output of the cell above]({name})"
    if "text/html" in data:
        return f'<div class="output" markdown="0">\n{"".join(data["text/html"])}\n</div>'
    return _text("".join(data.get("text/plain", "")))


def _text(text: str) -> str:
    return f"```text\n{COLOURS.sub('', text).rstrip()}\n```"
