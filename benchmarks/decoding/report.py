"""The page: tables, goals, a chart, and the figures they were made from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.decoding import contenders as who
from benchmarks.decoding.contenders import SETTINGS
from benchmarks.decoding.goals import SAME_GOAL, START_GOAL, Goal, Sameness, Side, goals, samenesses
from benchmarks.decoding.running import Setting
from benchmarks.decoding.startup import Start
from benchmarks.reporting import RESULTS, heading, table, write

TITLES = {"transformer": "Transformer", "rnn": "RNN with attention"}


@dataclass
class Quality:
    """What a contender's translations are worth: the same as those of our torch engine in float32, BLEU, length."""

    equal: float | None
    bleu: float | None
    tokens: float


@dataclass
class Findings:
    """All that was measured."""

    sides: list[Side]
    versions: dict[str, str]
    qualities: dict[tuple[str, str, Setting], Quality] = field(default_factory=dict)
    starts: list[Start] = field(default_factory=list)


def page(options: argparse.Namespace, found: Findings) -> str:
    text = heading("Decoding beside other toolkits", "python -m benchmarks.decoding", options.threads)
    text += "\nWith " + "; ".join(found.versions.values()) + ".\n"
    text += f"\n{(who.__doc__ or '').strip()}\n"
    text += f"\n{options.sentences:,} sentences of Multi30k test_2016_flickr, en→de. The time is that of translating, "
    text += f"after loading and {options.warmup} sentences to warm up. {options.rounds} interleaved rounds: every "
    text += "contender translates once in each, in a process that stays loaded. Medians; ratios are medians of each "
    text += "round's. Batches are of like length. A batch of 1 is one sentence after the other.\n"
    for model in options.models:
        sides = [side for side in found.sides if side.contender.model == model]
        if sides:
            text += f"\n## {TITLES[model]}\n\n{speeds(sides)}{notes(sides)}\n{qualities(sides, found)}"
    if any(side.rounds for side in found.sides):
        text += "\n![sentences a second](decoding.png)\n"
    reached = goals(found.sides)
    same = samenesses({key: quality.equal for key, quality in found.qualities.items()})
    if reached or same:
        text += f"\n## Goals\n\n{goal_table(reached, same, found.starts)}"
    return text + (f"\n## Start-up\n\n{start_table(found.starts)}" if found.starts else "")


def speeds(sides: Sequence[Side]) -> str:
    """Sentences per second, and per CPU second in brackets."""
    rows = [[side.contender.name, *(_cell(side, setting) for setting in SETTINGS)] for side in sides]
    return "Sentences per second (per CPU second):\n\n" + table(["", *map(str, SETTINGS)], rows)


def _cell(side: Side, setting: Setting) -> str:
    rate, cpu = side.rate(setting), side.cpu_rate(setting)
    return "–" if rate is None or cpu is None else f"{_number(rate)} ({_number(cpu)})"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


def notes(sides: Sequence[Side]) -> str:
    said = [f"- {side.contender.name}: {side.contender.note}.\n" for side in sides if side.contender.note]
    failed = [f"- {side.contender.name} did not run: `{side.error}`\n" for side in sides if side.error]
    return "\n" + "".join(said + failed) if said or failed else ""


def qualities(sides: Sequence[Side], found: Findings) -> str:
    """Whether all did the same work."""
    text = "The same translation as our torch engine in float32 with the same search / BLEU / mean tokens:\n\n"
    rows = [
        [side.contender.name, *(_quality(found, side, setting) for setting in SETTINGS)]
        for side in sides
        if side.rounds
    ]
    return text + table(["", *map(str, SETTINGS)], rows)


def _quality(found: Findings, side: Side, setting: Setting) -> str:
    quality = found.qualities.get((side.contender.model, side.contender.name, setting))
    if quality is None:
        return "–"
    equal = "–" if quality.equal is None else f"{quality.equal:.1%}"
    bleu = "–" if quality.bleu is None else f"{quality.bleu:.2f}"
    return f"{equal} / {bleu} / {quality.tokens:.1f}"


