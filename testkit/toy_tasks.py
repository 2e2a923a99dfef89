"""Toy tasks that a sound translator learns in seconds, and the loop that trains one on them and measures it.

A sentence is a sequence of symbols; a task defines its translation. Sentences come from seeded generators. The
stream of training sentences never ends and never holds one that is set aside for stopping (`Task.development`) or for
measuring (`Task.held_out`): an exact match there cannot have been remembered.

::

    learned = learn(load_config("luong2015-desk"), REVERSE, Budget(updates=500))
    learned.exact      # the share of held-out sentences translated without a fault
    learned.aligned    # the share of their words whose largest attention weight is at the right position
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
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import RewardBaseline, train_step

SYMBOLS = range(len(SPECIALS), len(SPECIALS) + 14)
VOCABULARY = len(SPECIALS) + len(SYMBOLS)

Sentence = tuple[int, ...]
Pair = tuple[Sentence, Sentence]


# ------------------------------------------------------------------------------------------------------------- tasks


@dataclass(frozen=True)
class Task:
    """What the translation of a sentence is, and how long sentences are.

    `origin(t, n)` is the place of the source word that word t of a translation of n words comes from. `kept` sentences
    are set aside for development, and as many to be held out.
    """

    name: str
    translation: Callable[[Sentence], Sentence]
    origin: Callable[[int, int], int]
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
        """Different sentences, at most a tenth of all there are of a length: of the short ones some must stay."""
        generator = random.Random("set aside")
        room = {length: len(SYMBOLS) ** length // 10 for length in range(self.shortest, self.longest + 1)}
        found: dict[Sentence, None] = {}  # a set that keeps its order
        while len(found) < 2 * self.kept:
            source = self._draw(generator)
            if source not in found and room[len(source)]:
                room[len(source)] -= 1
                found[source] = None
        return list(found)

    def _pairs(self, sources: Iterable[Sentence]) -> list[Pair]:
        return [(source, self.translation(source)) for source in sources]


_RENDERING = random.Random("rewrite").sample(SYMBOLS, len(SYMBOLS))
_RENDERINGS = (_RENDERING, _RENDERING[1:] + _RENDERING[:1])  # no symbol is the same in both


def _rewritten(source: Sentence) -> Sentence:
    """Each symbol by one of two tables, selected by the parity of its left neighbour; the beginning is even."""
    neighbours = (0, *source)
    return tuple(
        _RENDERINGS[left % 2][symbol - SYMBOLS.start] for left, symbol in zip(neighbours, source, strict=False)
    )


REVERSE = Task("reverse", lambda source: source[::-1], lambda t, n: n - 1 - t)
COPY = Task("copy", lambda source: source, lambda t, n: t)
SHORT_COPY = Task("short copy", lambda source: source, lambda t, n: t, shortest=1, longest=4)
REWRITE = Task("rewrite", _rewritten, lambda t, n: t)


@dataclass(frozen=True)
class Exercise:
    """A task that a preset, with these settings, must learn: at least `goal` of the held-out pairs exactly."""

    preset: str
    task: Task
    goal: float
    settings: tuple[str, ...] = ()


# A window of 10 would see all of a sentence of 8 words: it is made smaller where the task is about windows.
EXERCISES = (
    Exercise("sutskever2014-desk", SHORT_COPY, 0.9),
    Exercise("cho2014-desk", SHORT_COPY, 0.9),
    Exercise("bahdanau2015-desk", REVERSE, 0.95),
    Exercise("luong2015-desk", REVERSE, 0.95),
    Exercise("lin2017-desk", REVERSE, 0.9),
    Exercise("luong2015-location-desk", REVERSE, 0.95),
    Exercise("luong2015-local-p-desk", REVERSE, 0.95, ("model.attention.window=6",)),
    Exercise("luong2015-local-m-desk", REWRITE, 0.95, ("model.attention.window=2",)),
    Exercise("xu2015-desk", REVERSE, 0.9),
    Exercise("vaswani2017-desk", REVERSE, 0.95),
    Exercise("kim2019-ssru-desk", REVERSE, 0.95),
    Exercise("pairs-30k", REVERSE, 0.95),
)


# ---------------------------------------------------------------------------------------------------------- training


@dataclass(frozen=True)
class Budget:
    """Most updates of `batch` pairs; fewer once `enough` of the development pairs are translated exactly."""

    updates: int
    batch: int = 64
    check_every: int = 50
    enough: float = 0.99


@dataclass(frozen=True)
class Learned:
    """A trained model and how it does on the held-out pairs; `aligned` is None where it has no attention.

    `seconds` is the wall time of training, `cpu_seconds` its CPU time, which does not depend on other processes.
    """

    model: Model[Any, Any]
    updates: int
    exact: float
    aligned: float | None
    seconds: float
    cpu_seconds: float


def learn(config: Config, task: Task, budget: Budget) -> Learned:
    """Train a fresh model on a task, and measure it. All that is random follows from the configuration's seed."""
    began, cpu_began = time.perf_counter(), time.process_time()
    seed = config.training.seed
    model = build_model(config.model, VOCABULARY, VOCABULARY, seed)
    optimizer = build_optimizer(model, config.training)
    pairs, development = task.training(seed), task.development
    baseline = RewardBaseline(config.training.baseline_decay)
    update = 0
    for update in range(1, budget.updates + 1):
        rows = range((update - 1) * budget.batch, update * budget.batch)
        batch = Batch.from_pairs(list(islice(pairs, budget.batch)), rows)
        baseline = train_step(model, optimizer, batch, config.training, update, baseline).baseline
        if update % budget.check_every == 0 and exact_match(model, development) >= budget.enough:
            break
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    exact, aligned = exact_match(model, task.held_out), well_aligned(model, task)
    return Learned(model, update, exact, aligned, seconds, cpu_seconds)


# --------------------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Translation:
    """The model's output for a sentence, and the position of the largest attention weight per step, end included."""

    target: Sentence
    places: Sentence


def exact_match(model: Model[Any, Any], pairs: Sequence[Pair]) -> float:
    """The share of pairs whose translation has no fault and ends where it should."""
    translations = translate(model, [source for source, _ in pairs])
    right = [found.target == target for found, (_, target) in zip(translations, pairs, strict=True)]
    return sum(right) / len(right)


def well_aligned(model: Model[Any, Any], task: Task) -> float | None:
    """The share of held-out words at whose step the model looked most at the word they come from."""
    sources = [source for source, _ in task.held_out]
    right: list[bool] = []
    for source, found in zip(sources, translate(model, sources), strict=True):
        length = len(source)
        right += [place == task.origin(step, length) for step, place in enumerate(found.places[:length])]
    return sum(right) / len(right) if right else None


@torch.no_grad()
def translate(model: Model[Any, Any], sources: Sequence[Sentence]) -> list[Translation]:
    """Greedy translations by the model's protocol alone: encode, start, step. What does not end is cut off."""
    batch = Batch.from_pairs([(source, ()) for source in sources])
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
    symbols = torch.stack(written, 1).tolist()  # [batch, tgt]
    places = torch.stack(looked, 1).tolist() if looked else [[]] * len(symbols)
    return [_ended(*rows) for rows in zip(symbols, places, strict=True)]


def _ended(symbols: list[int], places: list[int]) -> Translation:
    end = symbols.index(EOS_ID) if EOS_ID in symbols else len(symbols)
    return Translation(tuple(symbols[:end]), tuple(places[: end + 1]))
