"""The study's page "Which method?": what its first lines say, the diagrams, and the tables of a template."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from uccurve.plots._drawing import GREY, PALETTE

from .figures import canvas, save
from .results import Result, rendered
from .store import write_whole

# Group of data sets, measure and title of each critical-difference diagram.
PANELS = (
    ("large", "score", "Score as delivered, 500 training rows or more"),
    ("small", "score", "Score as delivered, fewer than 500 training rows"),
    ("all", "best_score", "Score at the best scale, all data sets"),
    ("all", "skill", "Skill, all data sets"),
    ("all", "gain_BM", "Gain on BM axes, all data sets"),
    ("all", "gain_BD", "Gain on BD axes, all data sets"),
)
SKILL = ("skill_low", "skill_pooled", "skill_high")


def write(result: Result, folder: Path) -> None:
    """Write figures and page."""
    save(rank_diagrams(result), folder / "study" / "ranks")
    save(forest_plots(result), folder / "study" / "skills")
    answers = {
        name: answer(result, name) for name, group in result["ranks"].items() if group["measures"]
    }
    page = rendered("study_page.md", **result, answers=answers, best=best, saved=saved)
    write_whole(folder / "study.md", f"{page}\n".encode())


def answer(result: Result, group: str) -> dict[str, Any]:
    """Return methods by mean rank of the score as delivered, which are worse than the first, and what they cost."""
    ranks = result["ranks"][group]
    mean = ranks["measures"]["score"]["mean_ranks"]
    order = sorted(mean, key=mean.get)
    sets = [result["data"][name] for name in ranks["data"]]
    largest = max(sets, key=lambda one: one["training_rows"])
    seconds = {method: largest["results"][method]["fit_seconds"]["mean"] for method in order}
    worse = [
        method for method in order if mean[method] - mean[order[0]] > ranks["critical_difference"]
    ]
    return {"order": order, "worse": worse, "seconds": seconds, "largest": largest, "sets": sets}


def best(results: Mapping[str, Any], measure: str, among: Any = None) -> Any:
    """Return the method with the lowest mean of a measure, among some or all; None where none of them ran."""
    names = [name for name in results if among is None or name in among]
    return min(names, key=lambda name: results[name][measure]["mean"], default=None)


def saved(sets: Any, method: str, measure: str = "score") -> float | None:
    """Return the median over data sets of the share that a method saves of a score of the constant band, in percent."""
    if "Constant" not in sets[0]["results"]:
        return None
    scores = [
        [one["results"][name][measure]["mean"] for name in (method, "Constant")] for one in sets
    ]
    return float(100 * median(1 - own / constant for own, constant in scores))


def rank_diagrams(result: Result) -> Any:
    """Return critical-difference diagrams: lines of that length around mean ranks, the best method's shaded."""
    figure, panels = canvas(2, rows=3, size=(6.2, 3.2))
    for ax, (group, measure, title) in zip(panels, PANELS, strict=True):
        ranks = result["ranks"][group]
        if not ranks["measures"]:
            ax.set_axis_off()
            continue
        mean, half = ranks["measures"][measure]["mean_ranks"], ranks["critical_difference"] / 2
        lines = {
            name: (mean[name] - half, mean[name], mean[name] + half)
            for name in sorted(mean, key=mean.get)
        }
        draw_lines(ax, lines, result["methods"])
        ax.axvspan(
            min(mean.values()) - half,
            min(mean.values()) + half,
            color=GREY,
            alpha=0.15,
            linewidth=0,
        )
        ax.set_title(f"{title} ({len(ranks['data'])}), CD {2 * half:.1f}", fontsize=10)
        ax.set_xlabel("mean rank")
    return figure


def forest_plots(result: Result) -> Any:
    """Return skills of all methods with 95% intervals, a panel per data set."""
    sets = result["data"]
    columns = min(4, len(sets))
    figure, panels = canvas(columns, rows=-(-len(sets) // columns), size=(3.1, 3.0), sharey=True)
    for ax, (title, one) in zip(panels, sets.items(), strict=False):
        ends = {name: [100 * found[end] for end in SKILL] for name, found in one["results"].items()}
        draw_lines(ax, {name: ends.get(name) for name in result["methods"]}, result["methods"])
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_title(f"{title} ({one['rows']:,} rows)", fontsize=10)
        ax.set_xlabel("skill, %")
    for ax in panels[len(sets) :]:
        ax.set_axis_off()
    return figure


def draw_lines(ax: Any, lines: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Draw a method per line, the first on top: a dot between two ends, or nothing; ours are blue."""
    for y, (name, found) in enumerate(lines.items()):
        if found:
            low, middle, high = found
            color = PALETTE[0] if about[name].get("ours") else GREY
            ax.plot([low, high], [y, y], color=color, linewidth=1.4)
            ax.plot(middle, y, "o", color=color, markersize=4)
    ax.set_yticks(range(len(lines)), lines, fontsize=8)
    ax.set_ylim(len(lines) - 0.5, -0.5)
