"""Tables with the values of every figure: they are on the page without scripting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Table = dict[str, list[Any]]


def page_tables(data: Mapping[str, Any], texts: Mapping[str, Any]) -> dict[str, Table]:
    """Return the head and the rows of the table of each figure."""
    word = texts["columns"]
    values = [texts["columns"][name] for name in data["values"]]
    found = {
        "models": _table([word["model"], word["weights"], *values], _model_rows(data, texts)),
        "lengths": _table([word["model"], word["length"], word["weights"], *values], _length_rows(data, texts)),
        "heads": _table([word["model"], word["seed"], word["layer"], word["head"], *values], _head_rows(data, texts)),
        "training": _table([word["model"], word["update"], word["loss"], *values], _training_rows(data, texts)),
        "classes": _table(
            [word["model"], word["class"], word["rows"], word["weights"], *values], _class_rows(data, texts)
        ),
        "received": _table([word["model"], word["class"], *word["received"]], _received_rows(data, texts)),
        "interventions": _table(
            [word["model"], word["sentences"], word["seeds"], *(texts["searches"][name] for name in data["searches"])],
            _search_rows(data, texts),
        ),
    }
    if data["gold"]:
        found["gold"] = _table([word["update"], word["links"], word["weights"], *word["gold"]], _gold_rows(data, texts))
    return found


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> Table:
    return {"head": list(head), "rows": list(rows)}


def _cells(values: Sequence[float]) -> list[str]:
    """Format a group: a share, a number, and shares."""
    return [f"{value:.2f}" if place == 1 else f"{100 * value:.1f} %" for place, value in enumerate(values)]


def _model_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in data["models"].items():
        for state, seeds in model["all"].items():
            yield [texts["models"][name], texts["states"][state], *_cells(np.mean(seeds, axis=0).tolist())]
        yield [texts["models"][name], texts["states"]["uniform"], *_cells(model["uniform"])]


def _length_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in data["models"].items():
        bins = list(model["lengths"])
        for place, (most, states) in enumerate(model["lengths"].items()):
            before = bins[place - 1]
            label = f"> {before}" if most == "more" else f"{int(before) + 1}–{most}" if place else f"≤ {most}"
            for state, values in states.items():
                yield [texts["models"][name], label, texts["states"][state], *_cells(values)]


def _head_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in data["models"].items():
        for seed, layers in zip(model["seeds"], model["heads"]["trained"], strict=True):
            for layer, heads in enumerate(layers, 1):
                for head, values in enumerate(heads, 1):
                    yield [texts["models"][name], str(seed), str(layer), str(head), *_cells(values)]


def _training_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in data["models"].items():
        if "training" in model:
            training = model["training"]
            for update, loss, values in zip(training["updates"], training["loss"], training["values"], strict=True):
                yield [texts["models"][name], f"{update:,}", f"{loss:.2f}", *_cells(values)]


def _class_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in data["models"].items():
        for kind, group in model["classes"].items():
            for state in ("trained", "untrained", "uniform"):
                if state in group:
                    labels = [texts["classes"][kind], f"{group['rows']:,}", texts["states"][state]]
                    yield [texts["models"][name], *labels, *_cells(group[state])]


def _received_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in data["models"].items():
        for kind, states in model["received"].items():
            trained, positions = states["trained"]
            before = f"{100 * states['untrained'][0]:.1f} %" if "untrained" in states else "–"
            shares = [f"{100 * trained:.1f} %", before, f"{100 * positions:.1f} %"]
            yield [texts["models"][name], texts["classes"][kind], *shares]


def _search_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in data["models"].items():
        bleu = [f"{np.mean(model['searches'][search]):.1f}" for search in data["searches"]]
        yield [texts["models"][name], f"{model['searched']:,}", str(len(model["searches"]["beam-1"])), *bleu]


def _gold_rows(data: Mapping[str, Any], texts: Mapping[str, Any]) -> Iterator[list[str]]:
    gold = data["gold"]
    for update, point in zip(gold["updates"], gold["points"], strict=True):
        for control, groups in point.items():
            for group, (words, mass, largest, effective) in groups.items():
                shares = ["–", "–"] if group == "0" else [f"{100 * mass:.1f} %", f"{100 * largest:.1f} %"]
                label = texts["links"][group]
                yield [f"{update:,}", label, texts["gold"][control], f"{words:,}", *shares, f"{effective:.2f}"]
