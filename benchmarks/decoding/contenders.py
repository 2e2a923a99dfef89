"""The contenders.

Transformer: our weights in every toolkit that supports them: CTranslate2, OpenNMT-py, JoeyNMT (with an output bias),
and Hugging Face as its Pegasus model, which is its Marian model with pre-norm. Marian itself does not support them
(its sinusoids have other wavelengths): it runs a model of the same sizes with random weights, whose output is cut at
the mean length of ours.

RNN: ours is Bahdanau's; the most similar ones of other toolkits have random weights of the same sizes, and write as
many words per sentence as ours on average. OpenNMT-py: GRU, MLP attention, input feeding. Marian: its conditional
GRU, with twice the width in the encoder.

CTranslate2 by itself runs like our engine, in the faster of its two modes: one thread per batch and parallel batches,
not threads that share a batch. It gets all sentences in one call; one sentence at a time runs on one thread.

Dragoman gets and returns text, through `Translator.translate`; all others get and return tokens.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.decoding.running import Setting

SETTINGS = [Setting(64, 1), Setting(64, 5), Setting(1, 1), Setting(1, 5)]
IN_BATCHES = SETTINGS[:2]
FORCED = "random weights, forced length"


@dataclass(frozen=True)
class Contender:
    """One side of the comparison."""

    name: str
    model: str
    driver: str
    options: tuple[str, ...] = ()
    environment: str | None = None
    """The key of its environment; None is the one this runs in."""
    settings: tuple[Setting, ...] = tuple(SETTINGS)
    note: str = ""

    @property
    def has_our_weights(self) -> bool:
        return self.note != FORCED

    def command(self, python: Path, task: Path, threads: int, warmup: int) -> list[str]:
        shared = ["--task", str(task), "--threads", str(threads), "--warmup", str(warmup), "--model", self.model]
        return [str(python), "-m", f"benchmarks.decoding.drivers.{self.driver}", *shared, *self.options]


def ours(engine: str, precision: str) -> str:
    """What our contenders are called."""
    return f"Dragoman, {engine} {precision}"


def typed(precision: str) -> str:
    return f"`dragoman translate`, ctranslate2 {precision}"


def bare(precision: str) -> str:
    return f"CTranslate2 {precision}"


OPENNMT, JOEY, HUGGINGFACE, MARIAN = "OpenNMT-py", "JoeyNMT", "Hugging Face", "Marian"


def _ours(model: str, engine: str, precision: str) -> Contender:
    return Contender(ours(engine, precision), model, "ours", ("--engine", engine, "--precision", precision))


def _bare(precision: str) -> Contender:
    return Contender(bare(precision), "transformer", "bare", ("--precision", precision))


def _typed(precision: str) -> Contender:
    options = ("--engine", "ctranslate2", "--precision", precision)
    note = "the command less its own time for one sentence"
    return Contender(typed(precision), "transformer", "command_line", options, None, tuple(IN_BATCHES), note)


def contenders(models: list[str]) -> list[Contender]:
    """All contenders."""
    transformer = [
        *(_bare(precision) for precision in ("float32", "int8")),
        *(_ours("transformer", "ctranslate2", precision) for precision in ("float32", "int8")),
        *(_typed(precision) for precision in ("float32", "int8")),
        *(_ours("transformer", "torch", precision) for precision in ("float32", "bfloat16")),
        Contender(OPENNMT, "transformer", "opennmt", environment="opennmt"),
        Contender(JOEY, "transformer", "joey", environment="joey"),
        Contender(HUGGINGFACE, "transformer", "huggingface", environment="huggingface"),
        Contender(MARIAN, "transformer", "marian", environment="marian", note=FORCED),
    ]
    rnn = [
        *(_ours("rnn", "onnx", precision) for precision in ("float32", "int8")),
        *(_ours("rnn", "torch", precision) for precision in ("float32", "bfloat16")),
        Contender(OPENNMT, "rnn", "opennmt", environment="opennmt", note=FORCED),
        Contender(MARIAN, "rnn", "marian", environment="marian", note=FORCED),
    ]
    return [contender for contender in [*transformer, *rnn] if contender.model in models]


def python_of(contender: Contender, found: dict[str | None, Path]) -> Path:
    return found.get(contender.environment, Path(sys.executable))
