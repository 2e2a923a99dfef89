"""Collect the data of the page: records of the pool, and the committed result of `measure`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.attention_weights.measure import CAPTIONS, FIREFOX, GOLD, SEARCHES, VARIANTS
from benchmarks.attention_weights.statistics import GOLD_VALUES, VALUES, group_values
from benchmarks.attention_weights.word_classes import CLASSES
from claims.ledger.record import ModelRecord
from claims.measurement.attention_statistics import COLUMNS, TOP, row_values

MODELS = ("general", "dot", "concat", "location", "bahdanau", "transformer", "firefox")
"""Models of the page, in this order."""

Facts = Mapping[str, Any]


def page_data(result: Facts, records: Path) -> dict[str, Any]:
    """Return everything that the page draws, without texts."""
    by_variant = {
        name: [each for each in result["models"] if each["variant"] == name and each["corpus"] in (CAPTIONS, FIREFOX)]
        for name in MODELS
    }
    recorded = _records(records)
    models = {
        name: _model(found, recorded.get(name, [])) for name, found in by_variant.items() if found or name in recorded
    }
    gold = [each for each in result["models"] if each["corpus"] == GOLD]
    return {
        "values": list(VALUES),
        "top": list(TOP),
        "classes": list(CLASSES),
        "searches": list(SEARCHES),
        "models": models,
        "gold": _gold(gold) if gold else None,
    }


def _records(folder: Path) -> dict[str, list[ModelRecord]]:
    """Return the records with attention weights of the models of the page, ordered by seed."""
    found: dict[str, list[ModelRecord]] = {}
    for base in {key[0] for key in VARIANTS}:
        for path in sorted(folder.glob(f"{base}-*.json.gz")):
            record = ModelRecord.read(path)
            name = VARIANTS.get((record.facts["base"], *record.facts["changes"]))
            if name in MODELS and name != "bahdanau" and record.facts["corpus"] == CAPTIONS:
                found.setdefault(name, []).append(record)
    return {name: sorted(each, key=lambda record: record.seed) for name, each in found.items()}


def _model(measured: Sequence[Facts], records: Sequence[ModelRecord]) -> dict[str, Any]:
    """Return the figures of a model: weights from its records if it has any, else from what was measured."""
    found = _from_records(records) if records else _from_points(measured)
    points = [each["points"] for each in measured]
    if points and len(points[0]) > 1:
        found["training"] = {
            "seeds": [each["seed"] for each in measured],
            "updates": [point["update"] for point in points[0]],
            "values": [_mean(run[place]["all"]["values"] for run in points) for place in range(len(points[0]))],
            "uniform": points[0][0]["all"]["uniform"],
            "loss": [_mean([run[place]["loss"]] for run in points)[0] for place in range(len(points[0]))],
        }
    if points:
        found["classes"] = _classes(points)
        found["received"] = {
            name: {
                state: _mean(run[place]["received"][name] for run in points)
                for state, place in _states(points[0]).items()
            }
            for name in CLASSES
            if name in points[0][0]["received"]
        }
    searches = [each["searches"] for each in measured if "searches" in each]
    if searches and "searches" not in found:
        found["searches"] = {name: [each[name]["bleu"] for each in searches] for name in SEARCHES}
        found["searched"] = measured[0]["sentences"]
    if len(searches) == 1:
        found["changes"] = {name: searches[0][name]["change"] for name in SEARCHES}
    return found


def _states(run: Sequence[Any]) -> dict[str, int]:
    """Return the places of the trained and the untrained model among the points of a run."""
    return {"trained": -1, "untrained": 0} if len(run) > 1 else {"trained": -1}


def _from_records(records: Sequence[ModelRecord]) -> dict[str, Any]:
    """Return weights by state, layer, head and source length; interventions if all records have them."""
    states = {state: [record.facts["attention"][state] for record in records] for state in ("trained", "untrained")}
    first = states["trained"][0]
    bins = [*map(str, first["length_bins"]), "more"]
    sentences = np.array(first["sentences"], np.float64).T  # [sentences, columns]
    of_bin = np.searchsorted(first["length_bins"], _positions(sentences))
    found: dict[str, Any] = {
        "seeds": [record.seed for record in records],
        "sentences": len(sentences),
        "all": {
            state: [group_values(np.array(each["heads"]).sum((0, 1))) for each in seeds]
            for state, seeds in states.items()
        },
        "uniform": _uniform(sentences),
        "heads": {
            state: [[[group_values(np.array(head)) for head in layer] for layer in each["heads"]] for each in seeds]
            for state, seeds in states.items()
        },
        "lengths": {
            name: {
                state: _mean(group_values(np.array(each["lengths"][place])) for each in seeds)
                for state, seeds in states.items()
            }
            | {"uniform": _uniform(sentences[of_bin == place])}
            for place, name in enumerate(bins)
        },
    }
    if all(set(SEARCHES) <= set(record.facts["searches"]) for record in records):
        found["searched"] = len(sentences)
        found["searches"] = {
            name: [round(record.facts["searches"][name]["scores"]["bleu"]["value"], 2) for record in records]
            for name in SEARCHES
        }
    return found


def _from_points(measured: Sequence[Facts]) -> dict[str, Any]:
    """Return the same as `_from_records`, for models without a record."""
    runs = [each["points"] for each in measured]
    states = _states(runs[0])
    return {
        "seeds": [each["seed"] for each in measured],
        "sentences": measured[0]["sentences"],
        "all": {state: [run[place]["all"]["values"] for run in runs] for state, place in states.items()},
        "uniform": runs[0][-1]["all"]["uniform"],
        "heads": {state: [run[place]["heads"] for run in runs] for state, place in states.items()},
        "lengths": {
            name: {
                state: _mean(run[place]["lengths"][name]["values"] for run in runs) for state, place in states.items()
            }
            | {"uniform": group["uniform"]}
            for name, group in runs[0][-1]["lengths"].items()
        },
    }


def _classes(runs: Sequence[Sequence[Facts]]) -> dict[str, Any]:
    """Return the statistics of target words by class."""
    return {
        name: {"rows": group["rows"], "uniform": group["uniform"]}
        | {
            state: _mean(run[place]["classes"][name]["values"] for run in runs)
            for state, place in _states(runs[0]).items()
        }
        for name, group in runs[0][-1]["classes"].items()
    }


def _gold(measured: Sequence[Facts]) -> dict[str, Any]:
    """Return the weights compared with gold links, at every point of training, as means over seeds."""
    runs = [each["points"] for each in measured]
    return {
        "seeds": [each["seed"] for each in measured],
        "sentences": measured[0]["sentences"],
        "values": list(GOLD_VALUES),
        "updates": [point["update"] for point in runs[0]],
        "points": [
            {
                control: {
                    group: [found[0], *_mean(run[place]["gold"][control][group][1:] for run in runs)]
                    for group, found in groups.items()
                }
                for control, groups in point["gold"].items()
            }
            for place, point in enumerate(runs[0])
        ],
    }


def _positions(sentences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the source positions of each sentence, the end included."""
    positions: NDArray[np.float64] = np.round(
        sentences[:, COLUMNS.index("cells")] / sentences[:, COLUMNS.index("rows")]
    )
    return positions


def _uniform(sentences: NDArray[np.float64]) -> list[float]:
    """Return the values of equal weights for the target words of these sentences."""
    sums = np.zeros(len(COLUMNS))
    for rows, positions in zip(sentences[:, 0], _positions(sentences).astype(int), strict=True):
        sums += rows * row_values(np.full((1, positions), 1 / positions))[0]
    return group_values(sums)


def _mean(rows: Iterable[Sequence[float]]) -> list[float]:
    return [round(float(value), 4) for value in np.mean(list(rows), axis=0)]