def goal_table(reached: Sequence[Goal], same: Sequence[Sameness], starts: Sequence[Start]) -> str:
    rows = [
        [
            goal.what,
            str(goal.setting),
            "–" if goal.floor is None else f"≥ {goal.floor:g}",
            f"{goal.ratio:.2f}",
            f"{goal.spread[0]:.2f}–{goal.spread[1]:.2f}",
            f"{goal.cpu_ratio:.2f}",
            goal.verdict,
        ]
        for goal in reached
    ]
    rows += [
        [goal.what, str(goal.setting), f"≥ {SAME_GOAL:.0%}", f"{goal.share:.1%}", "–", "–", goal.verdict]
        for goal in same
    ]
    for start in starts:
        if "ctranslate2" in start.name:
            verdict = "met" if start.median <= START_GOAL else "**missed**"
            spread = f"{min(start.seconds):.2f}–{max(start.seconds):.2f}"
            rows.append(
                [f"start-up of {start.name}", "s", f"≤ {START_GOAL:g}", f"{start.median:.2f}", spread, "–", verdict]
            )
    return table(["times as fast; the same", "search", "goal", "median", "rounds", "by CPU time", ""], rows)


def start_table(starts: Sequence[Start]) -> str:
    text = "A fresh process and one sentence, beam 5, in seconds of wall time. Ours is the command as it is typed; the "
    text += "others are the drivers of this benchmark.\n\n"
    rows = [
        [start.name, f"{start.median:.2f}", f"{min(start.seconds):.2f}–{max(start.seconds):.2f}"] for start in starts
    ]
    return text + table(["", "median", "all"], rows)


def draw(sides: Sequence[Side], name: str) -> None:
    """Bars, a panel a model and setting."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    models = list(dict.fromkeys(side.contender.model for side in sides if side.rounds))
    if not models:
        return
    counts = [sum(side.contender.model == model for side in sides) for model in models]
    figure, axes = plt.subplots(
        len(models),
        len(SETTINGS),
        figsize=(15, 1.2 + 0.32 * sum(counts)),
        squeeze=False,
        gridspec_kw={"height_ratios": counts},
    )
    for row, model in zip(axes, models, strict=True):
        mine = [side for side in sides if side.contender.model == model][::-1]
        for axis, setting in zip(row, SETTINGS, strict=True):
            colours = ["#2c3e8f" if "ragoman" in side.contender.name else "#b0b7c3" for side in mine]
            axis.barh([side.contender.name for side in mine], [side.rate(setting) or 0 for side in mine], color=colours)
            axis.set_title(f"{TITLES[model]}: {setting}", fontsize=9)
            axis.tick_params(labelsize=8)
            axis.grid(alpha=0.3, axis="x")
        for axis in row[1:]:
            axis.set_yticklabels([])
    axes[-1][0].set_xlabel("sentences a second", fontsize=8)
    figure.tight_layout()
    figure.savefig(RESULTS / f"{name}.png", dpi=110)
    plt.close(figure)


def report(options: argparse.Namespace, found: Findings) -> None:
    """Write the page, the chart and the figures."""
    draw(found.sides, options.results)
    write(
        options.results, page(options, found).replace("decoding.png", f"{options.results}.png"), figures(options, found)
    )


def figures(options: argparse.Namespace, found: Findings) -> dict[str, Any]:
    return {
        "threads": options.threads,
        "sentences": options.sentences,
        "versions": found.versions,
        "contenders": [
            {
                "name": side.contender.name,
                "model": side.contender.model,
                "error": side.error,
                "rounds": {
                    str(setting): {"seconds": [r.seconds for r in rounds], "cpu": [r.cpu for r in rounds]}
                    for setting, rounds in side.rounds.items()
                },
                "quality": {
                    str(setting): vars(quality)
                    for (model, name, setting), quality in found.qualities.items()
                    if (model, name) == (side.contender.model, side.contender.name)
                },
            }
            for side in found.sides
        ],
        "starts": {start.name: start.seconds for start in found.starts},
    }
