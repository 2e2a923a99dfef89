"""What if another word stood there: each is forced, and the search goes on from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.api.decoding_steps import likeliest
from dragoman.api.forced_decoding import ForcedDecoder
from dragoman.api.parts import Part, part_batches
from dragoman.api.target import Target
from dragoman.engines.stepping import SteppingEngine
from dragoman.inspection.inspected import WhatIf
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.protocol import Floats
from dragoman.search.settings import SearchSettings
from dragoman.text import EOS_ID, Tokenizer, piece_words
from dragoman.text.notation import SPACE_MARK, join_pieces
from dragoman.text.words import WordMap

__all__ = ["Progress", "Turn", "is_named", "searched", "turns"]

_AROUND = re.compile(r"^[\W_]+|[\W_]+$")
_LOOKED_AT = 64  # of the likeliest pieces at a place; most of the others do not begin a word there
_LEAST_LIKELY = 0.001  # of all but the first at a place: what is less likely tells nothing, and takes time
_NEVER = 1e-12
_BATCH_TOKENS = 4096
_BATCH_SENTENCES = 16  # so that progress is seen; larger ones take as long

Progress = Callable[[int, int], None]
"""Is told how many of how many other words have been tried."""


@dataclass(frozen=True)
class Turn:
    """A place where a translation might have gone another way: `piece` at the step `step`, which begins `word`."""

    word: int
    step: int
    piece: int
    probability: float


def turns(
    target: Sequence[int],
    pieces: Sequence[str],
    log_probs: Floats,
    tokenizer: Tokenizer,
    each: int,
    at: str | None = None,
) -> Iterator[Turn]:
    """For every word, and for the end, the likeliest other pieces that begin a word there, or end it all.

    With `at` only where that word stands. `pieces` are those of the target, as they stand in the text.
    Shapes: log_probs [tgt + 1, vocab].
    """
    words = piece_words(pieces)
    chosen = (*target, EOS_ID)
    for word, step in _beginnings(pieces, words):
        if at is not None and not is_named(words.words[word] if word < len(words.words) else "", at):
            continue
        before = pieces[words.piece_spans[word - 1][0] if word else 0 : step]
        if not step and pieces and pieces[0].startswith(SPACE_MARK):
            before = [SPACE_MARK + "x"]  # the first word is written like all others
        others = (piece for piece in likeliest(log_probs[step], _LOOKED_AT) if piece != chosen[step])
        found = 0
        for piece in others:
            probability = float(np.exp(log_probs[step, piece]))
            if found == each or probability < (_LEAST_LIKELY if found else _NEVER):
                break
            begins = piece != tokenizer.unk_id and _begins_word(before, tokenizer.id_to_piece(piece))
            if piece == EOS_ID or begins:
                found += 1
                yield Turn(word, step, piece, probability)


def is_named(word: str, name: str) -> bool:
    """Whether somebody who types this name means the word: case and punctuation around it do not matter."""
    bare, wanted = (_AROUND.sub("", each).casefold() for each in (word, name))
    return bool(word) and (word == name or (bool(wanted) and bare == wanted))


def searched(
    engine: SteppingEngine,
    settings: SearchSettings,
    part: Part,
    target: Sequence[int],
    log_probs: Floats,
    found: Sequence[Turn],
    spelt: Target,
    progress: Progress,
) -> tuple[WhatIf, ...]:
    """Go on from every turn, in as few searches as fit; those that come back to the same translation are left out."""
    parts = [replace(part, sentence=_forced(part, target, turn), found=[]) for turn in found]
    going_on = [each for each, turn in zip(parts, found, strict=True) if turn.piece != EOS_ID]
    best = SearchSettings(**(settings.model_dump() | {"nbest": 1}))
    done = len(found) - len(going_on)
    for batch in part_batches(going_on, best, pieces=_BATCH_TOKENS, sentences=_BATCH_SENTENCES):
        sentences = [each.sentence for each in batch if each.sentence is not None]
        for each, hypotheses in zip(batch, engine.search(sentences, best), strict=True):
            each.found = hypotheses
        done += len(batch)
        progress(done, len(found))
    for each, turn in zip(parts, found, strict=True):
        if turn.piece == EOS_ID:
            each.found = [_ended(target[: turn.step], log_probs)]
    ForcedDecoder(engine).look_up_unknown(parts, spelt.tokenizer.unk_id)
    return tuple(
        _what_if(turn, each, spelt)
        for turn, each in zip(found, parts, strict=True)
        if each.found and each.found[0].pieces != list(target)
    )


def _beginnings(pieces: Sequence[str], words: WordMap) -> Iterator[tuple[int, int]]:
    """Each word that a piece begins, and the step of that piece; then the end."""
    for word, (first, end) in enumerate(words.piece_spans):
        step = first + 1 if pieces[first] == SPACE_MARK and end > first + 1 else first
        if words.word_spans[step][0] == word and (step == first or words.word_spans[first][0] == word):
            yield word, step
    yield len(words.words), len(pieces)


def _begins_word(before: Sequence[str], piece: str) -> bool:
    """Whether a piece begins a word behind these, which are those of the word before it."""
    if not join_pieces([piece]).strip():
        return False
    if not join_pieces(before).strip():
        return True
    return len(piece_words([*before, piece]).words) > len(piece_words(before).words)


def _forced(part: Part, target: Sequence[int], turn: Turn) -> Sentence:
    return Sentence(part.ids or [], [*target[: turn.step], turn.piece])


def _ended(target: Sequence[int], log_probs: Floats) -> Hypothesis:
    """A translation that ends before its time."""
    written = [*target, EOS_ID]
    return Hypothesis(list(target), float(log_probs[np.arange(len(written)), written].astype(np.float64).sum()))


def _what_if(turn: Turn, part: Part, spelt: Target) -> WhatIf:
    best = part.found[0]
    forced = "" if turn.piece == EOS_ID else join_pieces([spelt.tokenizer.id_to_piece(turn.piece)]).strip()
    score = best.log_prob / max(1, len(best.pieces) + best.is_finished)
    return WhatIf(turn.word, forced, turn.probability, spelt.text(part), score)
