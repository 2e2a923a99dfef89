"""A recorded training run made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_SAMPLES = (
    ("Two dogs play in the snow.", "Zwei Hunde spielen im Schnee.", "Zwei Hunde spielen im Schnee ."),
    ("The museum is closed on Mondays.", "المتحف مغلق أيام الاثنين.", "المتحف مغلق يوم الاثنين ."),
)


def write_run(folder: Path, *, updates: int = 400, ended: str | None = None, hostile: str = "") -> Path:
    """Write ``log.jsonl``, ``run.json`` and ``dragoman.toml`` of a run with a validation every 100 updates."""
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, Any]] = []
    for update in range(20, updates + 1, 20):
        entries.append(
            {
                "kind": "update",
                "update": update,
                "epoch": 1 + update // 200,
                "updates": 20,
                "loss": 9.0 / (1 + update / 100),
                "tokens": 20_000,
                "tokens_per_second": 9_500.0 + update,
                "gradient_norm": 1.5,
                "learning_rate": 0.001 * min(1.0, update / 200),
            }
        )
        if update % 100 == 0:
            entries.append(_validation(update, hostile))
    entries.append({"kind": "note", "update": updates, "text": f"a message {hostile}"})
    lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    (folder / "log.jsonl").write_text(lines + '{"kind": "upd', encoding="utf-8")  # cut off while it was written
    facts = {
        "dragoman": "0.1",
        "torch": "2.8",
        "machine": "a machine",
        "processes": 1,
        "threads": 2,
        "device": "cpu",
        "parameters": 2_034_176,
        "data": {"pairs": {"train": 29_000, "validation": 1_014}},
        "update": updates,
        "max_updates": 1000,
        "ended": ended,
        "best": {"update": updates, "metric": "bleu", "loss": 1.8, "scores": {"bleu": 31.4, "chrf": 55.0}},
        "seconds": 321.0,
        "starts": [{"when": "2026-11-16T05:00:00.000+00:00", "ended": ended}],
    }
    (folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    (folder / "dragoman.toml").write_text(f"[training]\nmax_updates = 1000 # {hostile}\n", encoding="utf-8")
    return folder


def _validation(update: int, hostile: str) -> dict[str, Any]:
    samples = []
    for source, reference, translation in _SAMPLES:
        words = (translation if update >= 300 else translation.rpartition(" ")[0]).split()
        source_words = [*source.split(), hostile] if hostile else source.split()
        rows = [[0.7 if place == row else 0.05 for place in range(len(source_words))] for row in range(len(words))]
        sample = {"source": source + hostile, "reference": reference, "translation": " ".join(words) + hostile}
        samples.append(sample | {"source_words": source_words, "target_words": words, "weights": rows})
    scores = {"bleu": 10.0 + update / 20, "chrf": 30.0 + update / 20}
    return {"kind": "validation", "update": update, "loss": 8.0 / (1 + update / 100), "scores": scores} | {
        "is_best": True,
        "metric": "bleu",
        "samples": samples,
    }
