"""Run the cases of `test_block_pool` in a process of their own: Ray reads its environment when it is imported."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from dragoman.api.files import input_lines
from dragoman.api.files.file_translation import one_by_one
from dragoman.api.files.folder_translation import MANIFEST
from dragoman.api.files.input_lines import LineBlock
from dragoman.api.files.output_lines import LineFormat, LineTranslator
from dragoman.cluster.line_translator import LineTranslatorOptions
from dragoman.cluster.ray_session import ray_session
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from testkit.random_bundle import random_bundle, words
from tests.unit.api.files.translated_folder import translate_folder

KILLS = 3


class Fake:
    """A translator that fails in the way `what`."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.flagged: Counter[str] = Counter()
        self.first_flags: dict[str, tuple[int, str]] = {}
        self.translator = SimpleNamespace(languages=("en", "de"))

    def job(self) -> dict[str, Any]:
        return {"process": os.getpid() if self.what == "differ" else 0}

    def __call__(self, texts: Sequence[str], first: int) -> list[str]:
        if self.what == "die" and first == 1:
            time.sleep(1)  # the result of the previous block is still being sent; lost, that block would be named too
            os._exit(1)
        if self.what == "fail":
            raise ZeroDivisionError
        return list(texts)


def opened(what: str) -> LineTranslator:
    return cast("LineTranslator", Fake(what))


def blocks(*data: bytes) -> Iterator[LineBlock]:
    for number, each in enumerate(data, 1):
        yield LineBlock("in.txt", each, 1, number, number == len(data))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*") if path.name != MANIFEST}


def write_texts(folder: Path) -> None:
    folder.mkdir()
    for name, count in {"a.txt": 150, "b.txt": 1, "c.txt": 90}.items():
        text = "".join(f"{' '.join(words(row, 6))}\n" for row in range(count))
        (folder / name).write_text(text, encoding="utf-8")


def kill_workers(pool: Any, count: int, killed: list[int]) -> None:
    """Kill one worker after another."""
    import ray

    for number in range(count):
        time.sleep(0.3)
        actors = pool.pool.actors
        worker = actors[number % len(actors)]
        pid = ray.get(worker.__ray_call__.remote(lambda self: os.getpid()))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)


def translations(work: Path, options: LineTranslatorOptions, cases: dict[int, int]) -> Iterator[tuple[str, Any]]:
    """Translate with one process, and with each number of workers while some of them are killed."""
    from dragoman.cluster.block_pool import BlockPool

    local = options.open()
    translate_folder(one_by_one(local), work / "in", work / "local", job=local.job())
    yield "flags", dict(local.flagged)
    for workers, kills in cases.items():
        with BlockPool(options.open, workers=workers, processors=1) as pool:
            killed: list[int] = []
            killer = threading.Thread(target=kill_workers, args=(pool, kills, killed))
            killer.start()
            outcome = translate_folder(pool, work / "in", work / f"cluster-{workers}", job=pool.job)
            killer.join()
            yield (
                f"{workers} workers",
                {
                    "lines": outcome.lines,
                    "same": contents(work / f"cluster-{workers}") == contents(work / "local"),
                    "job": pool.job == local.job(),
                    "languages": pool.languages == local.translator.languages,
                    "flags": dict(pool.flagged),
                    "killed": len(set(killed)),
                },
            )


def errors() -> Iterator[tuple[str, str]]:
    """Yield what cannot be translated, and its error."""
    from dragoman.cluster.block_pool import BlockPool

    cases = {"not UTF-8": ("", b"\xff\n"), "die": ("die", b"two\n"), "fail": ("fail", b"two\n")}
    for name, (what, data) in cases.items():
        with BlockPool(partial(opened, what), workers=1, processors=1) as pool:
            yield name, error_of(lambda: list(pool(blocks(b"one\n", data))))  # noqa: B023 -- called at once
    yield "differ", error_of(lambda: BlockPool(partial(opened, "differ"), workers=2, processors=1))


def missing_bundle(options: LineTranslatorOptions) -> Iterator[tuple[str, str]]:
    from dragoman.cluster.block_pool import BlockPool

    missing = replace(options, bundles=(Path("/none/bundle"),))
    yield "missing", error_of(lambda: BlockPool(missing.open, workers=1, processors=1))


def error_of(run: Any) -> str:
    try:
        run()
    except Exception as error:  # noqa: BLE001 -- reported
        return f"{type(error).__name__}: {error}"
    return ""


def found(work: Path, *, is_long: bool) -> dict[str, Any]:
    """What each case found; Ray must run."""
    input_lines._LINES = 16
    random_bundle(work / "bundle")
    write_texts(work / "in")
    options = LineTranslatorOptions(
        (work / "bundle",),
        EngineSettings(engine="ctranslate2", threads=1),
        SearchSettings(beam=2, max_length=12),
        LineFormat(flags=True),
    )
    if is_long:
        return dict(translations(work, options, {1: 0})) | dict(errors())
    return dict(translations(work, options, {2: KILLS})) | dict(missing_bundle(options))


if __name__ == "__main__":
    with ray_session("ray", processors=2):
        report = found(Path(sys.argv[1]), is_long=True)
    print(json.dumps(report))
