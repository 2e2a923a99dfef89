"""Write the result of `measure` as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.attention_weights.statistics import CONTROLS
from benchmarks.reporting import table

_HEAD = ["< 0.01", "effective number", "largest 1", "largest 2", "largest 3", "largest 5"]


def result_page(result: Mapping[str, Any], introduction: str) -> str:
    """Return the page of the result."""
    models = result["models"]
    text = "# Attention weights\n\nMeasured {date} with `python -m benchmarks.attention_weights measure`, one thread, "
    text = (text + "dragoman {version}, on: {machine}.\n").format(**{key: result[key] for key in result})
    text += f"\n{introduction}\n"
    text += (
        "The weights of the records of the pool, and figures that a reader can move, are on the page "
        "[Does attention select a few words?](../../claims/attention.html) of claim C15.\n"
    )
    text += "\n## Points of training\n\nMean over all layers, heads and tokens of the references.\n\n"
    text += table(["model", "corpus", "seed", "update", "loss per token", *_HEAD], list(_training(models)))
    text += "\n## Target words by class\n\nTrained weights; rows are tokens times heads.\n\n"
    text += table(["model", "corpus", "seed", "class", "rows", *_HEAD], list(_classes(models)))
    text += "\n## Source words by class\n\nShare of all trained weight, and of all positions.\n\n"
    text += table(["model", "corpus", "seed", "class", "weight", "positions"], list(_received(models)))
    text += (
        "\n## Interventions\n\nBLEU of greedy search, and the change with the 95 % interval of a paired bootstrap.\n\n"
    )
    text += table(
        ["model", "corpus", "seed", "sentences", "search", "BLEU", "change", "interval"], list(_searches(models))
    )
    text += "\n## Gold word links\n\nTarget words by their number of links, at the end of the training.\n\n"
    head = [
        "seed",
        "links",
        "weights",
        "words",
        "weight on linked words",
        "largest on a linked word",
        "effective number",
    ]
    return text + table(head, list(_gold(models)))


def _label(model: Mapping[str, Any]) -> list[str]:
    return [model["variant"], model["corpus"], str(model["seed"])]


def _cells(values: list[float]) -> list[str]:
    return [f"{value:.2f}" if place == 1 else f"{value:.3f}" for place, value in enumerate(values)]


def _training(models: list[Mapping[str, Any]]) -> Iterator[list[str]]:
    for model in models:
        for point in model["points"]:
            when = [f"{point['update']:,}", f"{point['loss']:.2f}"] if "update" in point else ["–", "–"]
            yield [*_label(model), *when, *_cells(point["all"]["values"])]


def _classes(models: list[Mapping[str, Any]]) -> Iterator[list[str]]:
    for model in models:
        for name, group in model["points"][-1]["classes"].items():
            yield [*_label(model), name, f"{group['rows']:,}", *_cells(group["values"])]


def _received(models: list[Mapping[str, Any]]) -> Iterator[list[str]]:
    for model in models:
        for name, (weight, positions) in model["points"][-1]["received"].items():
            yield [*_label(model), name, f"{weight:.3f}", f"{positions:.3f}"]


def _searches(models: list[Mapping[str, Any]]) -> Iterator[list[str]]:
    for model in models:
        for name, found in model.get("searches", {}).items():
            change, low, high = found["change"]
            changes = ["–", "–"] if name == "beam-1" else [f"{change:.1f}", f"{low:.1f} … {high:.1f}"]
            yield [*_label(model), str(model["sentences"]), name, f"{found['bleu']:.1f}", *changes]


def _gold(models: list[Mapping[str, Any]]) -> Iterator[list[str]]:
    for model in models:
        gold = model["points"][-1].get("gold")
        for control in CONTROLS if gold else ():
            for group, (words, mass, largest, effective) in gold[control].items():
                shares = ["–", "–"] if group == "0" else [f"{mass:.3f}", f"{largest:.3f}"]
                label = {"all": "1 or more", "2": "2 or more"}.get(group, group)
                yield [str(model["seed"]), label, control, f"{words:,}", *shares, f"{effective:.2f}"]
