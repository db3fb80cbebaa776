"""The study's page: three sentences that answer, by rules fixed before the run, then tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from uccurve.plots._drawing import GREY, PALETTE

from ._study_bench import SETTINGS
from ._study_data import ABOUT, REAL
from ._study_judge import MAIN, SURE, ranking
from .figures import canvas, save
from .results import Result, rendered
from .store import write_whole

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_method.py"
AFTER = {name for name, about in ABOUT["methods"].items() if about.get("after")}
LARGEST_SETTING = SETTINGS - 1
PANELS = (
    ("real", "All real data sets"),
    ("plain", "The same without the conformal factor"),
    ("small", "Fewer than 500 training rows"),
    ("large", "500 training rows or more"),
)


def write(result: Result, folder: Path) -> None:
    """Write figures and page; without results the page says what will be done."""
    groups = result["groups"]
    if groups:
        save(rank_diagrams(result), folder / "study" / "ranks")
    if result["data"]:
        save(regret_dots(result), folder / "study" / "regrets")
    main = groups.get("real")
    page = rendered(
        "study_page.md",
        **result,
        rows=rows(result) if main else [],
        answer=answer(result) if main else None,
        ours=losses(result) if main else [],
        ranked=[name for name in result["methods"] if name not in AFTER],
        later=looked_at_later(result) if main else None,
        lowest=least_covered(result) if main else "",
        edges=at_the_edge(result) if main else {},
        explained=regrets(result, synthetic=True),
        by_set=regrets(result, synthetic=False),
        changed=ABOUT["changed"],
        data_sets=ABOUT["data"],
        real_sets=len(REAL),
        origin_count=len({ABOUT["data"][name]["origin"] for name in REAL}),
        example=EXAMPLE.read_text(encoding="utf-8").rstrip(),
    )
    write_whole(folder / "study.md", f"{page}\n".encode())


# ---- tables


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method over all real data sets on which every ranked method ran."""

    name: str
    ranks: list[float]  # by level
    regret: float
    coverage: float
    lowest_coverage: float
    width: float | None  # against the constant band's, median
    worst_pocket: float
    seconds: float | None  # against the constant band's, median
    plain_rank: float
    plain_coverage: float
    lead: float
    rank_low: float
    rank_high: float
    against: Mapping[str, float] | None  # None for the leader


def rows(result: Result) -> list[MethodRow]:
    """Return the methods of the main table, the leader first."""
    groups = result["groups"]
    main = groups["real"]
    ranked = main["ranking"]
    by_level = [groups["80%"], main, groups["95%"]]
    found = []
    for name in ranked["mean_rank"]:
        of_method = [result["data"][data]["results"][name] for data in ranked["data"]]
        shipped = [one["shipped"] for one in of_method]
        covered = [one["coverage"][MAIN] for one in shipped]
        plain = [one["plain"]["coverage"][MAIN] for one in of_method]
        found.append(
            MethodRow(
                name=name,
                ranks=[level["ranking"]["mean_rank"][name] for level in by_level],
                regret=ranked["regret"][name],
                coverage=fmean(covered),
                lowest_coverage=min(covered),
                width=against_constant(result, name, width),
                worst_pocket=fmean(one["worst_pocket"] for one in shipped),
                seconds=against_constant(result, name, seconds),
                plain_rank=groups["plain"]["ranking"]["mean_rank"][name],
                plain_coverage=fmean(plain),
                lead=main["origins"]["lead"][name],
                rank_low=main["origins"]["rank_low"][name],
                rank_high=main["origins"]["rank_high"][name],
                against=main["against"].get(name),
            )
        )
    return found


def width(found: Mapping[str, Any]) -> float:
    """Return the mean width of a method's intervals."""
    return float(found["shipped"]["width"][MAIN])


def seconds(found: Mapping[str, Any]) -> float:
    """Return what a method's fits cost."""
    return float(found["seconds"])


def against_constant(result: Result, name: str, value: Any) -> float | None:
    """Return the median over the real data sets of a value against that of the constant band."""
    ratios = []
    for data in result["groups"]["real"]["ranking"]["data"]:
        results = result["data"][data]["results"]
        if "Constant" in results and value(results["Constant"]) > 0:
            ratios.append(value(results[name]) / value(results["Constant"]))
    return median(ratios) if ratios else None


