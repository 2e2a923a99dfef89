"""The third stage: tokenizers, learnt from a sample of the pairs that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman.config import TokenizerConfig
from dragoman.data.pairs import SIDES
from dragoman.data.preparation.selected import Selected
from dragoman.data.preparation.stage import Stage, versions
from dragoman.data.progress import Progress
from dragoman.data.workers import in_child
from dragoman.errors import DataError
from dragoman.text import Tokenizer, load_tokenizer, train_characters, train_sentencepiece, train_words

__all__ = ["Tokenizers", "learn_tokenizers"]

_VERSION = 1
_A_FEW = 2_000  # from so many pairs on, what learning takes is worth a process of its own


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizer of each side, and where it is kept; a joint one is the same for both."""

    folder: Path
    key: str
    joint: bool

    @property
    def folders(self) -> dict[str, Path]:
        """The folder of each side's tokenizer."""
        return {side: self.folder if self.joint else self.folder / side for side in SIDES}

    def load(self) -> dict[str, Tokenizer]:
        """Read both; a joint one once."""
        loaded = {folder: load_tokenizer(folder) for folder in set(self.folders.values())}
        return {side: loaded[folder] for side, folder in self.folders.items()}


def learn_tokenizers(
    selected: Selected, settings: TokenizerConfig, *, seed: int, work: Path, progress: Progress
) -> Tokenizers:
    """Learn what the settings ask for, or take what is there from before."""
    if not selected.kept:
        raise DataError(
            f"the training corpora must leave some pairs, got none of {selected.records:,}{selected.mostly}; "
            "dragoman check shows what became of them"
        )
    stage = Stage(work, "tokenizer", [_VERSION, selected.key, settings.model_dump(), seed, versions("sentencepiece")])
    learnt = Tokenizers(stage.folder, stage.key, settings.joint)
    if stage.result() is None:
        progress.begin("learning the tokenizer")
        sides = [SIDES] if settings.joint else [(side,) for side in SIDES]
        for number, group in enumerate(sides):
            task = _Task(selected, settings, seed, group, learnt.folders[group[0]])
            if min(settings.sample_sentences, selected.kept) > _A_FEW:
                in_child(_learn, task)  # learning takes memory that would otherwise stay with us
            else:
                _learn(task)
            progress.advance((number + 1) / len(sides))
        stage.finish({}, sorted({str(file.relative_to(stage.folder)) for file in stage.folder.rglob("tokenizer.*")}))
    else:
        progress.skip("learning the tokenizer")
    return learnt


@dataclass(frozen=True)
class _Task:
    selected: Selected
    settings: TokenizerConfig
    seed: int
    sides: tuple[str, ...]
    folder: Path


def _learn(task: _Task) -> None:
    settings = task.settings
    sentences = _sample(task.selected, task.sides, settings.sample_sentences, task.seed)
    _train(sentences, settings, task.seed).save(task.folder)


def _train(sentences: Iterable[str], settings: TokenizerConfig, seed: int) -> Tokenizer:
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
    )


def _sample(selected: Selected, sides: tuple[str, ...], most: int, seed: int) -> Iterator[str]:
    for frame in selected.sample(max(1, most // len(sides)), seed):
        for side in sides:
            yield from frame[side]
