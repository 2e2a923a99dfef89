"""Benchmark task: Multi30k's test sentences, one per request, and the settings of both sides."""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.corpus import read_lines
from benchmarks.serving.offline import Offline
from benchmarks.serving.process import Server, served
from dragoman import __version__
from dragoman.bundle import Bundle
from dragoman.environment import machine_info

TEST = "test_2016_flickr"
PATH = "/translate"
CLIENTS = 64
BATCH_TOKENS = 2048  # the server's default


@dataclass(frozen=True)
class Task:
    """A bundle, sentences in its language, and the settings of both sides."""

    bundle: Path
    texts: list[str]
    source: str
    target: str
    threads: int
    beam: int
    engine: str
    precision: str
    work: Path

    @classmethod
    def of(cls, options: argparse.Namespace, work: Path) -> Task:
        config = Bundle.open(options.bundle).config
        if config.data is None:
            raise SystemExit(f"the bundle must name its languages, got {options.bundle}; train it with a [data] table")
        source, target = config.data.source, config.data.target
        texts = read_lines(options.corpus / f"{TEST}.{source}.gz")[: options.sentences]
        settings = (options.threads, options.beam, options.engine, options.precision)
        return cls(options.bundle.absolute(), texts, source, target, *settings, work)

    @property
    def bodies(self) -> list[bytes]:
        return [body_of(text, self.source, self.target) for text in self.texts]

    def offline(self) -> Offline:
        return Offline(
            self.bundle,
            threads=self.threads,
            beam=self.beam,
            tokens=BATCH_TOKENS,
            engine=self.engine,
            precision=self.precision,
        )

    @contextmanager
    def served(self, name: str = "server", **settings: object) -> Iterator[Server]:
        shared = {name: getattr(self, name) for name in ("threads", "beam", "engine", "precision")}
        with served([str(self.bundle)], self.work / f"{name}.log", {**shared, "log": "off", **settings}) as server:
            yield server

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "sentences": len(self.texts),
            "languages": f"{self.source}→{self.target}",
            "threads": self.threads,
            "beam": self.beam,
            "engine": self.engine,
            "precision": self.precision,
        }


def body_of(text: str, source: str, target: str) -> bytes:
    return json.dumps({"q": text, "source": source, "target": target}).encode()


def signature() -> dict[str, str]:
    """Return date, version and machine of a measurement."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return {"date": today, "version": __version__, "machine": machine_info().signature}
