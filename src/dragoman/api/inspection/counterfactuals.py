"""Counterfactual translations: force another target word, continue the search; probabilities of each step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.api.translation.batching import batch_chunks
from dragoman.api.translation.forced_decoding import ForcedDecoder
from dragoman.api.translation.postprocessor import Postprocessor
from dragoman.api.translation.prepared_text import Chunk
from dragoman.config.search import SearchSettings
from dragoman.engines.protocol import Engine, IncrementalEngine
from dragoman.errors import ConfigError
from dragoman.inspection.result import Candidate, Counterfactual
from dragoman.search.decoding_protocol import Floats
from dragoman.search.hypothesis import Hypothesis, SearchInput
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, Tokenizer, map_words
from dragoman.text.tokenizers.notation import SPACE_MARK, join_tokens
from dragoman.text.words import WordMap

_MAX_TOKENS = 64  # most likely tokens per step that are considered; most of the others do not begin a word
_MIN_PROBABILITY = 0.001  # of all but the first branch of a word
_MIN_FIRST_PROBABILITY = 1e-12
_BATCH_TOKENS = 4096
_BATCH_SENTENCES = 16  # small, so that progress is reported often; larger batches are not faster

Progress = Callable[[int, int], None]
"""Receives the number of words tried and their total."""


def require_incremental(engine: Engine) -> IncrementalEngine:
    """Return the engine if it runs one step at a time; raise `ConfigError` otherwise."""
    if not isinstance(engine, IncrementalEngine):
        raise ConfigError(
            f"engine must run one step at a time, got {engine.name}, which does not; open the translator with "
            "engine='torch'"
        )
    return engine


def step_log_probs(engine: IncrementalEngine, source: Sequence[int], target: Sequence[int]) -> Floats:
    """Decode a given translation, token ids without specials, and its end. Shapes: -> [tgt + 1, vocab]."""
    state = engine.start([source], False)
    rows = []
    for token in (BOS_ID, *target):
        output = state.step(np.array([token], np.int64))
        state = output.next_state
        rows.append(output.log_probs[0].copy())
    log_probs: Floats = np.stack(rows)
    log_probs[:, [PAD_ID, BOS_ID]] = -np.inf  # no search ever writes them
    return log_probs


def topk(log_probs: Floats, most: int) -> list[int]:
    """Return the ids of the most likely tokens, the most likely first. Shapes: log_probs [vocab]."""
    most = min(most, log_probs.size)
    found = np.argpartition(-log_probs, most - 1)[:most]
    ordered: list[int] = found[np.lexsort((found, -log_probs[found]))].tolist()
    return ordered


def step_candidates(
    log_probs: Floats, target: Sequence[int], tokenizer: Tokenizer, most: int
) -> tuple[tuple[Candidate, ...], ...]:
    """Return the most likely tokens of every step, and that of the translation. Shapes: log_probs [tgt + 1, vocab]."""
    steps = []
    for row, chosen in zip(log_probs, (*target, EOS_ID), strict=True):
        found = topk(row, most)
        if chosen not in found:
            found.append(chosen)
        steps.append(tuple(Candidate(tokenizer.id_to_token(each), float(np.exp(row[each]))) for each in found))
    return tuple(steps)


@dataclass(frozen=True)
class Branch:
    """Another token that could begin the target word `word`, or the end, at the step `step`."""

    word: int
    step: int
    token: int
    probability: float


def find_branches(
    target: Sequence[int], tokens: Sequence[str], log_probs: Floats, tokenizer: Tokenizer, each: int
) -> Iterator[Branch]:
    """Yield for every word, and for the end, the most likely other tokens that begin a word or end the translation.

    `tokens` are the target tokens as spelt in the text, `each` the maximum per word.
    Shapes: log_probs [tgt + 1, vocab].
    """
    words = map_words(tokens)
    chosen = (*target, EOS_ID)
    for word, step in _beginnings(tokens, words):
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


def continue_branches(
    decoder: ForcedDecoder,
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
        for each, hypotheses in zip(batch, decoder.engine.search(sentences, best), strict=True):
            each.hypotheses = hypotheses
        done += len(batch)
        progress(done, len(branches))
    for each, branch in zip(chunks, branches, strict=True):
        if branch.token == EOS_ID:
            each.hypotheses = [_ended(target[: branch.step], log_probs)]
    decoder.complete_alignments(chunks, postprocessor.tokenizer.unk_id)
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
    return Counterfactual(branch.word, forced, branch.probability, postprocessor.texts(chunk)[0], score)
