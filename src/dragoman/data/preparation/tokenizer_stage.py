"""Third stage of preparation: train tokenizers on a sample of the kept pairs, or copy those of a saved model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.config import DataConfig, StartConfig, TokenizerConfig
from dragoman.data.preparation.cached_stage import Stage, versions
from dragoman.data.preparation.selected_pairs import SelectedPairs
from dragoman.data.token_pairs import SIDES
from dragoman.data.worker_processes import run_in_child
from dragoman.errors import ConfigError, DataError
from dragoman.progress import Progress
from dragoman.text import (
    Tokenizer,
    add_control_tokens,
    extend_tokenizer,
    load_tokenizer,
    train_characters,
    train_sentencepiece,
    train_words,
)
from dragoman.text.language_tokens import language_tokens
from dragoman.text.perturbation import HINT, title_case, upper_case

LISTED_BY_CHECK = "; dragoman check lists the reasons"
"""End of an error message, which the check itself leaves out."""

_VERSION = 1
_SMALL_SAMPLE = (
    2_000  # with more pairs, or with more characters, training uses a separate process, which Ctrl-C can end
)
_SMALL_SAMPLE_CHARACTERS = 500_000  # about one second of training
_CASED = {"upper": (10, 0, upper_case), "title": (20, 5, title_case)}
"""Changes of every n-th sentence of the sample: n, and the place of the first."""


@dataclass(frozen=True)
class Tokenizers:
    """The folders of the tokenizers of both sides; a joint tokenizer is the same for both."""

    folder: Path
    key: str
    joint: bool

    @property
    def folders(self) -> dict[str, Path]:
        """The folder of each side's tokenizer."""
        return {side: self.folder if self.joint else self.folder / side for side in SIDES}

    def load(self) -> dict[str, Tokenizer]:
        """Load both tokenizers; a joint one is one object."""
        loaded = {folder: load_tokenizer(folder) for folder in set(self.folders.values())}
        return {side: loaded[folder] for side, folder in self.folders.items()}


def learn_tokenizers(
    selected: SelectedPairs, settings: TokenizerConfig, data: DataConfig, *, seed: int, work: Path, progress: Progress
) -> Tokenizers:
    """Train tokenizers, or use the cached result; some sentences are in capitals if pairs in training are."""
    _check_some_text(selected)
    depends: list[object] = [_VERSION, selected.key, settings.model_dump(), seed, versions("sentencepiece")]
    changes = data.augment.vocabulary_kinds if data.augment is not None else []
    if changes:
        depends.append(changes)
    balance = _Balance()
    if data.is_multilingual:
        draws = tuple((each.weight * len(data.directions_of(each)), each.share) for each in data.train_pairs())
        balance = _Balance(tuple(language_tokens(data)), draws, data.sampling.temperature)
        depends.append([balance.language_tokens, draws, balance.temperature])
    tasks = [
        _Task(_learn, selected, settings, seed, group, balance=balance, changes=changes) for group in _groups(settings)
    ]
    return _run(Stage(work, "tokenizer", depends), "training the tokenizer", tasks, progress)


def take_tokenizers(
    bundle: Bundle,
    start: StartConfig,
    selected: SelectedPairs,
    data: DataConfig,
    *,
    seed: int,
    work: Path,
    progress: Progress,
) -> Tokenizers:
    """Take the tokenizers of the start bundle, unchanged or extended with new tokens and tokens of new languages."""
    _check_some_text(selected)
    settings, tokenizers = bundle.config.tokenizer, bundle.tokenizers()
    if start.vocabulary == "same":
        tasks = [_Task(_copy, selected, settings, seed, group, tokenizers[group[0]]) for group in _groups(settings)]
        return _run(Stage(work, "tokenizer", [_VERSION, bundle.digest]), "copying the tokenizer", tasks, progress)
    if bundle.config.model.tie == "all" and not settings.joint:
        raise ConfigError(
            "start.vocabulary must be same for a model with two tokenizers and one vocabulary, got extend; both would "
            "need the same new tokens"
        )
    depends = [_VERSION, bundle.digest, selected.key, start.new_tokens, seed, versions("sentencepiece")]
    balance = _Balance(tuple(language_tokens(data)))
    if balance.language_tokens:
        depends.append(balance.language_tokens)
    tasks = [
        _Task(_extend, selected, settings, seed, group, tokenizers[group[0]], start.new_tokens, balance)
        for group in _groups(settings)
    ]
    return _run(Stage(work, "tokenizer", depends), "extending the tokenizer", tasks, progress)


def _check_some_text(selected: SelectedPairs) -> None:
    if not selected.kept:
        raise DataError(f"no training pair is left of {selected.records:,}{selected.main_drop_reason}{LISTED_BY_CHECK}")


def _groups(settings: TokenizerConfig) -> list[tuple[str, ...]]:
    """Return groups of sides that share a tokenizer."""
    return [SIDES] if settings.joint else [(side,) for side in SIDES]


@dataclass(frozen=True)
class _Balance:
    """Several directions: the tokens of the languages, and how often corpora are drawn."""

    language_tokens: tuple[str, ...] = ()
    draws: tuple[tuple[float, float | None], ...] = ()
    """Weight and share of each corpus."""
    temperature: float = 1.0


