"""Result of a translation: text, score, alignment, quality flags, n-best list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.evaluation.quality_flags import LEFT_FLAGS, Flag
from dragoman.evaluation.word_alignment import Links
from dragoman.markup.protected_spans import find_damage, find_placeholders, placeholder_strings
from dragoman.search.hypothesis import TraceNode
from dragoman.storage.memory_reader import MemoryMatch, MemoryReader

Weights = tuple[tuple[float, ...], ...]

_LOW = "confidence "  # the start of such reasons
_DIGITS = 6  # of a weight in JSON
_REPR_NAMES = ("alignment", "weights", "flags", "nbest", "tree", "is_truncated", "is_cut", "sentences", "memory")


@dataclass(frozen=True, repr=False)
class Translation:
    """A text and its translation. Results that were not requested are None or empty.

    ``str(translation)`` is its text; a notebook shows its alignment or attention weights too.

    `log_prob` is the log-probability of all tokens, and `score` the value that the search ranks by; both are 0 where
    nothing was translated. `tokens` are the tokens that the model wrote. `alignment` links source words to target
    words, both counted from 0; it is None for a model without attention. A row of `weights` has the attention weights
    of one target word over the source words; the rest to 1 is the weight of the end of the source.

    `confidence` is the probability that the translation is usable, that of its least certain sentence; None for a model
    that was not calibrated.

    `is_truncated`: the translation reached the maximum length before its end. `is_cut`: a sentence was too long for
    one search, and was translated in chunks.

    `memory` is the unit of a translation memory whose translation this is; such a translation has no tokens and no
    score. `matches` are the most similar units, the best first.

    A text of several sentences has these in `sentences`. Its `log_prob` is their sum, and its `score` their mean,
    weighted by the number of tokens; only the sentences have n-best lists, search trees and attention weights.
    """

    source: str
    text: str
    score: float = 0.0
    log_prob: float = 0.0
    tokens: tuple[str, ...] = ()
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    alignment: Links | None = None
    weights: Weights | None = None
    flags: tuple[Flag, ...] | None = None
    nbest: tuple[Translation, ...] = ()
    tree: tuple[TraceNode, ...] | None = None
    is_truncated: bool = False
    is_cut: bool = False
    sentences: tuple[Translation, ...] = ()
    confidence: float | None = None
    memory: MemoryMatch | None = None
    matches: tuple[MemoryMatch, ...] = ()

    @property
    def damage(self) -> str | None:
        """Why the text was left untranslated: what its translation would have lost; None if it was translated."""
        is_marked = self.text == self.source and not self.tokens
        return next((flag.detail for flag in self.flags or () if is_marked and flag.name in LEFT_FLAGS), None)

    def if_sure(self, minimum: float) -> Translation:
        """Return the text untranslated, with the flag ``unsure``, if the confidence is below a minimum."""
        if (fault := low_confidence(self.confidence, minimum)) is None:
            return self
        return Translation(self.source, self.source, flags=(Flag("unsure", fault),), confidence=self.confidence)

    def __str__(self) -> str:
        """Return the text of the translation."""
        return self.text

    def __repr__(self) -> str:
        """Return the two texts and the score, and the names of the other results."""
        found = [name for name in _REPR_NAMES if getattr(self, name) not in (None, (), False)]
        others = f", with {', '.join(found)}" if found else ""
        return f"<Translation {self.source!r} → {self.text!r}, score {self.score:.3f}{others}>"

    def _repr_html_(self) -> str:
        """Return the text and the alignment as HTML, for notebooks."""
        from dragoman.api.translation.notebook import translation_html  # noqa: PLC0415 -- pages are rarely needed

        return translation_html(self)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON, without results that were not requested. NaN and infinity become None."""
        value: dict[str, Any] = {"source": self.source, "text": self.text}
        value |= {name: _finite(getattr(self, name)) for name in ("score", "log_prob")}
        if self.confidence is not None:
            value["confidence"] = round(self.confidence, 4)
        if self.memory is not None:
            value["memory"] = asdict(self.memory)
        if self.matches:
            value["matches"] = [asdict(match) for match in self.matches]
        value |= {"is_truncated": self.is_truncated, "is_cut": self.is_cut, "tokens": list(self.tokens)}
        if self.flags is not None:
            value["flags"] = [asdict(flag) for flag in self.flags]
        if self.alignment is not None or self.weights is not None:
            value |= {"source_words": list(self.source_words), "target_words": list(self.target_words)}
        if self.alignment is not None:
            value["alignment"] = [list(link) for link in self.alignment]
        if self.weights is not None:
            value["weights"] = [[round(weight, _DIGITS) for weight in row] for row in self.weights]
        if self.tree is not None:
            value["tree"] = [asdict(node) | {"log_prob": _finite(node.log_prob)} for node in self.tree]
        if self.nbest:
            shared = ("source", "source_words")
            value["nbest"] = [_without(each.to_json(), shared) for each in self.nbest]
        if self.sentences:
            value["sentences"] = [each.to_json() for each in self.sentences]
        return value

    def alternatives(self, kept: Sequence[str] = ()) -> tuple[tuple[str, float], ...]:
        """Return the distinct texts of the n-best list, without this one, and their scores, the best first.

        Of a text of several sentences, the second alternative consists of the second one of each sentence, and so on.
        An alternative that lacks one of the strings `kept` or a placeholder of this translation is left out.
        """
        sentences = self.sentences or (self,)
        strings = [*kept, *placeholder_strings(self.text, find_placeholders(self.text))]
        seen = {self.text, ""}
        found: list[tuple[str, float]] = []
        for rank in range(1, max(len(each.nbest) for each in sentences)):
            chosen = [each.nbest[min(rank, len(each.nbest) - 1)] if each.nbest else each for each in sentences]
            text = _replace_sentences(self.text, sentences, chosen) if self.sentences else chosen[0].text
            if text not in seen and find_damage(strings, self.text, text) is None:
                seen.add(text)
                tokens = sum(len(each.tokens) for each in chosen)
                found.append((text, sum(each.score * len(each.tokens) for each in chosen) / max(1, tokens)))
        return tuple(found)


