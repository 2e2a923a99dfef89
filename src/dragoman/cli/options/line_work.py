"""Translate blocks of lines, in this process or on a cluster, as command-line options describe."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import echo
from dragoman.reporting.number_format import format_count, format_duration

if TYPE_CHECKING:
    from dragoman.api.files.file_translation import MapBlocks
    from dragoman.api.files.input_lines import LineBlock
    from dragoman.api.files.output_lines import LineFormat, LineTranslator
    from dragoman.api.translation.translator import Translator
    from dragoman.config.engine import EngineSettings
    from dragoman.config.search import SearchSettings

__all__ = ["LineWork", "OpenWork", "cluster_work", "local_work"]


@dataclass
class LineWork:
    """Translates blocks of lines."""

    translate_blocks: MapBlocks
    job: dict[str, Any]
    """All that the output depends on except the text."""
    language: str
    """The source language."""
    flagged: Counter[str]
    """Number of lines per quality flag."""
    has_flags: bool
    """Whether the output has flags."""
    line_translator: LineTranslator | None = None
    """Translates lines as they arrive; None on a cluster."""
    sample: list[str] = field(default_factory=list)
    """The first texts."""

    def blocks(self, blocks: Iterator[LineBlock]) -> Iterator[tuple[LineBlock, bytes]]:
        """Translate blocks, and keep the first texts, as the line translator does."""
        from dragoman.text.other_language import NOTE_SAMPLE

        for block, data in self.translate_blocks(blocks):
            if self.line_translator is None and len(self.sample) < NOTE_SAMPLE:
                self.sample.extend(block.texts()[0][: NOTE_SAMPLE - len(self.sample)])
            yield block, data


OpenWork = Callable[[], AbstractContextManager[LineWork]]
"""Loads the model."""


@contextmanager
def local_work(
    open_translator: Callable[[], Translator], form: LineFormat, engine: EngineSettings, *, split: bool
) -> Iterator[LineWork]:
    """Translate in this process."""
    from dragoman.api.files.file_translation import one_by_one
    from dragoman.api.files.output_lines import LineTranslator
    from dragoman.environment import default_threads

    lines = LineTranslator(open_translator(), form, split_sentences=split)
    job = lines.job() | {"threads": engine.threads or default_threads()}  # floating-point sums may depend on it
    language = lines.translator.languages[0]
    yield LineWork(one_by_one(lines), job, language, lines.flagged, lines.form.flags, lines, lines.sample)


@contextmanager
def cluster_work(  # noqa: PLR0913 -- one parameter per option
    address: str,
    workers: int | None,
    bundle: Path,
    ensemble: Sequence[Path] | None,
    engine: EngineSettings,
    search: SearchSettings,
    form: LineFormat,
    *,
    glossary: Path | None,
    split: bool,
) -> Iterator[LineWork]:
    """Start workers, and stop them at the end."""
    from dragoman.cli.options.locate import locate_bundle
    from dragoman.cluster.line_translator import LineTranslatorOptions
    from dragoman.cluster.ray_session import ray_session
    from dragoman.environment import usable_cores

    threads = engine.threads or 1
    options = LineTranslatorOptions(
        tuple(locate_bundle(path).resolve() for path in (bundle, *(ensemble or ()))),
        engine.model_copy(update={"threads": threads}),
        search,
        form,
        None if glossary is None else glossary.resolve(),
        split_sentences=split,
    )
    began = time.monotonic()
    with ray_session(address, processors=threads * workers if workers else usable_cores()):
        from dragoman.cluster.block_pool import BlockPool
        from dragoman.cluster.worker_pool import default_workers

        count = workers or default_workers(threads)
        with BlockPool(options.open, workers=count, processors=threads) as pool:
            echo(
                f"cluster {format_count(count, 'worker')}, {format_count(threads, 'thread')} each, on {address}; "
                f"started in {format_duration(time.monotonic() - began)}; engine {pool.job['engine']}",
                err=True,
            )
            yield LineWork(pool, pool.job | {"threads": threads}, pool.language, pool.flagged, form.flags)