@dataclass(frozen=True)
class _Task:
    """One tokenizer to make: the function, its inputs and its sides."""

    make: Callable[[_Task], Tokenizer]
    selected: SelectedPairs
    settings: TokenizerConfig
    seed: int
    sides: tuple[str, ...]
    old: Tokenizer | None = None
    new_tokens: int = 0
    balance: _Balance = _Balance()
    changes: Sequence[str] = ()
    """Changes of pairs in training that need tokens."""

    @property
    def is_large(self) -> bool:
        """Whether it should run in a separate process."""
        if self.make is _copy:
            return False
        if min(self.settings.sample_sentences, self.selected.kept) > _SMALL_SAMPLE:
            return True
        return sum(map(len, self.sample())) > _SMALL_SAMPLE_CHARACTERS

    def sample(self) -> Iterator[str]:
        """Yield sentences to train on; with several directions each once, in however many corpora it is."""
        drawn = dict.fromkeys(self._drawn()) if self.balance.language_tokens else self._drawn()
        changes = [_CASED[kind] for kind in self.changes if kind in _CASED]
        for number, text in enumerate(drawn):
            yield next((change(text) for each, first, change in changes if number % each == first), text)

    def _drawn(self) -> Iterator[str]:
        count = max(1, self.settings.sample_sentences // len(self.sides))
        draws, temperature = self.balance.draws, self.balance.temperature
        for frame in self.selected.sample(count, self.seed, draws=draws, temperature=temperature):
            for side in self.sides:
                yield from frame[side]


def _run(stage: Stage, name: str, tasks: list[_Task], progress: Progress) -> Tokenizers:
    """Make the tokenizers and save them in the stage's folder, unless they exist."""
    made = Tokenizers(stage.folder, stage.key, joint=len(tasks) == 1)
    if stage.result() is not None:
        progress.skip(name)
        return made
    progress.begin(name)
    for number, task in enumerate(tasks):
        saving = (task, made.folders[task.sides[0]])
        if task.is_large:
            run_in_child(_save, saving)  # the child releases the memory of training
        else:
            _save(saving)
        progress.advance((number + 1) / len(tasks))
    stage.finish({}, sorted({str(file.relative_to(stage.folder)) for file in stage.folder.rglob("tokenizer.*")}))
    return made


def _save(saving: tuple[_Task, Path]) -> None:
    task, folder = saving
    task.make(task).save(folder)


def _copy(task: _Task) -> Tokenizer:
    assert task.old is not None
    return task.old


def _extend(task: _Task) -> Tokenizer:
    assert task.old is not None
    return extend_tokenizer(
        add_control_tokens(task.old, task.balance.language_tokens),
        list(task.sample()),
        max_new_tokens=task.new_tokens,
        character_coverage=task.settings.character_coverage,
        seed=task.seed,
    )


def _learn(task: _Task) -> Tokenizer:
    settings = task.settings
    if "terms" in task.changes and settings.kind == "sentencepiece":
        settings = settings.model_copy(update={"symbols": [*dict.fromkeys([*(settings.symbols or ()), *HINT])]})
    return _train(task.sample(), settings, task.seed, task.balance.language_tokens)


def _train(
    sentences: Iterable[str], settings: TokenizerConfig, seed: int, language_tokens: Sequence[str] = ()
) -> Tokenizer:
    if settings.kind == "imported":
        raise ConfigError(
            "tokenizer.kind must be sentencepiece, word or character to be trained, got imported; set start.bundle to "
            "the imported model"
        )
    if settings.kind == "word":
        return train_words(sentences, size=settings.size)
    if settings.kind == "character":
        return train_characters(sentences, size=settings.size)
    return train_sentencepiece(
        sentences,
        size=settings.size,
        model=settings.algorithm,
        character_coverage=settings.character_coverage,
        sample_size=settings.sample_sentences,
        seed=seed,
        grow=True,
        symbols=settings.symbols or (),
        control_tokens=language_tokens,
    )


MAX_TOKENS_PER_WORD = 3.0
"""With more tokens per word, the vocabulary is too small for the text, or was learned from other text."""


KEEP_OR_EXTEND = 'train with start.vocabulary = "same" first, then compare it with "extend"'
"""Advice for a text that the tokenizer of a bundle splits into many tokens."""


def has_too_many_tokens(kind: str, per_word: float) -> bool:
    """Return whether words are split into too many tokens; characters are many by design."""
    return kind != "character" and per_word > MAX_TOKENS_PER_WORD


def grown_note(size: int, grown: int) -> str:
    """Return the sentence for a vocabulary that is larger than the setting."""
    return f"tokenizer.size: {size:,} tokens are too few for the characters of this text, so {grown:,} were learned"


def tokenizer_notes(manifest: dict[str, Any]) -> Iterator[str]:
    """Yield the notes on the tokenizer of a manifest."""
    settings = manifest["settings"].get("tokenizer")  # a bundle's tokenizer has none
    sizes = [manifest["tokenizers"][side]["tokens"] for side in SIDES]
    if settings is not None and max(sizes) > settings["size"]:
        yield grown_note(settings["size"], max(sizes))
    split = manifest["splits"]["train"]
    for side in SIDES:
        words = split["words"][side]
        per_word = split["tokens"][side] / words if words else 0.0
        if has_too_many_tokens(settings["kind"] if settings else "", per_word):
            remedy = f"raise tokenizer.size, for instance to {2 * settings['size']}" if settings else KEEP_OR_EXTEND
            yield f"{per_word:.1f} tokens per word on the {side} side make training slow and inexact; {remedy}"
