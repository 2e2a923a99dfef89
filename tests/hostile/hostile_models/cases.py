"""All hostile models of a seed: crafted ones, and random changes of every file of every format."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.hostile.hostile_models import crafted_texts, crafted_weights
from tests.hostile.hostile_models.case import Case, replaced
from tests.hostile.hostile_models.crafted_m2m100 import m2m100
from tests.hostile.hostile_models.crafted_packages import packages
from tests.hostile.hostile_models.crafted_pickles import pickles
from tests.hostile.hostile_models.mutations import KINDS, mutated
from tests.hostile.hostile_models.sources import LEXICON, MODEL, PACKAGE, PICKLE, VOCABULARY, Files, archive

MUTATED = {
    "firefox": (MODEL, LEXICON, VOCABULARY),
    "hugging-face": ("config.json", "model.safetensors", "vocab.json", "source.spm", "tokenizer_config.json"),
    "hugging-face-pickle": (PICKLE,),
    "ctranslate2": ("model.bin", "config.json", "shared_vocabulary.json"),
    "argos": (PACKAGE, "en_pt/metadata.json", "en_pt/model/model.bin"),
    "marian": ("model.npz", "vocab.spm"),
    "m2m100": ("config.json", "vocab.json", "special_tokens_map.json"),
    "nllb": ("config.json", "model.safetensors", "sentencepiece.bpe.model", "tokenizer_config.json"),
}
"""Files of each format that are changed at random."""


def all_cases(sources: Mapping[str, Files], *, seed: int, mutations: int, signal: Path) -> Iterator[Case]:
    """Every crafted case, and `mutations` random changes of each file. Code of a model creates `signal`."""
    yield from crafted_weights.firefox(sources["firefox"])
    yield from crafted_weights.safetensors(sources["hugging-face"])
    yield from crafted_weights.ctranslate2(sources["ctranslate2"])
    yield from crafted_weights.npz(sources["marian"])
    yield from crafted_texts.configs(sources["hugging-face"])
    yield from crafted_texts.vocabularies(sources["hugging-face"])
    yield from crafted_texts.sentencepiece_models(sources["hugging-face"])
    yield from crafted_texts.no_files()
    for format_name in ("m2m100", "nllb"):
        yield from m2m100(sources[format_name], format_name)
    yield from packages(sources["argos"])
    yield from pickles(sources["hugging-face-pickle"], signal)
    for format_name, names in MUTATED.items():
        for name in names:
            yield from _mutations(format_name, name, sources[format_name], seed, mutations)


def _mutations(format_name: str, name: str, files: Files, seed: int, count: int) -> Iterator[Case]:
    data = archive(files) if name == PACKAGE else files[name]
    for number, kind in zip(range(count), itertools.cycle(KINDS), strict=False):
        changed = mutated(data, kind, f"{seed} {format_name} {name} {number}")
        if changed != data:
            yield Case(format_name, name, kind, str(number), replaced(name, changed))
