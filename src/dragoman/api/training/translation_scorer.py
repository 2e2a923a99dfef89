"""Score greedy translations of the validation sets during training, those of each direction separately."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dragoman.api.translation.batching import batch_by_length
from dragoman.api.translation.word_alignment import word_alignment
from dragoman.config import Config
from dragoman.config.corpus import Direction
from dragoman.data.batch import Batch
from dragoman.data.batch_plan import cut_by_tokens, order_by_length
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.shards import DirectedShards
from dragoman.data.token_pairs import SIDES, Pairs
from dragoman.engines.directions import TargetPrefixEngine, directed_tokenizers, target_prefix
from dragoman.engines.protocol import Engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.evaluation.metrics.corpus_scores import bleu, chrf
from dragoman.evaluation.significance import missing_bleu_package
from dragoman.models.base import Model
from dragoman.search import Hypothesis, SearchInput, SearchSettings
from dragoman.text import ImportedTokenizer, PrefixedTokenizer, Tokenizer
from dragoman.text.tokenizers.notation import PREFIX_MARK
from dragoman.training.callbacks.events import ValidationSample, ValidationScores
from dragoman.training.validator import DirectionValidationSets, ValidationSet

_BATCH_TOKENS = 4096


class TranslationScorer:
    """Translates sentences greedily, scores them, by BLEU too if it can, and returns a few samples."""

    def __init__(
        self,
        pairs: Pairs,
        tokenizers: dict[str, Tokenizer],
        *,
        language: str,
        samples: int = 3,
        target_prefix: Sequence[int] = (),
    ) -> None:
        """`pairs` are without language tokens on the target side; `target_prefix` begins each translation."""
        self._language = language
        self._prefix = tuple(target_prefix)
        self._has_bleu = missing_bleu_package(language) is None
        self._sources, targets = ([ids.tolist() for ids in getattr(pairs, side).split()] for side in SIDES)
        self._tokenizers = tokenizers
        self._references = [tokenizers["target"].decode(ids) for ids in targets]
        # Samples of medium length fit a terminal.
        by_length = np.argsort([len(ids) for ids in self._sources], kind="stable")
        places = (np.linspace(0.3, 0.7, samples) * (len(by_length) - 1)).astype(int)
        self._shown = sorted({int(by_length[place]) for place in places})

    def __call__(self, model: Model[Any, Any], check: Callable[[], None]) -> ValidationScores:
        found = translate_greedy(model, self._sources, check=check, target_prefix=self._prefix)
        texts = [self._tokenizers["target"].decode(hypothesis.tokens) for hypothesis in found]
        scores = [chrf(texts, self._references)]
        if self._has_bleu:
            scores.insert(0, bleu(texts, self._references, language=self._language))
        some = [self._sources[row] for row in self._shown]
        shown = translate_greedy(model, some, check=check, show=True, target_prefix=self._prefix)
        return ValidationScores(
            {score.metric: score.value for score in scores},
            {score.metric: score.signature for score in scores},
            tuple(
                sample_of(self._sources[row], hypothesis, self._tokenizers, self._references[row])
                for row, hypothesis in zip(self._shown, shown, strict=True)
            ),
        )


def translate_greedy(
    model: Model[Any, Any],
    sources: Sequence[Sequence[int]],
    *,
    check: Callable[[], None],
    show: bool = False,
    target_prefix: Sequence[int] = (),
) -> list[Hypothesis]:
    """Translate greedily, in batches of similar length; `check` is called before each batch, and may raise."""
    found: dict[int, Hypothesis] = {}
    engine: Engine = TorchEngine(model)
    if target_prefix:
        engine = TargetPrefixEngine(engine, target_prefix)
    greedy = SearchSettings(beam=1)
    for rows in batch_by_length([len(source) for source in sources], tokens=_BATCH_TOKENS, sentences=_BATCH_TOKENS):
        check()
        batch = engine.search([SearchInput(sources[row]) for row in rows], greedy, return_attention=show)
        found.update((row, best) for row, (best,) in zip(rows, batch, strict=True))
    return [found[row] for row in range(len(sources))]


def sample_of(
    source: Sequence[int], hypothesis: Hypothesis, tokenizers: dict[str, Tokenizer], reference: str
) -> ValidationSample:
    """Return a translation as a sample: words, and the attention weights between them."""
    spelt = {
        side: [tokenizers[side].id_to_token(token) for token in tokens]
        for side, tokens in (("source", source), ("target", hypothesis.tokens))
    }
    reader = tokenizers["source"]
    if isinstance(reader, ImportedTokenizer | PrefixedTokenizer) and spelt["source"][:1] == [reader.prefix]:
        spelt["source"][0] = PREFIX_MARK
    aligned = word_alignment(spelt["source"], spelt["target"], hypothesis.alignment)
    source_words, target_words = aligned.labels()
    return ValidationSample(
        source=tokenizers["source"].decode(source),
        reference=reference,
        translation=tokenizers["target"].decode(hypothesis.tokens),
        source_words=source_words,
        target_words=target_words,
        weights=None if aligned.weights is None else tuple(tuple(row) for row in aligned.weights.tolist()),
    )


def direction_validation(
    prepared: PreparedData, config: Config, tokenizers: dict[str, Tokenizer]
) -> DirectionValidationSets:
    """Return a validation set for each direction that has one."""
    data = config.data
    assert data is not None
    shards = prepared.directed(config, "validation")
    assert isinstance(shards, DirectedShards)
    rows: dict[Direction, list[np.ndarray]] = {}
    first = 0
    for corpus in prepared.manifest["splits"]["validation"]["corpora"]:
        for source, target in corpus["directions"]:
            rows.setdefault((source, target), []).append(np.arange(first, first + corpus["rows"]))
            first += corpus["rows"]
    sets = {}
    for direction, parts in rows.items():
        mine = np.concatenate(parts)
        if not len(mine):
            continue
        count = min(config.training.validation_sentences // len(rows) or 1, len(mine))
        scorer = None
        if config.training.validation_sentences:
            some = mine[np.linspace(0, len(mine) - 1, count).astype(np.int64)]
            plain = shards.gather(some)
            sources = shards.with_language_tokens(plain, some).source
            scorer = TranslationScorer(
                Pairs(sources, plain.target),
                directed_tokenizers(data, direction, tokenizers),
                language=direction[1],
                samples=1,
                target_prefix=target_prefix(data, direction, tokenizers["target"]),
            )
        batches = _batches(shards, mine, config.training.batch_tokens)
        sets[":".join(direction)] = ValidationSet(batches, config.training, scorer)
    return DirectionValidationSets(sets)


def _batches(shards: DirectedShards, rows: np.ndarray, batch_tokens: int) -> list[Batch]:
    lengths = shards.lengths(rows) + 1
    order = order_by_length(lengths)
    ends = cut_by_tokens(lengths[order].max(axis=1), batch_tokens)
    cuts = [rows[order][first:end] for first, end in pairwise([0, *ends])]
    return [Batch.from_flat(shards.with_language_tokens(shards.gather(cut), cut), cut) for cut in cuts]
