"""Translate blocks of lines, in this process or on a cluster, as command-line options describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.options.cluster import check_cluster, cluster_session
from dragoman.cli.options.models import locate_bundle, open_for_text
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.files.file_translation import MapBlocks
    from dragoman.api.files.input_lines import LineBlock
    from dragoman.api.files.output_lines import LineFormat, LineTranslator
    from dragoman.cluster.block_pool import BlockPool
    from dragoman.config.engine import EngineSettings
    from dragoman.config.search import SearchSettings


@dataclass
class LineWork:
    """Translates blocks of lines."""

    translate_blocks: MapBlocks
    job: dict[str, Any]
    """All that the output depends on except the text."""
    languages: tuple[str, str]
    """The source and the target language."""
    flags: LineTranslator | BlockPool
    """Counts the lines by quality flag, and has the first of each."""
    has_flags: bool
    """Whether the output has flags."""
    line_translator: LineTranslator | None = None
    """Translates lines as they arrive; None on a cluster."""
    sample: list[str] = field(default_factory=list)
    """The first texts."""
    places: dict[str, str] = field(default_factory=dict)
    """The first line of each flag with the name of its file: ``news.en:12``."""

    def blocks(self, blocks: Iterator[LineBlock]) -> Iterator[tuple[LineBlock, bytes]]:
        """Translate blocks, and keep the first texts, as the line translator does."""
        from dragoman.text.other_language import NOTE_SAMPLE

        for block, data in self.translate_blocks(blocks):
            if self.line_translator is None and len(self.sample) < NOTE_SAMPLE:
                self.sample.extend(block.texts()[0][: NOTE_SAMPLE - len(self.sample)])
            for name, (number, _) in self.flags.first_flags.items():
                self.places.setdefault(name, f"{block.name}:{number + 1}")
            yield block, data


OpenWork = Callable[[], AbstractContextManager[LineWork]]
"""Loads the model."""


def line_work(  # noqa: PLR0913 -- one parameter per option
    on: str | None,
    workers: int | None,
    bundle: Path,
    ensemble: Sequence[Path] | None,
    engine: EngineSettings,
    search: SearchSettings,
    form: LineFormat,
    *,
    glossary: Path | None = None,
    memory: tuple[str, int, bool] | None = None,
    split: bool = False,
    counted_flags: frozenset[str] = frozenset(),
) -> OpenWork:
    """Return a function that loads the model, in this process or on the cluster `on`."""
    check_cluster(on, workers)
    if on is not None and memory is not None:
        raise ConfigError(f"--memory is for this machine, not for --on {on}; leave one of them out")

    @contextmanager
    def local_work() -> Iterator[LineWork]:
        from dragoman.api.files.file_translation import one_by_one
        from dragoman.api.files.output_lines import LineTranslator
        from dragoman.environment import default_threads

        translator = open_for_text(bundle, ensemble, engine, search, glossary=glossary, memory=memory)
        lines = LineTranslator(translator, form, split, counted_flags)
        job = lines.job() | {"threads": engine.threads or default_threads()}  # floating-point sums may depend on it
        yield LineWork(one_by_one(lines), job, translator.languages, lines, form.flags, lines, lines.sample)

    @contextmanager
    def cluster_work() -> Iterator[LineWork]:
        """Start workers, and stop them at the end."""
        from dragoman.cluster.line_translator import LineTranslatorOptions

        assert on is not None
        threads = engine.threads or 1
        options = LineTranslatorOptions(
            tuple(locate_bundle(path).resolve() for path in (bundle, *(ensemble or ()))),
            engine.model_copy(update={"threads": threads}),
            search,
            form,
            None if glossary is None else glossary.resolve(),
            split_sentences=split,
            counted_flags=counted_flags,
        )
        with cluster_session(on, workers, threads) as report:
            from dragoman.cluster.block_pool import BlockPool
            from dragoman.cluster.worker_pool import default_workers

            count = workers or default_workers(threads)
            with BlockPool(options.open, workers=count, processors=threads) as pool:
                report(count, threads, f"; engine {pool.job['engine']}")
                yield LineWork(pool, pool.job | {"threads": threads}, pool.languages, pool, form.flags)

    return local_work if on is None else cluster_work
