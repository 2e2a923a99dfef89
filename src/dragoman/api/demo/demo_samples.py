"""Translate the sample dates of the demo, with attention weights."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.api.training.translation_scorer import translate_greedy
from dragoman.bundle import Bundle
from dragoman.models.load import load_model
from dragoman.search import Hypothesis
from dragoman.text import Tokenizer
from dragoman.text.tokenizers.notation import SPACE_MARK
from dragoman.training.callbacks.events import ValidationSample

__all__ = ["END", "translate_samples"]

END = "↵"
"""Label of the end of a source."""


def translate_samples(bundle: Bundle, pairs: Sequence[tuple[str, str]]) -> list[ValidationSample]:
    """Translate all pairs greedily, with the attention weights of each character."""
    tokenizers = bundle.tokenizers()
    sources = [tokenizers["source"].encode(source) for source, _ in pairs]
    found = translate_greedy(load_model(bundle), sources, check=lambda: None, show=True)
    return [_sample(pair, hypothesis, tokenizers) for pair, hypothesis in zip(pairs, found, strict=True)]


def _sample(pair: tuple[str, str], hypothesis: Hypothesis, tokenizers: dict[str, Tokenizer]) -> ValidationSample:
    """Return weights between characters: words would hide how each digit of a date is found."""
    source, reference = pair
    target = tokenizers["target"]
    assert hypothesis.alignment is not None
    weights = hypothesis.alignment[: len(hypothesis.tokens)].tolist()
    return ValidationSample(
        source=source,
        reference=reference,
        translation=target.decode(hypothesis.tokens),
        source_words=(*(token.replace(SPACE_MARK, " ") for token in tokenizers["source"].tokens(source)), END),
        target_words=tuple(target.id_to_token(token) for token in hypothesis.tokens),
        weights=tuple(map(tuple, weights)),
    )
