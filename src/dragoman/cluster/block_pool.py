"""Translate blocks of lines on workers of a Ray cluster; results keep their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from dragoman.api.files.file_translation import translate_block
from dragoman.api.files.input_lines import LineBlock
from dragoman.cluster.worker_pool import PoolMessages, WorkerPool, installed_versions

if TYPE_CHECKING:
    from dragoman.api.files.output_lines import LineTranslator

_PACKAGES = ("ctranslate2", "onnxruntime", "torch", "sentencepiece")


@dataclass(frozen=True)
class _Description:
    """All that the output depends on except the text and the processor; source and target language."""

    job: dict[str, Any]
    versions: dict[str, str]
    languages: tuple[str, str]


@dataclass(frozen=True)
class _Translated:
    """Output of a block, the number of its lines by flag, and the first of each."""

    data: bytes
    flagged: Counter[str]
    first_flags: dict[str, tuple[int, str]]


class _BlockTranslator:
    """Holds one model."""

    def __init__(self, open_: Callable[[], LineTranslator]) -> None:
        self._work = open_()

    def describe(self) -> _Description:
        return _Description(self._work.job(), installed_versions(*_PACKAGES), self._work.translator.languages)

    def __call__(self, block: LineBlock) -> _Translated:
        self._work.flagged.clear()
        self._work.first_flags.clear()
        data = translate_block(self._work, block)
        return _Translated(data, Counter(self._work.flagged), dict(self._work.first_flags))


_MESSAGES: PoolMessages[LineBlock] = PoolMessages(
    name=lambda block: f"{block.name}:{block.first}-{block.first + block.lines - 1} must be translated",
    same=("model, engine and version; install the same packages on every node, and copy the same bundle there"),
    start="load the model",
    unit="block",
    again="use --resume with fewer --workers",
)


class BlockPool:
    """Workers that hold the same model; call it with blocks. A context manager; Ray must be initialised.

    `open_` opens the model in each worker; all of them must get the same one. `flagged` counts the lines per flag,
    `first_flags` has the first line of each, `job` is what the output depends on, `languages` are those of the source
    and the target.
    """

    def __init__(self, open_: Callable[[], LineTranslator], *, workers: int, processors: int) -> None:
        self.flagged: Counter[str] = Counter()
        self.first_flags: dict[str, tuple[int, str]] = {}
        self.pool: WorkerPool[LineBlock, _Translated] = WorkerPool(
            partial(_BlockTranslator, open_), _MESSAGES, workers=workers, processors=processors
        )
        description: _Description = self.pool.description
        self.job, self.languages = description.job, description.languages

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    def __call__(self, blocks: Iterator[LineBlock]) -> Iterator[tuple[LineBlock, bytes]]:
        for block, translated in self.pool.run(blocks):
            self.flagged.update(translated.flagged)
            self.first_flags = translated.first_flags | self.first_flags
            yield block, translated.data
