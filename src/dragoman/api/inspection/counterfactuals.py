"""Counterfactual translations: force another word at one position and continue the search from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.api.inspection.step_probabilities import topk
from dragoman.api.translation.batching import batch_chunks
from dragoman.api.translation.forced_decoding import ForcedDecoder
from dragoman.api.translation.postprocessor import Postprocessor
from dragoman.api.translation.prepared_text import Chunk
from dragoman.config.search import SearchSettings
from dragoman.engines.incremental import IncrementalEngine
from dragoman.inspection.result import Counterfactual
from dragoman.search.decoding_protocol import Floats
from dragoman.search.hypothesis import Hypothesis, SearchInput
from dragoman.text import EOS_ID, Tokenizer, map_words
from dragoman.text.tokenizers.notation import SPACE_MARK, join_tokens
from dragoman.text.words import WordMap

__all__ = ["Branch", "Progress", "continue_branches", "find_branches", "matches_word"]

_AROUND = re.compile(r"^[\W_]+|[\W_]+$")
_MAX_TOKENS = 64  # most likely tokens per step that are considered; most of the others do not begin a word
_MIN_PROBABILITY = 0.001  # of all but the first branch of a word
_MIN_FIRST_PROBABILITY = 1e-12
_BATCH_TOKENS = 4096
_BATCH_SENTENCES = 16  # small, so that progress is reported often; larger batches are not faster

Progress = Callable[[int, int], None]
"""Receives the number of words tried and their total."""


@dataclass(frozen=True)
class Branch:
    """Another token that could begin the target word `word`, or the end, at the step `step`."""

    word: int
    step: int
    token: int
    probability: float


def find_branches(
    target: Sequence[int],
    tokens: Sequence[str],
    log_probs: Floats,
    tokenizer: Tokenizer,
    each: int,
    at: str | None = None,
) -> Iterator[Branch]:
    """Yield for every word, and for the end, the most likely other tokens that begin a word or end the translation.

    With `at` only at that word. `tokens` are the target tokens as spelt in the text, `each` the maximum per word.
    Shapes: log_probs [tgt + 1, vocab].
    """
    words = map_words(tokens)
    chosen = (*target, EOS_ID)
    for word, step in _beginnings(tokens, words):
        if at is not None and not matches_word(words.words[word] if word < len(words.words) else "", at):
            continue
        before = tokens[words.token_spans[word - 1][0] if word else 0 : step]
        if not step and tokens and tokens[0].startswith(SPACE_MARK):
            before = [SPACE_MARK + "x"]  # the first word is written like all others
        others = (token for token in topk(log_probs[step], _MAX_TOKENS) if token != chosen[step])
        found = 0
        for token in others:
            probability = float(np.exp(log_probs[step, token]))
            if found == each or probability < (_MIN_PROBABILITY if found else _MIN_FIRST_PROBABILITY):
                break
            begins = token != tokenizer.unk_id and _begins_word(before, tokenizer.id_to_token(token))
            if token == EOS_ID or begins:
                found += 1
                yield Branch(word, step, token, probability)


def matches_word(word: str, name: str) -> bool:
    """Whether a name matches a word; case and punctuation around the word are ignored."""
    bare, wanted = (_AROUND.sub("", each).casefold() for each in (word, name))
    return bool(word) and (word == name or (bool(wanted) and bare == wanted))


def continue_branches(
    engine: IncrementalEngine,
    settings: SearchSettings,
    chunk: Chunk,
    target: Sequence[int],
    log_probs: Floats,
    branches: Sequence[Branch],
    postprocessor: Postprocessor,
    progress: Progress,
) -> tuple[Counterfactual, ...]:
    """Continue the search from every branch, in batches; results that equal the translation are left out."""
    chunks = [replace(chunk, search_input=_search_input(chunk, target, branch), hypotheses=[]) for branch in branches]
    pending = [each for each, branch in zip(chunks, branches, strict=True) if branch.token != EOS_ID]
    best = SearchSettings(**(settings.model_dump() | {"nbest": 1}))
    done = len(branches) - len(pending)
    for batch in batch_chunks(pending, best, tokens=_BATCH_TOKENS, sentences=_BATCH_SENTENCES):
        sentences = [each.search_input for each in batch if each.search_input is not None]
        for each, hypotheses in zip(batch, engine.search(sentences, best), strict=True):
            each.hypotheses = hypotheses
        done += len(batch)
        progress(done, len(branches))
    for each, branch in zip(chunks, branches, strict=True):
        if branch.token == EOS_ID:
            each.hypotheses = [_ended(target[: branch.step], log_probs)]
    ForcedDecoder(engine).align_unknown(chunks, postprocessor.tokenizer.unk_id)
    return tuple(
        _counterfactual(branch, each, postprocessor)
        for branch, each in zip(branches, chunks, strict=True)
        if each.hypotheses and each.hypotheses[0].tokens != list(target)
    )


def _beginnings(tokens: Sequence[str], words: WordMap) -> Iterator[tuple[int, int]]:
    """Yield each word that begins with a token, and the step of that token; then the end."""
    for word, (first, end) in enumerate(words.token_spans):
        step = first + 1 if tokens[first] == SPACE_MARK and end > first + 1 else first
        if words.word_spans[step][0] == word and (step == first or words.word_spans[first][0] == word):
            yield word, step
    yield len(words.words), len(tokens)


def _begins_word(before: Sequence[str], token: str) -> bool:
    """Whether a token begins a new word after the tokens `before` of the previous word."""
    if not join_tokens([token]).strip():
        return False
    if not join_tokens(before).strip():
        return True
    return len(map_words([*before, token]).words) > len(map_words(before).words)


def _search_input(chunk: Chunk, target: Sequence[int], branch: Branch) -> SearchInput:
    return SearchInput(chunk.ids or [], [*target[: branch.step], branch.token])


def _ended(target: Sequence[int], log_probs: Floats) -> Hypothesis:
    """Return the hypothesis that ends after these tokens."""
    written = [*target, EOS_ID]
    return Hypothesis(list(target), float(log_probs[np.arange(len(written)), written].astype(np.float64).sum()))


def _counterfactual(branch: Branch, chunk: Chunk, postprocessor: Postprocessor) -> Counterfactual:
    best = chunk.hypotheses[0]
    forced = "" if branch.token == EOS_ID else join_tokens([postprocessor.tokenizer.id_to_token(branch.token)]).strip()
    score = best.log_prob / max(1, len(best.tokens) + best.is_finished)
    return Counterfactual(branch.word, forced, branch.probability, postprocessor.text(chunk), score)
