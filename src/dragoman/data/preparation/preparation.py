"""Run the stages of data preparation in order."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from dragoman.config import Config
from dragoman.data.preparation.clean_stage import CleanedCorpus, CleaningRecipe, clean_corpus
from dragoman.data.preparation.corpus_sources import CorpusSource, list_corpora, open_source
from dragoman.data.preparation.link_stage import write_links
from dragoman.data.preparation.output_folder import OutputFolder
from dragoman.data.preparation.prepared_data import PreparedData, data_of
from dragoman.data.preparation.selected_pairs import SelectedPairs
from dragoman.data.preparation.shard_stage import write_shards
from dragoman.data.preparation.split_deduplicate_stage import select_pairs
from dragoman.data.preparation.start_bundle import (
    check_same_languages,
    check_same_model,
    open_start_bundle,
    with_start_tokenizer,
)
from dragoman.data.preparation.tokenizer_stage import Tokenizers, learn_tokenizers, take_tokenizers
from dragoman.data.worker_processes import Workers
from dragoman.errors import ConfigError, DataError
from dragoman.files import file_lock
from dragoman.language_codes import check_language
from dragoman.progress import Progress

_LOCK = "lock"


class Preparation:
    """The stages, run on first access, in a ``with`` block; `tolerant` collects errors of files in `problems`."""

    def __init__(
        self, config: Config, folder: Path, *, workers: Workers, progress: Progress, tolerant: bool = False
    ) -> None:
        data = data_of(config)
        for code in sorted({code for direction in data.all_directions() for code in direction}):
            check_language(code)
        self._start = open_start_bundle(config, folder)
        if self._start is not None:
            check_same_model(self._start, config.model)
            check_same_languages(self._start, data)
        self.config = with_start_tokenizer(config, self._start)
        _check_languages(self.config)
        self.data = data
        self.problems: list[str] = []
        self._base = folder
        self._output = OutputFolder(folder / data.folder)
        self._workers = workers
        self._progress = progress
        self._tolerant = tolerant
        self._held = ExitStack()

    def __enter__(self) -> Self:
        work = self._output.begin()
        if not self._held.enter_context(file_lock(work / _LOCK)):
            self._held.close()
            raise DataError(f"another command is preparing {self._output.path}; wait for it")
        self._held.enter_context(self._workers)  # a stop signal ends their tasks
        for draft in work.rglob("*.tmp"):  # of a run that was killed
            draft.unlink()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, error, trace)

    @cached_property
    def sources(self) -> list[CorpusSource]:
        """All corpora, opened and hashed: training, then validation, then test."""
        named = list_corpora(self.data)
        self._progress.begin("hashing the files")
        opened = []
        for number, (role, name, corpus) in enumerate(named):
            with self._tolerating():
                opened.append(
                    open_source(
                        role,
                        name,
                        corpus,
                        self.data,
                        folder=self._base,
                        work=self._output.work,
                        processes=self._workers.processes,
                    )
                )
            self._progress.advance((number + 1) / len(named))
        return opened

    @contextmanager
    def _tolerating(self) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            if not self._tolerant:
                raise
            self.problems += str(error).splitlines()

    @cached_property
    def cleaned(self) -> list[tuple[CorpusSource, CleanedCorpus]]:
        """All corpora, cleaned."""
        cleaned = [(source, self._clean(source)) for source in self.sources]
        self.problems += [line for _, each in cleaned for line in each.problem.splitlines()]
        for source, each in cleaned:
            if source.role == "validation" and not each.summary.kept:
                with self._tolerating():
                    raise DataError(
                        f"the validation set {each.name} has no pairs with text on both sides; name another, or leave "
                        "it out to have one taken from the training pairs"
                    )
        return cleaned

    def _clean(self, source: CorpusSource) -> CleanedCorpus:
        return clean_corpus(
            source,
            CleaningRecipe.from_config(
                self.data, self.config.tokenizer.normal_form, source.settings, held_out=source.role != "train"
            ),
            work=self._output.work,
            workers=self._workers,
            progress=self._progress,
            tolerant=self._tolerant,
        )

    @cached_property
    def selected(self) -> SelectedPairs:
        return select_pairs(
            [cleaned for source, cleaned in self.cleaned if source.role == "train"],
            [(source.role, cleaned) for source, cleaned in self.cleaned if source.role != "train"],
            self.data,
            work=self._output.work,
            workers=self._workers,
            progress=self._progress,
        )

    @cached_property
    def tokenizers(self) -> Tokenizers:
        """The tokenizer of each side: trained, or from the bundle that training starts with."""
        seed, work, progress = self.data.seed, self._output.work, self._progress
        if self._start is None or self.config.start is None:
            return learn_tokenizers(
                self.selected, self.config.tokenizer, self.data, seed=seed, work=work, progress=progress
            )
        return take_tokenizers(
            self._start, self.config.start, self.selected, self.data, seed=seed, work=work, progress=progress
        )

    def write(self) -> PreparedData:
        """Write shards, tokenizers, report and, last, the manifest."""
        tokenizers = self.tokenizers
        shards = write_shards(
            self.selected,
            tokenizers,
            self.data,
            folder=self._output.path,
            workers=self._workers,
            progress=self._progress,
        )
        used = {cleaned.folder.name for _, cleaned in self.cleaned}
        used |= {self.selected.folder.name, tokenizers.folder.name, shards["folder"]}
        links = None
        if self.config.training.guided_alignment is not None:
            links = write_links(
                shards,
                tokenizers,
                self._output.path,
                is_multilingual=self.data.is_multilingual,
                progress=self._progress,
            )
            used |= {link["path"].split("/")[0] for link in links}
        self._output.finish(self.config, self.cleaned, self.selected, tokenizers, shards, links, used=used)
        return PreparedData.open(self._output.path)


def _check_languages(config: Config) -> None:
    """Raise `ConfigError` if a model with several directions has no place for language tokens."""
    assert config.data is not None
    tokenizer, directions = config.tokenizer, config.data.all_directions()
    trained = [each for corpus in config.data.train_pairs() for each in config.data.directions_of(corpus)]
    if lacking := [":".join(each) for each in trained if each not in directions]:
        raise ConfigError(
            f"data.directions lacks {', '.join(lacking)}, which the corpora have; add them, or leave "
            "data.directions out"
        )
    if not config.data.is_multilingual or tokenizer.kind == "imported":
        return
    if tokenizer.kind != "sentencepiece" or not tokenizer.joint:
        raise ConfigError(
            f"a model with several directions must have one vocabulary of SentencePiece, got {tokenizer.kind} with "
            f"tokenizer.joint = {str(tokenizer.joint).lower()}; leave both out of [tokenizer]"
        )
