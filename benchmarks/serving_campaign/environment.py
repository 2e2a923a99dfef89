"""Environment of a campaign: scratch folder, tiny bundles with languages, and servers of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.serving.process import ROOT, Server, dragoman_serve, free_port
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import CorpusConfig, DataConfig
from dragoman.server.access.api_keys import create_key
from testkit.random_bundle import random_bundle, words

FAMILIES = {"transformer": "vaswani2017-desk", "luong": "luong2015-desk", "bahdanau": "bahdanau2015-desk"}
WITHOUT_FAULT = ("-m", "dragoman")


def with_languages(bundle: Bundle, folder: Path, source: str = "en", target: str = "de") -> Path:
    """Write a bundle again with these languages."""
    data = DataConfig(source=source, target=target, train=[CorpusConfig(files=["train.en", "train.de"])])
    config = bundle.config.model_copy(update={"data": data})
    write_bundle(folder, config, bundle.weights(), bundle.tokenizers(), "# Never trained\n")
    return folder


def admin_key(folder: Path) -> tuple[Path, dict[str, str]]:
    """Write a key file with an administrator's key; returns the file and the header of the key."""
    path = folder / "keys.txt"
    return path, {"Authorization": f"Bearer {create_key(path, 'admin', ['admin'])}"}


class Environment:
    """Scratch folder and servers of one campaign. `is_small` selects the short version for CI.

    `share` is the part of the full number of trials that is made, at least that of the short version.
    """

    def __init__(
        self,
        folder: Path,
        *,
        is_small: bool,
        seed: int = 1,
        bundles: dict[str, Path] | None = None,
        share: float = 1.0,
    ) -> None:
        self.folder, self.is_small, self.seed, self.share = folder, is_small, seed, share
        self.trained = bundles or {}
        """Trained bundles by family, used in place of untrained ones."""
        self._numbers = itertools.count()
        self._shared: dict[object, Server] = {}
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def time_factor(self) -> float:
        """Factor of all time limits: the small version runs on busy machines."""
        return 5.0 if self.is_small else 1.0

    @property
    def pace(self) -> str:
        """Planted in the small version: a search whose speed does not depend on the load of the machine."""
        return "slow_search" if self.is_small else ""

    def scaled(self, small: int, full: int) -> int:
        return small if self.is_small else max(small, round(full * self.share))

    def bundle(self, family: str = "transformer", seed: int = 1) -> Path:
        """Return a tiny bundle, created once."""
        folder = self.folder / f"{family}-{seed}"
        if not folder.exists():
            created = random_bundle(self.folder / f"{family}-{seed}-no-languages", FAMILIES[family], seed=seed)
            with_languages(created, folder)
        return folder

    def new_folder(self, name: str) -> Path:
        folder = self.folder / f"{name}-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def texts(self, count: int, least: int = 2, most: int = 12, seed: int = 0) -> list[str]:
        """Return distinct generated sentences."""
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
        """Start a server, with a planted fault if one is named, without waiting until it is ready."""
        launcher = ("-m", "benchmarks.serving_campaign.planted_faults", fault) if fault else WITHOUT_FAULT
        port = free_port()
        command = dragoman_serve([str(each) for each in bundles], port, {"threads": 2, **settings}, launcher)
        return Server(command, port, self.folder / f"server-{next(self._numbers)}.log", env=env, cwd=cwd)

    @contextmanager
    def served(self, *bundles: str | Path, **options: Any) -> Iterator[Server]:
        """Run a ready server until the end of the block; options are those of `start`."""
        server = self.start(*bundles, **options)
        try:
            server.wait_until_ready()
            yield server
        finally:
            server.stop()

    @contextmanager
    def shared(self, *bundles: str | Path, fault: str = "", **options: Any) -> Iterator[Server]:
        """Like `served`; the small version keeps a server without a fault for the next experiment."""
        if fault or not self.is_small:
            with self.served(*bundles, fault=fault, **options) as server:
                yield server
            return
        key = (bundles, tuple(sorted(options.items())))
        if key not in self._shared or not self._shared[key].is_running:
            self._shared[key] = self.start(*bundles, **options)
        self._shared[key].wait_until_ready()
        yield self._shared[key]

    def close(self) -> None:
        """Stop the shared servers."""
        for server in self._shared.values():
            server.stop()
        self._shared.clear()
