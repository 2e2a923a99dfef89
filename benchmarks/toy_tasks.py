"""Toy tasks that a sound translator learns in seconds, and the loop that trains one on them and counts.

A sentence is a sequence of symbols; a task says what its translation is. Sentences come from a seeded generator: the
stream of training sentences never ends and never contains one that is kept for stopping (`development`) or for
measuring (`held_out`), so an exact match cannot be remembered, only computed.

::

    learned = learn(load_config("luong2015-desk"), REVERSE, Budget(updates=500))
    learned.exact      # the share of held-out sentences translated without a single fault
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from dragoman.config import Config
from dragoman.data.batch import Batch
from dragoman.models import Model, build_model
from dragoman.text import BOS_ID, EOS_ID, SPECIALS
from dragoman.training.losses import Baseline
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import train_step

__all__ = [
    "COPY",
    "REVERSE",
    "REWRITE",
    "SHORT_COPY",
    "VOCABULARY",
    "Budget",
    "Learned",
    "Task",
    "Translation",
    "exact_match",
    "learn",
    "translate",
]

SYMBOLS = range(len(SPECIALS), len(SPECIALS) + 14)
VOCABULARY = len(SPECIALS) + len(SYMBOLS)

Sentence = tuple[int, ...]
Pair = tuple[Sentence, Sentence]


def _reverse(source: Sentence) -> Sentence:
    return source[::-1]


def _copy(source: Sentence) -> Sentence:
    return source


_TABLES = tuple(random.Random(seed).sample(SYMBOLS, len(SYMBOLS)) for seed in (1, 2))


def _rewrite(source: Sentence) -> Sentence:
    """Each symbol by a table; which of two tables, its left neighbour says (its being odd or even)."""
    left = (0, *source)
    return tuple(_TABLES[before % 2][symbol - SYMBOLS.start] for before, symbol in zip(left, source, strict=False))


@dataclass(frozen=True)
class Task:
    """What the translation of a sentence is, and how long sentences are. `kept` are in development and held-out each."""

    name: str
    translation: Callable[[Sentence], Sentence]
    shortest: int = 3
    longest: int = 8
    kept: int = 256

    @property
    def development(self) -> list[Pair]:
        """Pairs that say when to stop."""
        return self._pairs(self._set_aside()[: self.kept])

    @property
    def held_out(self) -> list[Pair]:
        """Pairs that measure; nothing in training depends on them."""
        return self._pairs(self._set_aside()[self.kept :])

    def training(self, seed: int) -> Iterator[Pair]:
        """Pairs without end, none of them in `development` or `held_out`."""
        generator = random.Random(f"training {seed}")
        set_aside = set(self._set_aside())
        while True:
            source = self._draw(generator)
            if source not in set_aside:
                yield source, self.translation(source)

    def _draw(self, generator: random.Random) -> Sentence:
        length = generator.randint(self.shortest, self.longest)
        return tuple(generator.choices(SYMBOLS, k=length))

    def _set_aside(self) -> list[Sentence]:
        """Development and held-out sentences, all different; at most a tenth of all there are of any one length."""
        generator = random.Random("set aside")
        room = {length: len(SYMBOLS) ** length // 10 for length in range(self.shortest, self.longest + 1)}
        found: dict[Sentence, None] = {}  # a set that keeps its order
        while len(found) < 2 * self.kept:
            source = self._draw(generator)
            if source not in found and room[len(source)] > 0:
                room[len(source)] -= 1
                found[source] = None
        return list(found)

    def _pairs(self, sources: Iterable[Sentence]) -> list[Pair]:
        return [(source, self.translation(source)) for source in sources]


REVERSE = Task("reverse", _reverse)
COPY = Task("copy", _copy)
SHORT_COPY = Task("short copy", _copy, shortest=1, longest=4)
REWRITE = Task("rewrite", _rewrite)


@dataclass(frozen=True)
class Budget:
    """How long to train: at most so many updates; fewer once the development pairs are translated well enough."""

    updates: int
    batch: int = 64
    check_every: int = 50
    enough: float = 0.98


@dataclass(frozen=True)
class Learned:
    """A trained model, and how well it does on the held-out pairs."""

    model: Model[Any, Any]
    updates: int
    exact: float
    loss: float
    seconds: float


def learn(config: Config, task: Task, budget: Budget) -> Learned:
    """Train a fresh model on a task and measure it. The same configuration gives the same result."""
    began = time.process_time()
    seed = config.training.seed
    torch.manual_seed(seed)
    model = build_model(config.model, VOCABULARY, VOCABULARY)
    optimizer = build_optimizer(model, config.training)
    pairs, development = task.training(seed), task.development
    baseline = Baseline(config.training.baseline_decay)
    update, loss = 0, float("nan")
    for update in range(1, budget.updates + 1):
        rows = range((update - 1) * budget.batch, update * budget.batch)
        batch = Batch.of(list(islice(pairs, budget.batch)), rows)
        done = train_step(model, optimizer, batch, config.training, update, baseline)
        baseline, loss = done.baseline, done.loss
        if update % budget.check_every == 0 and exact_match(model, development) >= budget.enough:
            break
    return Learned(model, update, exact_match(model, task.held_out), loss, time.process_time() - began)


@dataclass(frozen=True)
class Translation:
    """A sentence as the model writes it, and the source place each step looked at most (the end's step included)."""

    target: Sentence
    places: Sentence


def exact_match(model: Model[Any, Any], pairs: Sequence[Pair]) -> float:
    """The share of pairs whose translation has no fault, its end included."""
    translations = translate(model, [source for source, _ in pairs])
    right = [found.target == target for found, (_, target) in zip(translations, pairs, strict=True)]
    return sum(right) / len(right)


@torch.no_grad()
def translate(model: Model[Any, Any], sources: Sequence[Sentence]) -> list[Translation]:
    """Greedy translations, by the protocol alone: encode, start, step. A sentence that does not end is cut off."""
    batch = Batch.of([(source, ()) for source in sources])
    memory = model.encode(batch.source, batch.source_lengths)
    state = model.decoder.start(memory)
    tokens = torch.full((len(sources),), BOS_ID)
    written: list[Tensor] = []
    looked: list[Tensor] = []
    for _ in range(2 * batch.source.size(1)):
        step = model.decoder.step(tokens, state, memory)
        tokens, state = step.log_probs.argmax(-1), step.state
        written.append(tokens)
        if step.alignment is not None:
            looked.append(step.alignment.averaged(batch.source.size(1)).squeeze(1).argmax(-1))  # [batch]
    return [_ended(*rows) for rows in _by_sentence(written, looked)]


def _by_sentence(written: list[Tensor], looked: list[Tensor]) -> Iterator[tuple[list[int], list[int]]]:
    """Shapes: lists of steps, each [batch] -> a list of steps for each sentence."""
    symbols = torch.stack(written, 1).tolist()  # [batch, tgt]
    places = torch.stack(looked, 1).tolist() if looked else [[]] * len(symbols)
    return zip(symbols, places, strict=True)


def _ended(symbols: list[int], places: list[int]) -> Translation:
    end = symbols.index(EOS_ID) if EOS_ID in symbols else len(symbols)
    return Translation(tuple(symbols[:end]), tuple(places[: end + 1]))