def _replace_sentences(text: str, sentences: Sequence[Translation], chosen: Sequence[Translation]) -> str:
    """Return a text with other translations of its sentences; the white space between them stays."""
    parts: list[str] = []
    place = 0
    for old, new in zip(sentences, chosen, strict=True):
        start = text.find(old.text, place)
        if start >= 0:
            parts += [text[place:start], new.text]
            place = start + len(old.text)
    return "".join([*parts, text[place:]])


def remembered(
    memory: MemoryReader, text: str, matches: Sequence[MemoryMatch], *, flags: bool = False
) -> Translation | None:
    """Return the translation of a text that a match replaces; None if none does."""
    if (chosen := memory.chosen(matches)) is None:
        return None
    return Translation(text, chosen.text, flags=() if flags else None, memory=chosen, matches=tuple(matches))


def join_sentences(source: str, text: str, sentences: Sequence[Translation], *, is_cut: bool) -> Translation:
    """Return the translation of a text from those of its sentences; its score is -inf if one of them is."""
    tokens = sum(len(each.tokens) for each in sentences)
    return Translation(
        source,
        text,
        score=sum(_weighted_score(each) for each in sentences) / max(1, tokens),
        log_prob=sum(each.log_prob for each in sentences),
        tokens=tuple(token for each in sentences for token in each.tokens),
        source_words=tuple(word for each in sentences for word in each.source_words),
        target_words=tuple(word for each in sentences for word in each.target_words),
        alignment=_all_links(sentences),
        flags=_all_flags(sentences),
        is_truncated=any(each.is_truncated for each in sentences),
        is_cut=is_cut,
        sentences=tuple(sentences),
        confidence=least_confidence(sentences),
    )


def least_confidence(parts: Iterable[Translation]) -> float | None:
    """Return the confidence of the least certain part; None if no part has one."""
    return min((each.confidence for each in parts if each.confidence is not None), default=None)


def low_confidence(confidence: float | None, minimum: float) -> str | None:
    """Return why a text is left untranslated; None if the confidence is not below the minimum."""
    if confidence is None or confidence >= minimum:
        return None
    return f"{_LOW}{confidence:.2f}, below {minimum:g}"


def damage_flag(detail: str) -> str:
    """Return the flag of a text that is left untranslated, given the reason."""
    return "unsure" if detail.startswith(_LOW) else "placeholders"


def _weighted_score(sentence: Translation) -> float:
    """Return the score times the number of tokens; -inf stays -inf where there are no tokens."""
    return sentence.score * len(sentence.tokens) if math.isfinite(sentence.score) else sentence.score


def _all_flags(sentences: Sequence[Translation]) -> tuple[Flag, ...] | None:
    found = [each.flags for each in sentences if each.flags is not None]
    return tuple(flag for flags in found for flag in flags) if found else None


def _all_links(sentences: Sequence[Translation]) -> Links | None:
    links: list[tuple[int, int]] = []
    before = [0, 0]
    for each in sentences:
        if each.alignment is None:
            return None
        links += [(before[0] + source, before[1] + target) for source, target in each.alignment]
        before = [before[0] + len(each.source_words), before[1] + len(each.target_words)]
    return tuple(links)


def _without(value: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in names}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
