"""Folders of runs as training leaves them, without any training."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from dragoman.config import load_config, to_toml

ENTRIES: list[dict[str, Any]] = [
    {"kind": "checkpoint", "update": 0},
    {"kind": "update", "update": 50, "loss": 8.0, "tokens": 1000, "tokens_per_second": 100.0},
    {"kind": "update", "update": 100, "loss": 4.0, "tokens": 3000, "tokens_per_second": 100.0},
    {"kind": "validation", "update": 100, "loss": 3.5, "seconds": 5.0, "scores": {"bleu": 12.5}},
    {"kind": "update", "update": 150, "loss": 2.0, "tokens": 1000, "tokens_per_second": 100.0},
    {"kind": "end", "update": 150, "why": "finished"},
]


def recorded_run(
    folder: Path, bundle: Path | None = None, *, seed: int = 1, entries: list[dict[str, Any]] | None = None
) -> Path:
    """A run of this seed, and in it a copy of a bundle."""
    folder.mkdir(parents=True)
    lines = [json.dumps(entry) for entry in (ENTRIES if entries is None else entries)]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    facts = {
        "dragoman": "0.1.0",
        "torch": "2.13.0",
        "machine": "a desk",
        "parameters": 1234,
        "config_sha256": "c" * 64,
        "data": {"pairs": {"train": 900, "validation": 100}, "fingerprint": 79587217},
        "update": 150,
        "seconds": 60.0,
        "ended": "finished",
        "best": {"update": 100, "loss": 3.5, "scores": {"bleu": 12.5}},
    }
    (folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    config = load_config("vaswani2017-desk", [f"training.seed={seed}"])
    (folder / "dragoman.toml").write_text(to_toml(config), encoding="utf-8")
    if bundle is not None:
        shutil.copytree(bundle, folder / "bundle")
    return folder
