"""Convert hypotheses to translations: detokenize, align words, compute quality flags."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.prepared_text import Chunk
from dragoman.api.translation.translation import Translation, Weights
from dragoman.api.translation.word_alignment import WordAlignment, replace_unknown, word_alignment
from dragoman.bundle.confidence import Calibration
from dragoman.errors import ConfigError
from dragoman.evaluation.metrics.pairwise_chrf import rank_by_expected_chrf
from dragoman.evaluation.quality_flags import TranslationFacts, quality_flags, text_flags
from dragoman.search.hypothesis import Hypothesis
from dragoman.text import Normalizer, Tokenizer, map_words
from dragoman.text.tokenizers.base import word_boundary_tokens
from dragoman.text.tokenizers.notation import join_tokens, mark_spaces

_CLEAN = Normalizer(form="none")
"""Makes a translation one line without white space at its ends: bytes that a model writes may spell a line break."""

_FAILURES = {"repetition", "from-nothing", "empty", "copied", "language"}
_LEAST_LOG_PROB = -100.0  # in place of -inf


@dataclass(frozen=True)
class TokenizedTarget:
    """A given translation: its text, and its tokens as spelt in the text."""

    text: str
    tokens: list[str]
    ids: list[int]


@dataclass(frozen=True)
class Postprocessor:
    """Detokenizes and aligns hypotheses. The source tokenizer finds the words of the source."""

    tokenizer: Tokenizer
    normalize: Normalizer
    source_tokenizer: Tokenizer
    source_language: str = ""
    calibration: Calibration | None = None

    @functools.cached_property
    def may_follow_words(self) -> NDArray[np.bool_]:
        """Mask of the tokens that may follow a term without making it another word. Shapes: [vocab]."""
        return word_boundary_tokens(self.tokenizer)

    def require_calibration(self) -> None:
        """Raise `ConfigError` for a model that was not calibrated."""
        if self.calibration is None:
            raise ConfigError(
                "min_confidence needs a calibrated model, which this one is not; run dragoman calibrate MODEL --test "
                "SRC REF, or leave it out"
            )

    def tokenize(self, text: str) -> TokenizedTarget:
        normalized = self.normalize(text)
        return TokenizedTarget(text, self.tokenizer.tokens(normalized), self.tokenizer.encode(normalized))

    def best(self, chunk: Chunk, options: TranslateOptions) -> Translation:
        """Return the translation of a chunk, with its n-best list if `options` has one."""
        if chunk.search_input is None:
            return _unchanged(chunk.source, options)
        best, *others = (self.translation(chunk, each, options) for each in chunk.hypotheses)
        tree = None if chunk.tree is None else tuple(chunk.tree)
        nbest = (best, *others) if options.search.nbest > 1 else ()
        return replace(best, nbest=nbest, tree=tree) if nbest or tree is not None else best

    def translation(
        self, chunk: Chunk, hypothesis: Hypothesis, options: TranslateOptions, *, given: TokenizedTarget | None = None
    ) -> Translation:
        """Return the translation of one hypothesis, or with `given` of a translation that was scored."""
        tokens = tuple(map(self.tokenizer.id_to_token, hypothesis.tokens))
        translation = Translation(
            chunk.source,
            self._text(chunk, hypothesis, tokens) if given is None else given.text,
            hypothesis.score,
            hypothesis.log_prob,
            tokens,
            is_truncated=not hypothesis.is_finished,
            is_cut=chunk.is_cut,
        )
        if self.calibration is not None:
            features = confidence_features(translation, self.source_language)
            translation = replace(translation, confidence=self.calibration.probability(features))
        if not options.needs_attention:
            return translation
        surfaces = self.source_tokenizer.tokens(chunk.normalized)
        spelt = self.spelt_tokens(hypothesis, surfaces, tokens) if given is None else given.tokens
        aligned = word_alignment(surfaces, spelt, hypothesis.alignment)
        return _with_words(translation, aligned, options, self.source_language)

    def texts(self, chunk: Chunk) -> list[str]:
        """Return the texts of all hypotheses of a chunk."""
        return [
            self._text(chunk, each, list(map(self.tokenizer.id_to_token, each.tokens))) for each in chunk.hypotheses
        ]

    def rank(self, chunk: Chunk, nbest: int) -> list[Hypothesis]:
        """Return the samples with different texts that agree most with all samples: minimum Bayes risk."""
        chunk.hypotheses.sort(key=lambda each: -each.log_prob)  # of equal texts, the most likely is returned
        return [chunk.hypotheses[place] for place in rank_by_expected_chrf(self.texts(chunk))[:nbest]]

    def stable_text(self, tokens: list[int]) -> str:
        """Return the text of the first tokens of a translation, without the end that later tokens may change.

        The next byte token may complete another character, and the replacement of an unknown token is not known yet.
        """
        if self.tokenizer.unk_id in tokens:
            tokens = tokens[: tokens.index(self.tokenizer.unk_id)]
        end = len(tokens)
        while end and self.tokenizer.id_to_token(tokens[end - 1]).startswith("<0x"):
            end -= 1
        return _CLEAN(self.tokenizer.decode(tokens[:end]))

    def spelt_tokens(self, hypothesis: Hypothesis, surfaces: Sequence[str], tokens: Sequence[str]) -> Sequence[str]:
        """Return the tokens of a hypothesis, each unknown one replaced by the source token with the most weight."""
        if not self._has_unknown(hypothesis):
            return tokens
        assert hypothesis.alignment is not None
        return replace_unknown(tokens, surfaces, hypothesis.alignment, marks_words=self.tokenizer.kind == "word")

    def _text(self, chunk: Chunk, hypothesis: Hypothesis, tokens: Sequence[str]) -> str:
        if self._has_unknown(hypothesis):
            surfaces = self.source_tokenizer.tokens(chunk.normalized)
            return _CLEAN(join_tokens(self.spelt_tokens(hypothesis, surfaces, tokens)))
        return _CLEAN(self.tokenizer.decode(hypothesis.tokens))

    def _has_unknown(self, hypothesis: Hypothesis) -> bool:
        """Whether unknown tokens can be replaced by means of attention weights."""
        return self.tokenizer.unk_id in hypothesis.tokens and hypothesis.alignment is not None


def confidence_features(translation: Translation, source_language: str) -> tuple[float, float, float, float]:
    """Return the features of a calibration, in the order of `FEATURES`; the same for every engine."""
    source, text = translation.source, translation.text
    length = len(translation.tokens) + (not translation.is_truncated)
    flags = sum(each.name in _FAILURES for each in text_flags(source, text, source_language)) + translation.is_truncated
    mean = max(translation.log_prob / max(1, length), _LEAST_LOG_PROB)
    return mean, math.log(length + 1), math.log((len(text) + 1) / (len(source) + 1)), float(flags)


def _unchanged(text: str, options: TranslateOptions) -> Translation:
    """Return a text without letters as its own translation, each word linked to itself."""
    if not options.needs_attention:
        return Translation(text, text)
    words = map_words([mark_spaces(text)]).words if text.strip() else ()
    return Translation(
        text,
        text,
        source_words=words,
        target_words=words,
        alignment=tuple((place, place) for place in range(len(words))) if options.alignment else None,
        flags=() if options.flags else None,
    )


def _with_words(
    translation: Translation, aligned: WordAlignment, options: TranslateOptions, source_language: str
) -> Translation:
    weights: Weights | None = None
    if options.attention and (between := aligned.between_words()) is not None:
        weights = tuple(map(tuple, between.tolist()))
    facts = TranslationFacts(
        source=translation.source,
        translation=translation.text,
        log_prob=translation.log_prob,
        length=len(translation.tokens) + (not translation.is_truncated),
        is_finished=not translation.is_truncated,
        source_words=aligned.source_words,
        target_words=aligned.target_words,
        weights=aligned.weights,
        source_language=source_language,
    )
    return replace(
        translation,
        source_words=aligned.source_words,
        target_words=aligned.target_words,
        alignment=aligned.links() if options.alignment else None,
        weights=weights,
        flags=quality_flags(facts) if options.flags else None,
    )