def regrets(result: Result, *, synthetic: bool) -> dict[str, dict[str, float]]:
    """Return by data set how much each method scores worse than the best one."""
    found = {}
    for name, about in result["data"].items():
        if bool(about.get("synthetic")) == synthetic:
            scores = {k: one["shipped"]["score"][MAIN] for k, one in about["results"].items()}
            best = min(score for k, score in scores.items() if k not in AFTER)
            found[name] = {k: score / best - 1 for k, score in scores.items()}
    return found


def least_covered(result: Result) -> str:
    """Return the real data set on which methods cover least, on average."""

    def coverage(name: str) -> float:
        found = result["data"][name]["results"].values()
        return fmean(one["shipped"]["coverage"][MAIN] for one in found)

    names: list[str] = result["groups"]["real"]["ranking"]["data"]
    return min(names, key=coverage)


@dataclass(frozen=True, slots=True)
class Later:
    """What the larger settings do for CQR: regrets by data set, and its rank with the better of both."""

    regret: dict[str, tuple[float, float, float]]  # CQR, CQR (larger), and the leader
    rank: float
    leader: str
    leader_rank: float


def looked_at_later(result: Result) -> Later | None:
    """Return what CQR scores with larger settings, where they were tried."""
    leader = result["groups"]["real"]["leader"]
    by_set = regrets(result, synthetic=False)
    names = ("CQR", "CQR (larger)", leader)
    tried = {
        data: (regret[names[0]], regret[names[1]], regret[leader])
        for data, regret in by_set.items()
        if all(name in regret for name in names)
    }
    if not tried:
        return None
    scores = {}
    for data, regret in by_set.items():
        row = {name: 1 + value for name, value in regret.items() if name not in AFTER}
        row["CQR"] = 1 + min(regret.get(name, regret["CQR"]) for name in names[:2])
        scores[data] = row
    ranks = ranking(scores).mean_rank
    return Later(tried, ranks["CQR"], leader, ranks[leader])


def at_the_edge(result: Result) -> dict[str, int]:
    """Return on how many real data sets each method chose its largest setting in every trial."""
    found = {}
    for name in result["groups"]["real"]["ranking"]["mean_rank"]:
        of_sets = [
            result["data"][data]["results"][name]["settings"]
            for data in result["groups"]["real"]["ranking"]["data"]
        ]
        found[name] = sum(min(settings) == LARGEST_SETTING for settings in of_sets)
    return found


@dataclass(frozen=True, slots=True)
class Loss:
    """Where one of ours loses most, and how often it loses by more than the practical difference to the leader."""

    name: str
    mean_rank: float
    data: str
    to: str
    regret: float
    behind: int
    of: int


def losses(result: Result) -> list[Loss]:
    """Return the largest loss of each of ours."""
    ranked = result["groups"]["real"]["ranking"]
    by_set = regrets(result, synthetic=False)
    found = []
    for name, about in result["methods"].items():
        if about.get("ours") and name in ranked["mean_rank"]:
            worst = max(by_set, key=lambda data: by_set[data][name])
            rivals = [method for method in by_set[worst] if method not in AFTER]
            best = min(rivals, key=lambda method: by_set[worst][method])
            behind = sum(regret[name] > 0.01 for regret in by_set.values())
            found.append(
                Loss(
                    name, ranked["mean_rank"][name], worst, best, by_set[worst][name],
                    behind, len(by_set),
                )
            )  # fmt: skip
    return sorted(found, key=lambda loss: loss.mean_rank)


