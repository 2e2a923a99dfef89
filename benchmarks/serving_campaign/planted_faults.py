"""Run ``dragoman`` with planted faults, for the control experiments.

``python -m benchmarks.serving_campaign.planted_faults FAULT serve …``. ``watch=FILE`` plants no fault: the process logs
suspicious system calls, such as started programs, to that file.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import itertools
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.cli.main import main
from dragoman.markup.html_text import HtmlText
from dragoman.server import uvicorn_server as lifecycle
from dragoman.server.models.registry import ModelRegistry
from dragoman.server.pipeline.service import TranslationService
from dragoman.server.request_types import ReloadResult, TranslationRequest
from dragoman.server.scheduling.batcher import Batcher
from dragoman.server.scheduling.sentence_queue import BatchJob, BatchMonitor

KEPT: list[bytes] = []
SECONDS_PER_SENTENCE = 0.02
SUSPECT = ("os.exec", "os.fork", "os.posix_spawn", "os.system", "pickle.find_class", "socket.connect", "urllib")


def failing_on_non_ascii() -> None:
    """Texts that are not plain ASCII break a route."""
    translate = TranslationService.translate_pair

    async def broken(self: TranslationService, pair: Any, request: TranslationRequest, *arguments: Any) -> Any:
        if not all(text.isascii() for text in request.texts):
            raise RuntimeError("planted")
        return await translate(self, pair, request, *arguments)

    _replace(TranslationService, "translate_pair", broken)


def failing_model_list() -> None:
    """The list of models fails at every call except the first, at the start."""
    models, calls = TranslationService.models, itertools.count()

    def broken(self: TranslationService) -> Any:
        if next(calls):
            raise RuntimeError("planted")
        return models(self)

    _replace(TranslationService, "models", broken)


def memory_leak() -> None:
    """Every request leaks memory."""
    admit = TranslationService.admit

    def keeping(self: TranslationService, *arguments: Any, **options: Any) -> Any:
        KEPT.append(os.urandom(1_000_000))
        return admit(self, *arguments, **options)

    _replace(TranslationService, "admit", keeping)


def ignore_cancellation() -> None:
    """Cancelled work continues."""
    _replace(BatchJob, "is_cancelled", property(lambda self: False))


def no_drain() -> None:
    """SIGTERM ends the process at once."""

    @contextlib.contextmanager
    def none(*_: object) -> Iterator[None]:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        yield

    _replace(lifecycle, "_signal_handlers", none)


def no_reload() -> None:
    """A reload reports success and does nothing."""

    async def reload(self: ModelRegistry) -> ReloadResult:
        await asyncio.sleep(0)
        return ReloadResult(reloaded=tuple(self.models))

    _replace(ModelRegistry, "reload", reload)


def mixed_translations() -> None:
    """A sentence in a batch gets the translation of another one."""

    def search(batch: list[Any]) -> None:
        translator = batch[0].translator
        translator.search([each.chunk for each in batch], batch[0].options, BatchMonitor(batch))
        for each in batch:
            if each.chunk.hypotheses:
                translator.postprocess(each.chunk, each.options)
        if len(batch) > 1 and batch[0].chunk.hypotheses and batch[-1].chunk.hypotheses:
            batch[0].chunk.translation = batch[-1].chunk.translation

    _replace(Batcher, "_search", staticmethod(search))


def slow_search() -> None:
    """Every sentence takes the same time: no fault, but a capacity that does not depend on the machine."""
    search = Batcher._search  # noqa: SLF001

    def slow(batch: list[Any]) -> None:
        time.sleep(SECONDS_PER_SENTENCE * len(batch))
        search(batch)

    _replace(Batcher, "_search", staticmethod(slow))


def execute_bundle_code() -> None:
    """Python files of a bundle are executed before it is verified."""
    opened = Bundle.open.__func__  # type: ignore[attr-defined]

    def careless(cls: type[Bundle], path: Any, *arguments: Any, **options: Any) -> Any:
        for file in Path(path).glob("*.py"):
            runpy.run_path(str(file))
        return opened(cls, path, *arguments, **options)

    _replace(Bundle, "open", classmethod(careless))


def unescaped_html() -> None:
    """Text is written as markup."""
    write = HtmlText.write

    def careless(self: HtmlText, *arguments: Any, **options: Any) -> str:
        return html.unescape(write(self, *arguments, **options))

    _replace(HtmlText, "write", careless)


FAULTS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        ignore_cancellation,
        failing_model_list,
        failing_on_non_ascii,
        no_drain,
        memory_leak,
        mixed_translations,
        no_reload,
        slow_search,
        execute_bundle_code,
        unescaped_html,
    )
}


def plant(fault: str) -> None:
    """Plant faults, separated by commas, in this process."""
    for each in fault.split(","):
        if each.startswith("watch="):
            watch(Path(each.removeprefix("watch=")))
        else:
            FAULTS[each]()


def watch(log: Path) -> None:
    """Log started programs, opened connections and written files."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        probe = event == "subprocess.Popen" and list(arguments[1])[1:3] == [
            "-I",
            "-c",
        ]  # the sandboxed parse of tokenizers
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event.startswith(SUSPECT) or (event == "subprocess.Popen" and not probe):
            os.write(output, f"{event} {arguments}\n".encode(errors="replace"))
        elif writes and isinstance(arguments[0], str | bytes):
            os.write(output, f"write {os.fsdecode(arguments[0])}\n".encode(errors="replace"))

    sys.addaudithook(hear)


def _replace(owner: Any, name: str, value: Any) -> None:
    assert hasattr(owner, name), f"{owner} must have {name}; without it, the control would find nothing"
    setattr(owner, name, value)


if __name__ == "__main__":
    plant(sys.argv.pop(1))
    main()
