"""What all contenders are given: sentences as tokens and as text, sizes, and our weights under plain names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.decoding.drivers import weights
from benchmarks.peers.corpus import read_lines
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.config import RnnConfig, TransformerConfig
from dragoman.config.search import SearchSettings
from dragoman.engines.ctranslate2.export import export_ctranslate2, vocabulary_of
from dragoman.text import Tokenizer

TEST = "test_2016_flickr"
BEAMS = (1, 5)


@dataclass(frozen=True)
class Sentences:
    """The test set: texts, their tokens, and what they should become."""

    texts: list[str]
    tokens: list[list[int]]
    references: list[str]
    target: Tokenizer

    @classmethod
    def read(cls, corpus: Path, bundle: Bundle, count: int) -> Sentences:
        texts = read_lines(corpus / f"{TEST}.en.gz")[:count]
        references = read_lines(corpus / f"{TEST}.de.gz")[:count]
        tokenizers = bundle.tokenizers()
        return cls(texts, [tokenizers["source"].encode(text) for text in texts], references, tokenizers["target"])

    def as_texts(self, found: Sequence[list[int]] | Sequence[str]) -> list[str]:
        """The translations of a contender, as text."""
        return [each if isinstance(each, str) else self.target.decode(each) for each in found]

    def mean_tokens(self, found: Sequence[list[int]] | Sequence[str]) -> float:
        """How long translations are; those that come as text are cut into tokens again."""
        lengths = [len(self.target.encode(each) if isinstance(each, str) else each) for each in found]
        return sum(lengths) / len(lengths)

    def steps(self, bundle: Path) -> dict[str, float]:
        """The mean steps of our own translations, their ends among them, by beam: the length that is forced on models
        whose weights are not ours.
        """
        translator, found = Translator.open(bundle), {}
        for beam in BEAMS:
            translations = translator.translate(self.texts, search=SearchSettings(beam=beam), split_sentences=False)
            found[str(beam)] = sum(len(each.tokens) + 1 for each in translations) / len(translations)
        return found


def transformer_sizes(bundle: Bundle) -> dict[str, Any]:
    """Sizes, where the model is one that other toolkits have as well: norms first, sines, all embeddings tied."""
    model = bundle.config.model
    if not isinstance(model, TransformerConfig) or (model.norm, model.positions, model.tie) != (
        "pre",
        "sinusoidal",
        "all",
    ):
        raise SystemExit("--transformer must be a Transformer with norm pre, positions sinusoidal and tie all")
    if model.encoder_layers != model.decoder_layers:
        raise SystemExit("--transformer must have as many encoder as decoder layers")
    return {
        "dim": model.dim,
        "heads": model.heads,
        "layers": model.encoder_layers,
        "feedforward": model.feedforward,
        "vocab": bundle.tokenizers()["target"].size,
    }


def rnn_sizes(bundle: Bundle) -> dict[str, Any]:
    """Sizes of a model with one layer a side, which is what the nearest of others are built like."""
    model = bundle.config.model
    if not isinstance(model, RnnConfig) or model.encoder.layers != 1 or model.decoder.layers != 1:
        raise SystemExit("--rnn must be a recurrent model with one layer a side")
    vocab = bundle.tokenizers()["target"].size
    return {"embedding": model.embedding, "hidden": model.decoder.hidden, "vocab": vocab}


def write_task(folder: Path, sentences: Sentences, transformer: Path, rnn: Path) -> dict[str, Any]:
    """Write the folder that drivers read, and return its facts. Bundles are copied to it."""
    bundles = {}
    for kind, path in (("transformer", transformer), ("rnn", rnn)):
        shutil.copytree(path, folder / f"bundle-{kind}")
        bundles[kind] = Bundle.open(folder / f"bundle-{kind}", trusted=True)
    check_tokens(bundles.values())
    facts = {
        "transformer": {"bundle": str(bundles["transformer"].path), **transformer_sizes(bundles["transformer"])},
        "rnn": {"bundle": str(bundles["rnn"].path), **rnn_sizes(bundles["rnn"])},
    }
    for kind, each in facts.items():
        each["steps"] = sentences.steps(folder / f"bundle-{kind}")
    words = vocabulary_of(sentences.target)
    files = {"facts": facts, "sources": sentences.tokens, "texts": sentences.texts, "words": words}
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    weights.write(bundles["transformer"].weights(), folder)
    for precision in ("float32", "int8"):
        (folder / f"ctranslate2-{precision}").mkdir()
        export_ctranslate2(bundles["transformer"], folder / f"ctranslate2-{precision}", precision)
    return facts


def check_tokens(bundles: Iterable[Bundle]) -> None:
    """Refuse bundles whose tokens are not the same on both sides and in all of them: contenders share one list."""
    found = {tokenizer.to_bytes() for bundle in bundles for tokenizer in bundle.tokenizers().values()}
    if len(found) > 1:
        raise SystemExit("--transformer and --rnn must have one joint vocabulary, the same in both")
