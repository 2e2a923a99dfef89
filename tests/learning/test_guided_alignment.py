"""A statistical aligner finds the links of a toy language, and the supervised head of a Transformer learns them."""

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
import pytest
import torch

from dragoman.config import TrainingConfig, TransformerConfig
from dragoman.config.training import GuidedAlignmentConfig
from dragoman.data.batch import Batch
from dragoman.data.preparation.link_stage import StatisticalAligner
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.evaluation.word_alignment import GoldLinks, score_alignment
from dragoman.models import build_model
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import train_step
from testkit.toy_tasks import REVERSE, VOCABULARY, Sentence

UPDATES, BATCH = 120, 48
CONFIG = TransformerConfig(
    family="transformer", dim=48, heads=4, encoder_layers=2, decoder_layers=2, feedforward=96, dropout=0.0
)


def flat(sentences: Sequence[Sequence[int]]) -> Sentences:
    return Sentences(np.array(list(chain.from_iterable(sentences)), np.int64), np.array(list(map(len, sentences))))


def flat_pairs(pairs: Sequence[tuple[Sentence, Sentence]]) -> Pairs:
    return Pairs(flat([source for source, _ in pairs]), flat([target for _, target in pairs]))


def gold(pairs: Sequence[tuple[Sentence, Sentence]]) -> list[GoldLinks]:
    links = [frozenset((REVERSE.origin(t, len(target)), t) for t in range(len(target))) for _, target in pairs]
    return [GoldLinks(each, each) for each in links]


@pytest.fixture(scope="module")
def training() -> list[tuple[Sentence, Sentence]]:
    return list(islice(REVERSE.training(1), UPDATES * BATCH))


@pytest.fixture(scope="module")
def aligner(training: list[tuple[Sentence, Sentence]]) -> StatisticalAligner:
    return StatisticalAligner(flat_pairs(training[:1500]), (VOCABULARY, VOCABULARY))


def test_the_aligner_finds_the_links(aligner: StatisticalAligner):
    pairs = REVERSE.held_out
    found = aligner.links(flat_pairs(pairs), least=0.3)
    sides = zip(found.source.split(), found.target.split(), strict=True)
    links = [tuple(zip(source.tolist(), target.tolist(), strict=True)) for source, target in sides]
    assert score_alignment(links, gold(pairs)).aer < 0.02


def error_of_head(
    training: list[tuple[Sentence, Sentence]], links: Pairs, weight: float, *, aligns_input: bool = False
) -> float:
    """The error rate of the first head of the last layer on held-out pairs, after a short training."""
    config = TrainingConfig(
        learning_rate=4e-3, warmup_updates=20, guided_alignment=GuidedAlignmentConfig(weight=weight) if weight else None
    )
    model = build_model(CONFIG, VOCABULARY, VOCABULARY, 1)
    optimizer = build_optimizer(model, config)
    sides = [list(side.split()) for side in (links.source, links.target)]
    for update in range(UPDATES):
        rows = range(update * BATCH, (update + 1) * BATCH)
        own = Pairs(
            *(flat([(side[row] + number * aligns_input).tolist() for row in rows]) for number, side in enumerate(sides))
        )
        some = flat_pairs([training[row] for row in rows])
        batch = Batch.from_flat(Pairs(some.source, some.target, links=own), np.array(rows))
        train_step(model, optimizer, batch, config, update + 1)
    pairs = REVERSE.held_out
    batch = Batch.from_flat(flat_pairs(pairs), np.arange(len(pairs)))
    with torch.no_grad():
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, return_attention=True)
    assert decoded.alignment is not None
    best = decoded.alignment.one_map(batch.source.size(1), guided=True)[:, int(aligns_input) :].argmax(-1).tolist()
    found = [
        tuple((place, t) for t, place in enumerate(places[: len(target)]))
        for places, (_, target) in zip(best, pairs, strict=True)
    ]
    return score_alignment(found, gold(pairs)).aer


@pytest.mark.slow
@pytest.mark.parametrize("aligns_input", [False, True], ids=["predicted", "input"])
def test_the_head_learns_the_links(
    training: list[tuple[Sentence, Sentence]], aligner: StatisticalAligner, *, aligns_input: bool
):
    links = aligner.links(flat_pairs(training), least=0.3)
    assert error_of_head(training, links, 0.5, aligns_input=aligns_input) < 0.05


@pytest.mark.slow
def test_without_links_the_head_is_free(training: list[tuple[Sentence, Sentence]]):
    nothing = Pairs(*(flat([[]] * len(training)) for _ in range(2)))
    assert error_of_head(training, nothing, 0.0) > 0.3
