"""From what a search found to a translation: text, words, links, flags."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.api.parts import Part
from dragoman.api.request import Request
from dragoman.api.translation import Translation, Weights
from dragoman.api.word_alignment import WordAlignment, replace_unknown, word_alignment
from dragoman.evaluation.quality_flags import TranslationFacts, quality_flags
from dragoman.search.hypothesis import Hypothesis
from dragoman.text import Normalizer, Tokenizer, piece_words
from dragoman.text.notation import join_pieces, mark_spaces
from dragoman.text.piece_boundaries import may_follow_words

__all__ = ["Target", "Written"]

_CLEAN = Normalizer(form="none")
"""What a model writes is one line without white space at its ends: byte by byte it might spell a line break."""


@dataclass(frozen=True)
class Written:
    """A translation as somebody else wrote it: its text, and its pieces as they stand there."""

    text: str
    pieces: list[str]
    ids: list[int]


@dataclass(frozen=True)
class Target:
    """The side of the target. The source's tokenizer tells the words of the source."""

    tokenizer: Tokenizer
    normalize: Normalizer
    source_tokenizer: Tokenizer

    @functools.cached_property
    def may_follow_words(self) -> NDArray[np.bool_]:
        """The pieces that may stand right behind a term without making it another word. Shapes: [vocab]."""
        return may_follow_words(self.tokenizer)

    def read(self, text: str) -> Written:
        """Read a text of the target language."""
        normal = self.normalize(text)
        return Written(text, self.tokenizer.pieces(normal), self.tokenizer.encode(normal))

    def best(self, part: Part, request: Request) -> Translation:
        """The translation of a part, with its alternatives where they are asked for."""
        if part.sentence is None:
            return _passed(part.source, request)
        best, *others = (self.translation(part, each, request) for each in part.found)
        tree = None if part.tree is None else tuple(part.tree)
        nbest = (best, *others) if request.search.nbest > 1 else ()
        return replace(best, nbest=nbest, tree=tree) if nbest or tree is not None else best

    def translation(
        self, part: Part, hypothesis: Hypothesis, request: Request, *, written: Written | None = None
    ) -> Translation:
        """One translation; its text is known already where it was `written` by somebody."""
        pieces = tuple(map(self.tokenizer.id_to_piece, hypothesis.pieces))
        found = Translation(
            part.source,
            self._text(part, hypothesis, pieces) if written is None else written.text,
            hypothesis.score,
            hypothesis.log_prob,
            pieces,
            is_truncated=not hypothesis.is_finished,
            is_cut=part.is_cut,
        )
        if not request.wants_words:
            return found
        shown = self._shown(part, hypothesis, pieces) if written is None else written.pieces
        surfaces = self.source_tokenizer.pieces(part.normal)
        return _with_words(found, word_alignment(surfaces, shown, hypothesis.alignment), request)

    def text(self, part: Part) -> str:
        """The text of the best translation of a part."""
        best = part.found[0]
        return self._text(part, best, list(map(self.tokenizer.id_to_piece, best.pieces)))

    def certain(self, pieces: list[int]) -> str:
        """The text of the first pieces of a translation, as far as none that may follow can change it.

        Bytes may spell another character together with the next, and what an unknown word becomes is not known yet.
        """
        if self.tokenizer.unk_id in pieces:
            pieces = pieces[: pieces.index(self.tokenizer.unk_id)]
        end = len(pieces)
        while end and self.tokenizer.id_to_piece(pieces[end - 1]).startswith("<0x"):
            end -= 1
        return _CLEAN(self.tokenizer.decode(pieces[:end]))

    def _text(self, part: Part, hypothesis: Hypothesis, pieces: Sequence[str]) -> str:
        if self._has_unknown(hypothesis):
            return _CLEAN(join_pieces(self._shown(part, hypothesis, pieces)))
        return _CLEAN(self.tokenizer.decode(hypothesis.pieces))

    def _shown(self, part: Part, hypothesis: Hypothesis, pieces: Sequence[str]) -> Sequence[str]:
        """The pieces, with words of the source in the place of unknown ones."""
        if not self._has_unknown(hypothesis):
            return pieces
        assert hypothesis.alignment is not None
        surfaces = self.source_tokenizer.pieces(part.normal)
        marks_words = self.tokenizer.kind == "word"
        return replace_unknown(pieces, surfaces, hypothesis.alignment, marks_words=marks_words)

    def _has_unknown(self, hypothesis: Hypothesis) -> bool:
        """Whether there are unknown words, and a map that says where they come from."""
        return self.tokenizer.unk_id in hypothesis.pieces and hypothesis.alignment is not None


def _passed(text: str, request: Request) -> Translation:
    """The translation of what is not translated: itself, word by word."""
    if not request.wants_words:
        return Translation(text, text)
    words = piece_words([mark_spaces(text)]).words if text.strip() else ()
    return Translation(
        text,
        text,
        source_words=words,
        target_words=words,
        alignment=tuple((place, place) for place in range(len(words))) if request.alignments else None,
        flags=() if request.flags else None,
    )


def _with_words(found: Translation, aligned: WordAlignment, request: Request) -> Translation:
    weights: Weights | None = None
    if request.weights and (between := aligned.between_words()) is not None:
        weights = tuple(map(tuple, between.tolist()))
    facts = TranslationFacts(
        source=found.source,
        translation=found.text,
        log_prob=found.log_prob,
        length=len(found.pieces) + (not found.is_truncated),
        is_finished=not found.is_truncated,
        source_words=aligned.source_words,
        target_words=aligned.target_words,
        weights=aligned.weights,
    )
    return replace(
        found,
        source_words=aligned.source_words,
        target_words=aligned.target_words,
        alignment=aligned.links() if request.alignments else None,
        weights=weights,
        flags=quality_flags(facts) if request.flags else None,
    )