# ---- the three sentences


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page says first; each sentence follows from the numbers by a rule."""

    leads: str
    depends: str
    holds: str


def answer(result: Result) -> Answer:
    """Return the three sentences."""
    groups = result["groups"]
    return Answer(
        leading(groups["real"]),
        depending(groups),
        holding(result),
    )


def leading(found: Mapping[str, Any]) -> str:
    """Return who leads, by how much, and from whom it can be told."""
    ranked, leader = found["ranking"], found["leader"]
    worse, same, open_ = [], [], []
    for name, votes in found["against"].items():
        if votes["better"] >= SURE:
            worse.append(name)
        elif votes["same"] >= SURE:
            same.append(name)
        else:
            open_.append(name)
    mean = ranked["mean_rank"][leader]
    text = (
        f"On {counted(len(ranked['data']), 'real data set')} **{leader}** has the best mean rank, "
        f"{mean:.1f} of {len(ranked['mean_rank'])}, and scores {ranked['regret'][leader]:.1%} worse than "
        f"the best method of each set (median)"
    )
    clauses = []
    if worse:
        clauses.append(f"it is better than {listed(worse)}")
    if same:
        clauses.append(f"as good for all practical purposes as {listed(same)}")
    if open_:
        clauses.append(f"not shown to be better than {listed(open_)}")
    return f"{text}; {', '.join(clauses)}." if clauses else f"{text}."


def depending(groups: Mapping[str, Any]) -> str:
    """Return who leads by size and kind of data."""
    named = {
        "small": "with fewer than 500 training rows",
        "large": "with more",
        "continuous": "on continuous targets",
        "few values": "on counts, grades and other targets of few values",
    }
    parts = []
    for key, words in named.items():
        if key in groups:
            found = groups[key]
            leader = found["leader"]
            ranked = found["ranking"]
            size = len(ranked["data"])
            parts.append(
                f"{words} {leader} ({ranked['mean_rank'][leader]:.1f}, {counted(size, 'set')})"
            )
    text = "; ".join(parts)
    return f"By size and kind of data the lead is: {text}."


def holding(result: Result) -> str:
    """Return what the lead owes to the choice of data sets, and what ours is worth."""
    found = result["groups"]["real"]
    leader, origins = found["leader"], found["origins"]
    lost = {name: who for name, who in origins["without"].items() if who != leader}
    if lost:
        taken = [f"without {name} {who} leads" for name, who in lost.items()]
        kept = listed(taken)
    else:
        kept = "no origin left out takes the lead away"
    text = (
        f"Drawing the {len(origins['without'])} origins again, {leader} keeps the lead in "
        f"{origins['lead'][leader]:.0%} of the draws, and {kept}"
    )
    ours = losses(result)
    if not ours:
        return f"{text}."
    best = ours[0]
    return (
        f"{text}; of ours the best is {best.name} (mean rank {best.mean_rank:.1f}), "
        f"which loses most on {best.data}, by {best.regret:.1%} to {best.to}."
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def listed(names: Sequence[str]) -> str:
    """Return names as English lists them."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# ---- figures


def rank_diagrams(result: Result) -> Any:
    """Return critical-difference diagrams: lines of that length around mean ranks, the leader's shaded."""
    figure, panels = canvas(2, rows=2, size=(6.2, 3.6))
    for ax, (key, title) in zip(panels, PANELS, strict=True):
        if key not in result["groups"]:
            ax.set_axis_off()
            continue
        ranked = result["groups"][key]["ranking"]
        half = (ranked["critical_difference"] or 0.0) / 2
        mean = ranked["mean_rank"]
        for y, (name, rank) in enumerate(mean.items()):
            color = PALETTE[0] if result["methods"][name].get("ours") else GREY
            ax.plot([rank - half, rank + half], [y, y], color=color, linewidth=1.4)
            ax.plot(rank, y, "o", color=color, markersize=4)
        first = min(mean.values())
        ax.axvspan(first - half, first + half, color=GREY, alpha=0.15, linewidth=0)
        ax.set_yticks(range(len(mean)), list(mean), fontsize=8)
        ax.set_ylim(len(mean) - 0.5, -0.5)
        ax.set_title(f"{title} ({len(ranked['data'])}), CD {2 * half:.1f}", fontsize=10)
        ax.set_xlabel("mean rank of the score at 90%")
    return figure


def regret_dots(result: Result) -> Any:
    """Return a dot per method and data set: how much worse it scores than the best one."""
    both = regrets(result, synthetic=False) | regrets(result, synthetic=True)
    names = [name for name in result["methods"] if name not in AFTER]
    figure, panels = canvas(1, rows=1, size=(9.0, 0.28 * len(both) + 1.6))
    ax = panels[0]
    for y, found in enumerate(both.values()):
        for name in names:
            if name in found:
                mine = result["methods"][name].get("ours")
                color = PALETTE[0] if mine else GREY
                ax.plot(100 * found[name], y, "o", color=color, markersize=4, alpha=0.7)
        ranked = [name for name in found if name not in AFTER]
        leader = min(ranked, key=lambda name: found[name])
        ax.annotate(leader, (0, y), xytext=(4, 4), textcoords="offset points", fontsize=6)
    ax.set_yticks(range(len(both)), list(both), fontsize=8)
    ax.set_ylim(len(both) - 0.5, -0.5)
    ax.set_xscale("symlog", linthresh=10)
    ax.set_xlim(left=-0.4)
    ax.set_xlabel("score at 90%, % worse than the best method of the data set")
    return figure
