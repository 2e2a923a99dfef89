"""Controls on a small task that is really trained: identical variants do not hold, and a real difference does."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from claims.ledger.claim import Claim
from claims.ledger.record import ModelRecord
from claims.ledger.verdict import ClaimVerdict, decide
from claims.measurement.recall_task import RecallModel, recall_batch
from tests.claims.synthetic import claim

TEST = 60


def trained(seed: int, updates: int) -> ModelRecord:
    """Recall over one symbol after some updates: whether each of the test sequences is answered right."""
    torch.manual_seed(seed)
    model = RecallModel("rnn", 8)
    draws = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(updates):
        inputs, answers = recall_batch(1, 16, draws)
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), answers).backward()
        optimizer.step()
    inputs, answers = recall_batch(1, TEST, torch.Generator().manual_seed(0))
    with torch.inference_mode():
        right = (model(inputs).argmax(-1) == answers).float().tolist()
    facts = {"name": str(seed), "key": f"{seed}-{updates}", "seed": seed, "samples": {"x": right}}
    return ModelRecord(facts | {"training": {"cpu_seconds": 1.0}})


def share_claim(*, swapped: bool = False) -> Claim:
    """A claim that the variant "new" answers more questions right."""
    given = claim(swapped=swapped, least=0.05)
    terms = [term.model_copy(update={"search": "x"}) for term in given.comparisons[0].terms]
    comparison = given.comparisons[0].model_copy(update={"measure": "share", "terms": terms})
    return given.model_copy(update={"comparisons": [comparison]})


@pytest.mark.slow
def test_identical_variants_do_not_hold_in_20_of_20_trials():
    for trial in range(20):
        new, old = ([trained(100 * trial + first + seed, 15) for seed in range(3)] for first in (0, 10))
        verdict = decide(share_claim(), {"new": new, "old": old}, resamples=400).verdict
        assert verdict in (ClaimVerdict.FAILS, ClaimVerdict.OPEN), trial


def test_a_trained_model_is_better_than_an_untrained_one_and_not_the_reverse():
    found = {"new": [trained(seed, 150) for seed in (1, 2, 3)], "old": [trained(seed, 0) for seed in (1, 2, 3)]}
    assert decide(share_claim(), found).verdict == ClaimVerdict.HOLDS
    assert decide(share_claim(swapped=True), found).verdict == ClaimVerdict.FAILS
