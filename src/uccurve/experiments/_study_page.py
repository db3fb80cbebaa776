"""The study's page "Which method?": what its first lines say, the diagrams, and the tables of a template."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from uccurve.plots._drawing import GREY, PALETTE

from .figures import canvas, save
from .results import Result
from .store import write_whole

TEMPLATE = Path(__file__).with_name("study_page.md")
# Group of data sets, measure and title of each critical-difference diagram.
PANELS = (
    ("large", "score", "Score as delivered, 500 training rows or more"),
    ("small", "score", "Score as delivered, fewer than 500 training rows"),
    ("all", "best_score", "Score at the best scale, all data sets"),
    ("all", "skill", "Skill, all data sets"),
    ("all", "gain_BM", "Gain on BM axes, all data sets"),
    ("all", "gain_BD", "Gain on BD axes, all data sets"),
)


def write(result: Result, folder: Path) -> None:
    """Write figures and page."""
    from jinja2 import Environment, StrictUndefined

    save(rank_diagrams(result), folder / "study" / "ranks")
    save(forest_plots(result), folder / "study" / "skills")
    environment = Environment(autoescape=False, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)  # noqa: S701  Markdown
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    answers = {name: answer(result, name) for name, group in result["ranks"].items() if group["measures"]}
    page = template.render(**result, answers=answers, best=best, saved=saved)
    write_whole(folder / "study.md", f"{page}\n".encode())


def answer(result: Result, group: str) -> dict[str, Any]:
    """Return methods by mean rank of the score as delivered, which are worse than the first, and what they cost."""
    ranks = result["ranks"][group]
    mean = ranks["measures"]["score"]["mean_ranks"]
    order = sorted(mean, key=mean.__getitem__)
    sets = [result["data"][name] for name in ranks["data"]]
    largest = max(sets, key=lambda one: one["training_rows"])
    seconds = {method: largest["results"][method]["fit_seconds"]["mean"] for method in order}
    worse = [method for method in order if mean[method] - mean[order[0]] > ranks["critical_difference"]]
    return {"order": order, "worse": worse, "seconds": seconds, "largest": largest, "sets": sets}


def best(results: Mapping[str, Any], measure: str, among: Any = None) -> Any:
    """Return the method with the lowest mean of a measure, among some or all; None where none of them ran."""
    names = [name for name in results if among is None or name in among]
    return min(names, key=lambda name: results[name][measure]["mean"], default=None)


def saved(sets: Any, method: str, measure: str = "score") -> float | None:
    """Return the median over data sets of the share that a method saves of a score of the constant band, in percent."""
    if "Constant" not in sets[0]["results"]:
        return None
    scores = [[one["results"][name][measure]["mean"] for name in (method, "Constant")] for one in sets]
    return float(100 * median(1 - own / constant for own, constant in scores))


def rank_diagrams(result: Result) -> Any:
    """Return Demšar's critical-difference diagrams."""
    figure, panels = canvas(2, rows=3, size=(6.2, 3.2))
    for ax, (group, measure, title) in zip(panels, PANELS, strict=True):
        ax.set_axis_off()
        ranks = result["ranks"][group]
        if ranks["measures"]:
            draw_ranks(ax, ranks["measures"][measure]["mean_ranks"], ranks["critical_difference"], result["methods"])
            ax.set_title(f"{title} ({len(ranks['data'])}), CD {ranks['critical_difference']:.1f}", fontsize=10)
    return figure


def draw_ranks(ax: Any, ranks: Mapping[str, float], critical: float, about: Mapping[str, Any]) -> None:
    """Draw mean ranks on a line; bars join methods that are not significantly different."""
    order, k = sorted(ranks, key=ranks.__getitem__), len(ranks)
    ax.hlines(0, 1, k, color="black", linewidth=1)
    for rank in range(1, k + 1):
        ax.annotate(str(rank), (rank, 0), (0, 7), textcoords="offset points", ha="center", fontsize=8)
        ax.vlines(rank, 0, 0.15, color="black", linewidth=1)
    reach = [[name for name in order[i:] if ranks[name] - ranks[first] <= critical] for i, first in enumerate(order)]
    bars = [group for i, group in enumerate(reach) if len(group) > 1 and (i == 0 or group[-1] != reach[i - 1][-1])]
    for place, group in enumerate(bars, start=1):
        ax.hlines(-0.3 * place, ranks[group[0]] - 0.06, ranks[group[-1]] + 0.06, color="black", linewidth=3)
    for place, name in enumerate(order):
        left = place < (k + 1) // 2
        y = -0.3 * len(bars) - 0.6 * (1 + (place if left else k - 1 - place))
        edge, color = 0.7 if left else k + 0.3, PALETTE[0] if about[name].get("ours") else GREY
        ax.plot([ranks[name], ranks[name], edge], [0, y, y], color=color, linewidth=1)
        text = f"{name}  {ranks[name]:.1f} " if left else f" {ranks[name]:.1f}  {name}"
        ax.text(edge, y, text, ha="right" if left else "left", va="center", fontsize=9, color=color)
    ax.set_xlim(1 - 0.5 * k, 1.5 * k)


def forest_plots(result: Result) -> Any:
    """Return skills of all methods with 95% intervals, a panel per data set."""
    sets, names = result["data"], list(result["methods"])
    columns = min(4, len(sets))
    figure, panels = canvas(columns, rows=-(-len(sets) // columns), size=(3.1, 3.0))
    for place, (ax, (title, one)) in enumerate(zip(panels, sets.items(), strict=False)):
        for y, name in enumerate(names):
            if found := one["results"].get(name):
                low, high = (100 * found[end] for end in ("skill_low", "skill_high"))
                color = PALETTE[0] if result["methods"][name].get("ours") else GREY
                ax.plot([low, high], [y, y], color=color, linewidth=1.4)
                ax.plot(100 * found["skill_pooled"], y, "o", color=color, markersize=4)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(range(len(names)), names if place % columns == 0 else [], fontsize=8)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_title(f"{title} ({one['rows']:,} rows)", fontsize=10)
        ax.set_xlabel("skill, %")
    for ax in panels[len(sets) :]:
        ax.set_axis_off()
    return figure
