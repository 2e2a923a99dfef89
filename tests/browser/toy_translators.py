"""Translators for tests of the server's page: they know thirteen words, turn sentences round, and learn it in seconds.

English words become German ones in reverse order, but for the full stop: so links cross, and are known beforehand.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import write_bundle
from dragoman.config import parse_config
from dragoman.text import SPECIALS, Vocabulary, WordTokenizer
from testkit.toy_tasks import Budget, Sentence, Task, learn
from tests.learning.small_models import small

WORDS = {
    "en": "Two dogs play here A man sleeps there small cats run with us",
    "de": "Zwei Hunde spielen hier Ein Mann schläft dort kleine Katzen laufen mit uns",
    "ar": "اثنان كلاب يلعب هنا رجل واحد ينام هناك صغيرة قطط تجري مع نحن",
}


def _turned(source: Sentence) -> Sentence:
    return (*source[-2::-1], *source[-1:])


CONFIG = small("luong2015-desk", "tokenizer.kind=word", "tokenizer.joint=false", "model.tie=none")
TURN = Task("turn", _turned, lambda t, n: t if t == n - 1 else n - 2 - t)


def toy_translator(folder: Path, source: str = "en", target: str = "de", *, updates: int = 400) -> Path:
    """Train one and write its bundle; with few updates its translations differ."""
    data = {"source": source, "target": target, "train": [{"files": ["a", "b"]}]}
    spoken = parse_config(CONFIG.model_dump(exclude_none=True) | {"data": data})
    tokenizers = {"source": _tokenizer(source), "target": _tokenizer(target)}
    write_bundle(folder, spoken, _weights(updates), tokenizers, "# A toy\n")
    return folder


@functools.cache
def _weights(updates: int) -> dict[str, NDArray[np.float32]]:
    """The same for all words."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = learn(CONFIG, TURN, Budget(updates=updates)).model
    finally:
        torch.set_num_threads(before)
    return {name: each.detach().numpy() for name, each in model.named_parameters()}


def _tokenizer(language: str) -> WordTokenizer:
    tokens = [f"▁{word}" for word in WORDS[language].split()]
    return WordTokenizer(Vocabulary("word", (*SPECIALS, *tokens, ".")))
