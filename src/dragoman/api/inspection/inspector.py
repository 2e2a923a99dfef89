"""Inspect the translation of a sentence: attention weights, candidate tokens, scores, search tree.

Tokens are spelt as in the vocabulary: ``▁`` is the space before a word, and ``</s>`` the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.api.inspection.counterfactuals import (
    Progress,
    continue_branches,
    find_branches,
    require_incremental,
    step_candidates,
    step_log_probs,
)
from dragoman.api.translation.forced_decoding import ForcedDecoder
from dragoman.api.translation.prepared_text import Chunk
from dragoman.api.translation.preprocessor import check_texts
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.config.schema import aligns_input, has_guided_alignment
from dragoman.config.search import SearchSettings
from dragoman.engines.protocol import AttentionEngine, IncrementalEngine
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.result import BeamNode, Counterfactual, InspectionResult
from dragoman.search.decoding_protocol import Floats
from dragoman.search.hypothesis import TraceNode
from dragoman.text import EOS_ID, SPECIALS, Tokenizer, map_words, merge_token_weights
from dragoman.text.characters import has_letters
from dragoman.text.sentences import split_sentences
from dragoman.text.words import WordMap

_CANDIDATES = 8  # per step
_END = SPECIALS[EOS_ID]


def inspect_sentence(
    translator: Translator,
    text: str,
    *,
    target: str | None = None,
    prefix: str = "",
    counterfactuals: int = 3,
    search_tree: bool = True,
    progress: Progress | None = None,
) -> InspectionResult:
    """Inspect the translation of one sentence, or with `target` a given one; it must begin with `prefix`.

    Requires an engine that runs one step at a time. Torch provides every layer and head; other engines, and ensembles,
    one attention map. At each word `counterfactuals` other words are tried. A given or sampled
    translation has no search tree. `progress` receives the number of words tried and their total.
    """
    inspector = _Inspector(translator, counterfactuals, progress)
    check_texts([text] if target is None else [text, target])
    if target is not None:
        if prefix:
            raise ConfigError("a prefix and a translation cannot be given together; drop one of them")
        return inspector.given(text, target)
    results = inspector.translated(text, prefix, search_tree=search_tree)
    if len(results) > 1:
        raise DataError(f"the sentence is too long for one search: it was cut into {len(results)} parts; split it")
    return results[0]


def inspect_text(
    translator: Translator,
    text: str,
    *,
    prefix: str = "",
    counterfactuals: int = 3,
    search_tree: bool = True,
    progress: Progress | None = None,
    on_skip: Callable[[str], None] | None = None,
) -> list[InspectionResult]:
    """Inspect the translations of all sentences with letters; the first must begin with `prefix`."""
    inspector = _Inspector(translator, counterfactuals, progress)
    sentences = [each for each, _ in split_sentences(text, translator.languages[0] or "en") if each.strip()]
    with_letters = [each for each in sentences if has_letters(each)]
    if with_letters and on_skip is not None:
        for each in sentences:
            if not has_letters(each):
                on_skip(each)
    results: list[InspectionResult] = []
    for each in with_letters or [text]:
        results += inspector.translated(each, prefix, search_tree=search_tree)
        prefix = ""
    return results


def attention_shape(translator: Translator) -> tuple[int, int]:
    """Return the number of layers with attention, and of heads per layer; 0 and 0 for a model without attention."""
    inspector = _Inspector(translator, 0)
    layers, heads = _maps(inspector.engine, _TokenPair(translator.preprocessor.sentence("a"), [], [], [])).shape[:2]
    return layers, heads


@dataclass(frozen=True)
class _TokenPair:
    """A pair as token ids, and as tokens spelt as in the texts, unknown ones included."""

    chunk: Chunk
    target: list[int]
    source_tokens: list[str]
    target_tokens: list[str]

    @property
    def source(self) -> list[int]:
        return self.chunk.ids or []


class _Inspector:
    def __init__(self, translator: Translator, counterfactuals: int, progress: Progress | None = None) -> None:
        if counterfactuals < 0:
            raise ConfigError(f"counterfactuals must be at least 0, got {counterfactuals}; 0 tries no other word")
        if not translator.bundles:
            raise ConfigError(
                "this translator was not opened from a bundle, and cannot be inspected; open it with Translator.open"
            )
        self.translator, self.engine = translator, require_incremental(translator.engine)
        self.decoder = ForcedDecoder(self.engine, aligns_input=aligns_input(translator.bundles[0].config.model))
        self.source, self.target = translator.preprocessor, translator.postprocessor
        self.counterfactuals, self.progress = counterfactuals, progress

    def given(self, text: str, target: str) -> InspectionResult:
        (scored,) = self.translator.score([text], [target], flags=True)
        tokenized = self.target.tokenize(target)
        chunk = self.source.sentence(text)
        source_tokens = self.source.tokenizer.tokens(chunk.normalized)
        pair = _TokenPair(chunk, tokenized.ids, source_tokens, tokenized.tokens)
        return self._result(scored, pair, search="given translation")

    def translated(self, text: str, prefix: str, *, search_tree: bool) -> list[InspectionResult]:
        """Inspect the translation of a sentence; a sentence that is too long for one search gives several results."""
        if not has_letters(text):
            raise DataError(f"a text must have letters to be translated, got {text[:60]!r}; give it a word")
        settings = self.translator.search_settings
        has_tree = search_tree and not settings.sample and settings.search == "beam"
        translation = self.translator.translate(
            text, split_sentences=False, prefix=prefix, flags=True, search_tree=has_tree, nbest=1
        )
        search = _describe_search(self.translator.search_settings)
        sentences = translation.sentences or (translation,)
        return [self._result(each, self._token_pair(each), search=search) for each in sentences]

    def _token_pair(self, translation: Translation) -> _TokenPair:
        chunk = self.source.sentence(translation.source)
        tokenizer = self.target.tokenizer
        ids = [tokenizer.token_to_id(token) for token in translation.tokens]
        spelt, surfaces = list(translation.tokens), self.source.tokenizer.tokens(chunk.normalized)
        if tokenizer.unk_id in ids:
            (scored,) = self.decoder.score([(chunk.ids or [], ids)], show=True)
            spelt = list(self.target.spelt_tokens(scored, surfaces, spelt))
        return _TokenPair(chunk, ids, surfaces, spelt)

    def _result(self, translation: Translation, pair: _TokenPair, *, search: str) -> InspectionResult:
        log_probs = step_log_probs(self.engine, pair.source, pair.target)
        words = map_words(pair.target_tokens)
        source_words = map_words([*pair.source_tokens, _END])
        maps = _maps(self.engine, pair)
        target_words = map_words([*pair.target_tokens, _END])
        tokenizer = self.target.tokenizer
        is_guided = has_guided_alignment(self.translator.bundles[0].config.model)
        return InspectionResult(
            source=translation.source,
            translation=translation.text,
            source_words=source_words.words[:-1],
            target_words=words.words,
            tokens=tuple(map(tokenizer.id_to_token, pair.target)),
            token_words=words.word_of,
            candidates=step_candidates(log_probs, pair.target, tokenizer, _CANDIDATES),
            predicted=merge_token_weights(maps, source_words, target_words),
            given=merge_token_weights(maps[..., 1:, :], source_words, words),
            steps=merge_token_weights(maps, source_words, _one_word_per_token(len(pair.target) + 1)),
            default_layer=max(maps.shape[0] - (1 if is_guided else 2), 0),
            score=translation.log_prob / max(1, len(pair.target) + (not translation.is_truncated)),
            tree=beam_nodes(translation.tree or (), pair.target, tokenizer),
            counterfactuals=self._counterfactuals(pair, log_probs),
            flags=tuple(f"{flag.name}: {flag.detail}" for flag in translation.flags or ()),
            model=f"{_describe_model(self.translator)}, {search}",
        )

    def _counterfactuals(self, pair: _TokenPair, log_probs: Floats) -> tuple[Counterfactual, ...]:
        if not self.counterfactuals:
            return ()
        tokenizer = self.target.tokenizer
        branches = list(find_branches(pair.target, pair.target_tokens, log_probs, tokenizer, self.counterfactuals))
        progress = self.progress or (lambda done, count: None)
        search = self.translator.search_settings
        return continue_branches(
            self.decoder, search, pair.chunk, pair.target, log_probs, branches, self.target, progress
        )


def _maps(engine: IncrementalEngine, pair: _TokenPair) -> NDArray[np.float32]:
    """Return all attention maps. Shapes: -> [layers, heads, tgt + 1, src + 1], 0 layers without attention."""
    if isinstance(engine, AttentionEngine):
        (maps,) = engine.attention([pair.source], [pair.target])
    else:
        one = engine.score([pair.source], [pair.target], return_attention=True)[0].alignment
        maps = None if one is None else one[np.newaxis, np.newaxis]
    if maps is None:
        return np.zeros((0, 0, len(pair.target) + 1, len(pair.source) + 1), np.float32)
    return maps


def _one_word_per_token(tokens: int) -> WordMap:
    places = tuple(range(tokens))
    spans = tuple((place, place + 1) for place in places)
    return WordMap(("",) * tokens, places, spans, spans, (False,) * tokens)


def _describe_model(translator: Translator) -> str:
    """Return the model, its size and its engine in one line."""
    engine, bundles = translator.engine, translator.bundles
    size = sum(bundle.manifest["files"]["weights.safetensors"]["size"] for bundle in bundles)
    family = bundles[0].config.model.family if len(bundles) == 1 else f"ensemble of {len(bundles)}"
    return f"{family}, {size / 1e6:.1f} MB, {engine.name} {engine.precision}"


def _describe_search(settings: SearchSettings) -> str:
    if settings.sample or settings.search == "mbr":
        return "sampling" if settings.sample else "MBR"
    return f"beam {settings.beam}" if settings.beam > 1 else "greedy"


def beam_nodes(nodes: Sequence[TraceNode], target: Sequence[int], tokenizer: Tokenizer) -> tuple[BeamNode, ...]:
    """Return the nodes of a search with their tokens; those of the translation `target` are marked."""
    best = _best_path(nodes, target)
    return tuple(
        BeamNode(
            node.parent,
            tokenizer.id_to_token(node.token),
            node.step,
            node.rank,
            node.log_prob,
            node.is_end,
            number in best,
        )
        for number, node in enumerate(nodes)
    )


def _best_path(nodes: Sequence[TraceNode], target: Sequence[int]) -> set[int]:
    """Return the indices of the nodes of a translation, of the first group of a beam that reached its end."""
    matches: list[bool] = []
    last = -1
    for number, node in enumerate(nodes):
        follows = node.parent < 0 or matches[node.parent]
        is_next = node.token == (*target, EOS_ID)[node.step] if node.step <= len(target) else False
        matches.append(follows and is_next)
        if matches[-1] and (last < 0 or node.step > nodes[last].step):
            last = number
    path: set[int] = set()
    while last >= 0:
        path.add(last)
        last = nodes[last].parent
    return path
