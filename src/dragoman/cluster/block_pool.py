"""Translate blocks of lines on workers of a Ray cluster, in the order of the input.

A worker that ends unexpectedly is started again, on another node if one has free processors, and its blocks are
translated again. The output does not change: it depends on the block and the model alone, and every result is compared
with the model of the first one.
"""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import ray
from ray.exceptions import RayError, RayTaskError

from dragoman.api.files.file_translation import translate_block
from dragoman.api.files.input_lines import LineBlock
from dragoman.errors import ConfigError, DataError, DragomanError

if TYPE_CHECKING:
    from dragoman.api.files.output_lines import LineTranslator

__all__ = ["BlockPool", "default_workers"]

_RETRIES = 3  # of a block whose worker ended
_AHEAD = 2  # blocks of each worker: the next one is there when a block is finished
_WAITING = 8  # finished blocks per worker that wait for an earlier one
_START_TIMEOUT = 300.0  # seconds
_STALL_TIMEOUT = 1800.0  # seconds without a finished block: a lost node may leave no processor for its workers
_PACKAGES = ("dragoman", "ctranslate2", "onnxruntime", "torch", "sentencepiece")
_DIFFERENT = (
    "all workers must have the same model, engine and version, got different ones; install the same packages on every "
    "node, and copy the same bundle there"
)


def default_workers(processors: int) -> int:
    """Return the number of workers with some processors each that fit on the nodes of the cluster."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    counts = [int(node["Resources"].get("CPU", 0)) // processors for node in nodes if node["Alive"]]
    return max(1, sum(counts))


@dataclass(frozen=True)
class _Description:
    """All that the output depends on except the text and the processor; the source language."""

    job: dict[str, Any]
    versions: dict[str, str]
    language: str


@dataclass(frozen=True)
class _Result:
    """Output of a block, the number of its lines by flag, and the description of the worker."""

    data: bytes
    flagged: Counter[str]
    description: _Description


class _Worker:
    """A process of the cluster that holds one model."""

    def __init__(self, open_: Callable[[], LineTranslator]) -> None:
        self._open = open_

    @functools.cached_property
    def _work(self) -> LineTranslator:  # not opened by the constructor, whose errors Ray passes on as text
        return self._open()

    @functools.cached_property
    def _description(self) -> _Description:
        return _Description(self._work.job(), _versions(), self._work.translator.languages[0])

    def describe(self) -> _Description:
        """Describe the model and the installed packages."""
        return self._description

    def translate(self, block: LineBlock) -> _Result:
        """Translate a block."""
        self._work.flagged.clear()
        data = translate_block(self._work, block)
        return _Result(data, Counter(self._work.flagged), self._description)


@dataclass
class _Pending:
    """A block, the worker that translates it, and its result, if there is one."""

    block: LineBlock
    worker: int
    reference: Any
    is_done: bool = False


class BlockPool:
    """Workers that hold the same model; call it with blocks. A context manager; Ray must be initialised.

    `open_` opens the model in each worker; all of them must get the same one. `flagged` counts the lines per flag,
    `job` is what the output depends on, `language` the source language.
    """

    def __init__(self, open_: Callable[[], LineTranslator], *, workers: int, processors: int) -> None:
        worker = ray.remote(num_cpus=processors, max_restarts=-1, max_task_retries=_RETRIES)(_Worker)
        self._workers: list[Any] = [worker.remote(open_) for _ in range(workers)]
        self.flagged: Counter[str] = Counter()
        self._description = self._describe()
        self.job, self.language = self._description.job, self._description.language

    def _describe(self) -> _Description:
        references = [worker.describe.remote() for worker in self._workers]
        try:
            first, *others = ray.get(references, timeout=_START_TIMEOUT)
        except RayTaskError as error:
            raise _cause(error) from None
        except ray.exceptions.GetTimeoutError:
            raise ConfigError(
                f"{len(self._workers)} workers must start within {_START_TIMEOUT:.0f} seconds, got fewer; the cluster "
                "may have too few free processors: use fewer --workers"
            ) from None
        except RayError:
            raise ConfigError(
                "workers must load the model, got one that ended unexpectedly; they may need more memory: use fewer "
                "--workers"
            ) from None
        if any(other != first for other in others):
            raise ConfigError(_DIFFERENT)
        description: _Description = first
        return description

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for worker in self._workers:
            ray.kill(worker)

    def __call__(self, blocks: Iterator[LineBlock]) -> Iterator[tuple[LineBlock, bytes]]:
        """Yield each block with its translation, in the order of the input."""
        pending: deque[_Pending] = deque()
        running: dict[Any, _Pending] = {}
        load = [0] * len(self._workers)
        is_end = False
        while True:
            while not is_end and len(running) < _AHEAD * len(load) and len(pending) < (_AHEAD + _WAITING) * len(load):
                block = next(blocks, None)
                if block is None:
                    is_end = True
                    break
                worker = min(range(len(load)), key=load.__getitem__)
                each = _Pending(block, worker, self._workers[worker].translate.remote(block))
                load[worker] += 1
                pending.append(each)
                running[each.reference] = each
            if not pending:
                return
            if not pending[0].is_done:
                ready, _ = ray.wait(list(running), num_returns=1, timeout=_STALL_TIMEOUT)
                if not ready:
                    raise DataError(
                        f"workers must finish a block within {_STALL_TIMEOUT:.0f} seconds, got none; the cluster may "
                        "have lost a node: use --resume with fewer --workers"
                    )
                finished = running.pop(ready[0])
                finished.is_done = True
                load[finished.worker] -= 1
                continue
            each = pending.popleft()
            result = _result(each)
            if result.description != self._description:  # a worker that was started again, with other files
                raise ConfigError(_DIFFERENT)
            self.flagged.update(result.flagged)
            yield each.block, result.data


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _result(each: _Pending) -> _Result:
    try:
        result: _Result = ray.get(each.reference)
    except RayTaskError as error:
        raise _cause(error) from None
    except RayError:
        block = each.block
        raise DataError(
            f"{block.name}:{block.first}-{block.first + block.lines - 1} must be translated by one of the workers, got "
            f"{_RETRIES + 1} that ended unexpectedly; they may need more memory: use fewer --workers"
        ) from None
    return result


def _cause(error: RayTaskError) -> BaseException:
    """Return the exception that a worker raised."""
    return error.cause if isinstance(error.cause, DragomanError) else error
