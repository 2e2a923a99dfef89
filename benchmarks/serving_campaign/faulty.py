"""``dragoman`` with a fault planted, for the controls; the product itself has no switch for any of them.

``python -m benchmarks.serving_campaign.faulty FAULT serve …``. A fault that begins with ``watch=`` is none: the process
then writes what it does that a server has no reason to do, such as programs it runs, into the file that is named.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import itertools
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.cli.main import main
from dragoman.markup.html import HtmlText
from dragoman.server import lifetime
from dragoman.server.batch_jobs import Job, Onlooker
from dragoman.server.batching import Batcher
from dragoman.server.fleet import Fleet
from dragoman.server.jobs import Reloaded
from dragoman.server.service import Service

__all__ = ["FAULTS", "plant"]

KEPT: list[bytes] = []
SUSPECT = ("os.exec", "os.fork", "os.posix_spawn", "os.system", "pickle.find_class", "socket.connect", "urllib")


def fragile() -> None:
    """Texts that are not plain ASCII break a route."""
    translate = Service.translate

    async def broken(self: Service, texts: Any, *arguments: Any, **options: Any) -> Any:
        if not all(text.isascii() for text in texts):
            raise RuntimeError("planted")
        return await translate(self, texts, *arguments, **options)

    _replace(Service, "translate", broken)


def forgetful() -> None:
    """The list of models breaks, but for the first time, when it is told at the start."""
    models, calls = Service.models, itertools.count()

    def broken(self: Service) -> Any:
        if next(calls):
            raise RuntimeError("planted")
        return models(self)

    _replace(Service, "models", broken)


def leaky() -> None:
    """Something of each request stays."""
    enter = Service.enter

    def keeping(self: Service, *arguments: Any, **options: Any) -> Any:
        KEPT.append(os.urandom(300_000))
        return enter(self, *arguments, **options)

    _replace(Service, "enter", keeping)


def deaf() -> None:
    """Work goes on when nobody waits any more."""
    _replace(Job, "is_over", property(lambda self: False))


def hasty() -> None:
    """SIGTERM ends the process."""

    @contextlib.contextmanager
    def none(_: object) -> Iterator[None]:
        yield

    _replace(lifetime, "_signals", none)


def stubborn() -> None:
    """A reload says that all was reloaded, and does nothing."""

    async def reload(self: Fleet) -> Reloaded:
        await asyncio.sleep(0)
        return Reloaded(reloaded=tuple(self.models))

    _replace(Fleet, "reload", reload)


def sociable() -> None:
    """In company, a sentence gets what another one found."""

    def search(batch: list[Any]) -> None:
        translator = batch[0].translator
        translator.search([each.part for each in batch], batch[0].request, Onlooker(batch))
        if len(batch) > 1 and batch[0].part.found and batch[-1].part.found:
            batch[0].part.found = batch[-1].part.found
        for each in batch:
            if each.part.found:
                translator.finish(each.part, each.request)

    _replace(Batcher, "_search", staticmethod(search))


def trusting() -> None:
    """Python files of a bundle are run before it is looked at."""
    opened = Bundle.open.__func__  # type: ignore[attr-defined]

    def careless(cls: type[Bundle], path: Any, *arguments: Any, **options: Any) -> Any:
        for file in Path(path).glob("*.py"):
            runpy.run_path(str(file))
        return opened(cls, path, *arguments, **options)

    _replace(Bundle, "open", classmethod(careless))


def unescaping() -> None:
    """What was text becomes markup."""
    write = HtmlText.write

    def careless(self: HtmlText, *arguments: Any, **options: Any) -> str:
        return html.unescape(write(self, *arguments, **options))

    _replace(HtmlText, "write", careless)


FAULTS: dict[str, Callable[[], None]] = {
    each.__name__: each for each in (deaf, forgetful, fragile, hasty, leaky, sociable, stubborn, trusting, unescaping)
}


def plant(fault: str) -> None:
    """Change the program that is about to run."""
    for each in fault.split(","):
        if each.startswith("watch="):
            watch(Path(each.removeprefix("watch=")))
        else:
            FAULTS[each]()


def watch(log: Path) -> None:
    """Write down programs that are run, connections that are opened, and files that are written to."""
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        probe = event == "subprocess.Popen" and list(arguments[1])[1:3] == ["-I", "-c"]  # how tokenizers are first read
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event.startswith(SUSPECT) or (event == "subprocess.Popen" and not probe):
            os.write(said, f"{event} {arguments}\n".encode(errors="replace"))
        elif writes and isinstance(arguments[0], str | bytes):
            os.write(said, f"write {os.fsdecode(arguments[0])}\n".encode(errors="replace"))

    sys.addaudithook(hear)


def _replace(owner: Any, name: str, value: Any) -> None:
    assert hasattr(owner, name), f"{owner} has no {name} any more: the control would find nothing"
    setattr(owner, name, value)


if __name__ == "__main__":
    plant(sys.argv.pop(1))
    main()
