"""Where trials take place: tiny bundles that say their languages, and servers of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.random_bundle import random_bundle, words
from benchmarks.serving.process import ROOT, Server, dragoman_serve, free_port
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import CorpusConfig, DataConfig

__all__ = ["FAMILIES", "Room", "spoken"]

FAMILIES = {"transformer": "vaswani2017-desk", "luong": "luong2015-desk", "bahdanau": "bahdanau2015-desk"}
PLAIN = ("-m", "dragoman")


def spoken(bundle: Bundle, folder: Path, source: str = "en", target: str = "de") -> Path:
    """The bundle again, as one between two languages."""
    data = DataConfig(source=source, target=target, train=[CorpusConfig(files=["train.en", "train.de"])])
    config = bundle.config.model_copy(update={"data": data})
    write_bundle(folder, config, bundle.weights(), bundle.tokenizers(), "# Never trained\n")
    return folder


class Room:
    """A scratch folder for one campaign. `is_small` is the version for every change; the other takes its time."""

    def __init__(self, folder: Path, *, is_small: bool, seed: int = 1, bundles: dict[str, Path] | None = None) -> None:
        self.folder, self.is_small, self.seed = folder, is_small, seed
        self.trained = bundles or {}
        """Trained bundles by family, where they are at hand: they take the place of those that never were."""
        self._numbers = itertools.count()
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def patience(self) -> float:
        """How many times as long as promised something may take: the small version runs where others do too."""
        return 5.0 if self.is_small else 1.0

    def scaled(self, small: int, full: int) -> int:
        return small if self.is_small else full

    def bundle(self, family: str = "transformer", seed: int = 1) -> Path:
        """A tiny bundle; made once."""
        folder = self.folder / f"{family}-{seed}"
        if not folder.exists():
            made = random_bundle(self.folder / f"{family}-{seed}-mute", FAMILIES[family], seed=seed)
            spoken(made, folder)
        return folder

    def new_folder(self, name: str) -> Path:
        folder = self.folder / f"{name}-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def texts(self, count: int, least: int = 2, most: int = 12, seed: int = 0) -> list[str]:
        """Invented sentences, all different."""
        draw, vocabulary = random.Random(f"{self.seed} {seed}"), words(0, 300)
        return [
            " ".join([f"{number}", *draw.choices(vocabulary, k=draw.randint(least, most))]) for number in range(count)
        ]

    def start(
        self,
        *bundles: str | Path,
        fault: str = "",
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        **settings: object,
    ) -> Server:
        """Start a server, with a fault planted where one is named; it may not be ready yet."""
        launcher = ("-m", "benchmarks.serving_campaign.faulty", fault) if fault else PLAIN
        port = free_port()
        command = dragoman_serve([str(each) for each in bundles], port, {"threads": 2, **settings}, launcher)
        return Server(command, port, self.folder / f"server-{next(self._numbers)}.log", env=env, cwd=cwd)

    @contextmanager
    def served(self, *bundles: str | Path, **options: Any) -> Iterator[Server]:
        """A server that is ready, and ended afterwards; options are those of `start`."""
        server = self.start(*bundles, **options)
        try:
            server.wait_until_ready()
            yield server
        finally:
            server.stop()
