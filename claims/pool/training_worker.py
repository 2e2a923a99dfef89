"""Train and measure one model of the pool; a process of its own: ``python -m claims.pool.training_worker``.

A stopped or killed worker resumes from the newest checkpoint when it is started again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from claims.ledger.claim import CorpusFiles
from claims.ledger.record import FORMAT, ModelRecord
from claims.measurement.measure_model import gold_statistics, measure_model, sentence_losses
from claims.pool.pool_corpus import open_corpus_files
from claims.pool.pool_model import CODE_VERSION, PoolModel
from claims.pool.record_texts import word_counts
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.bundle import Bundle
from dragoman.config import parse_config
from dragoman.environment import machine_info, package_versions
from dragoman.files import read_json, read_json_lines, write_json
from dragoman.training.callbacks.events import CallbackList

_NICENESS = int(os.environ.get("CLAIMS_NICENESS", "19"))  # tests set 0: they would wait for all others


@dataclass(frozen=True)
class WorkOrder:
    """One model and the folders of its corpus, its run and its record."""

    model: PoolModel
    data: Path
    work: Path
    record: Path
    searches: tuple[str, ...] = ()
    commit: str = ""

    @property
    def folder(self) -> Path:
        """Folder of the model's run."""
        return self.work / "models" / self.model.name

    @property
    def prepared(self) -> Path:
        """Folder of the prepared data, which models of equal corpus and tokenizer share."""
        return self.work / "prepared" / prepared_name(self.model)

    def write(self) -> Path:
        """Write the order to a file, for another process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "order.json"
        model = self.model
        write_json(
            path,
            {
                "base": model.base,
                "changes": list(model.changes),
                "config": model.config.model_dump(exclude_none=True),
                "corpus_name": model.corpus_name,
                "corpus": model.corpus.model_dump(),
                "seed": model.seed,
                "data": str(self.data),
                "work": str(self.work),
                "record": str(self.record),
                "searches": list(self.searches),
                "commit": self.commit,
            },
        )
        return path

    @classmethod
    def read(cls, path: Path) -> WorkOrder:
        """Read an order."""
        found = json.loads(path.read_text(encoding="utf-8"))
        model = PoolModel(
            found["base"],
            tuple(found["changes"]),
            parse_config(found["config"]),
            found["corpus_name"],
            CorpusFiles.model_validate(found["corpus"]),
            found["seed"],
        )
        data, work, record = (Path(found[name]) for name in ("data", "work", "record"))
        return cls(model, data, work, record, tuple(found.get("searches", ())), found["commit"])


def prepared_name(model: PoolModel) -> str:
    """Return the name of the prepared data of a model: models of equal corpus and tokenizer share it."""
    described = {"tokenizer": model.config.tokenizer.model_dump(), "corpus": model.corpus.model_dump(exclude_none=True)}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
    return f"{model.corpus_name}-{digest[:12]}"


@dataclass
class CpuClock(CallbackList):
    """A callback that keeps the CPU time of all processes that trained a model, also of killed ones."""

    path: Path
    before: float = 0.0
    began: float = field(default_factory=time.process_time)

    def __post_init__(self) -> None:
        """Read the time of earlier processes."""
        super().__init__()
        self.before = float((read_json(self.path) or {}).get("seconds", 0.0))

    @property
    def seconds(self) -> float:
        """CPU time so far."""
        return self.before + time.process_time() - self.began

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        """Write the time: a resumed run repeats what comes after this checkpoint."""
        write_json(self.path, {"seconds": self.seconds, "update": update})


def train_and_measure(order: WorkOrder) -> bool:
    """Train a model, measure it and write its record; return False if the training was stopped."""
    model, run = order.model, order.folder / "run"
    corpus = open_corpus_files(model.corpus, order.data, order.work / "corpora" / model.corpus_name)
    clock = CpuClock(order.folder / "cpu.json")
    started = order.folder / "started.json"
    if not started.is_file():
        write_json(started, {"when": now()})
    config = corpus.config(model, order.prepared)
    if not (run / "bundle").is_dir():
        trained = train_model(check_training(config, order.folder, run, resume=True), callbacks=[clock])
        if not trained.ended.is_complete:
            return False
        write_json(clock.path, {"seconds": clock.seconds, "update": trained.ended.update})
    seconds = float(json.loads(clock.path.read_text(encoding="utf-8"))["seconds"])
    sources, references = corpus.test()
    facts: dict[str, Any] = {
        "format": FORMAT,
        "name": model.name,
        "key": model.key,
        "base": model.base,
        "changes": list(model.changes),
        "seed": model.seed,
        "corpus": model.corpus_name,
        "config": model.config.model_dump(exclude_none=True),
        "code": {"version": CODE_VERSION, "commit": order.commit},
        "machine": machine_info(accelerators=False).signature,
        "packages": package_versions(),
        "dates": {"started": read_json(started)["when"], "ended": now()},  # type: ignore[index]
        "training": {"cpu_seconds": round(seconds, 1)} | _training_facts(run),
        "test": {"files": list(model.corpus.test), "source_words": [len(text.split()) for text in sources]},
    }
    bundle = Bundle.open(run / "bundle", trusted=True)
    facts["test"]["losses"] = sentence_losses(bundle, sources, references)
    if corpus.gold is not None:
        facts |= gold_statistics(bundle, corpus.gold)
    for measured in measure_model(bundle, sources, references, order.searches):
        ModelRecord(facts | measured).write(order.folder / "record.json.gz")
    order.record.parent.mkdir(parents=True, exist_ok=True)
    record = dict(ModelRecord.read(order.folder / "record.json.gz").facts)
    ModelRecord(record | word_counts(corpus, record["hypotheses"])).write(order.record)
    return True


def _training_facts(run: Path) -> dict[str, Any]:
    """Return the size, the duration and the curves of a run."""
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    entries = list(read_json_lines(run / "log.jsonl"))
    updates = [entry for entry in entries if entry["kind"] == "update"]
    validations = [entry for entry in entries if entry["kind"] == "validation"]
    return {
        "parameters": facts["parameters"],
        "updates": facts["update"],
        "wall_seconds": round(facts["seconds"], 1),
        "target_tokens": sum(entry["tokens"] for entry in updates),
        "curves": {
            "train": [[entry["update"], round(entry["loss"], 4)] for entry in updates],
            "validation": [[entry["update"], round(entry["loss"], 4)] for entry in validations],
        },
    }


def now() -> str:
    """Return the time of a record."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def significant(value: float) -> float:
    """Round to five significant digits."""
    return float(f"{value:.5g}")


def lower_priority() -> None:
    """Give this process the lowest priority."""
    if hasattr(os, "nice"):
        os.nice(max(_NICENESS - os.nice(0), 0))


def main() -> None:
    """Run one order."""
    parser = argparse.ArgumentParser(description="Train and measure one model of the pool of claims.")
    parser.add_argument("order", type=Path)
    chosen = parser.parse_args()
    lower_priority()
    torch.set_num_threads(1)
    sys.exit(0 if train_and_measure(WorkOrder.read(chosen.order)) else 75)


if __name__ == "__main__":
    main()
