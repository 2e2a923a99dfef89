"""Every claim of the repository: its searches, conditions and measures exist, and a verdict is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claims.ledger.claim import Claim, Ledger, ReportLanguage
from claims.ledger.record import MAIN_SEARCH, ModelRecord, RecordStore
from claims.ledger.verdict import ClaimVerdict, decide
from claims.measurement.attention_statistics import AttentionStatistics
from claims.measurement.probes import PROBES
from claims.measurement.word_counts import WORD_COLUMNS
from claims.pool.pool_model import PoolModel, PoolRun, pool_models, required_searches, variant_models
from dragoman.config import parse_config
from dragoman.data.batch import Batch
from dragoman.models.build import build_model
from dragoman.training import build_optimizer, train_step
from tests.claims.synthetic import SENTENCES, record

LEDGER = Ledger.read(Path(__file__).parents[2] / "claims")
CLAIMS = [pytest.param(claim, id=claim.id) for claim in LEDGER.claims]
CONDITIONS: dict[str, set[str]] = {}
SIZED: dict[str, set[str]] = {}  # conditions with several sizes
for _claim in LEDGER.claims:
    for _comparison in _claim.comparisons:
        for _term in _comparison.terms:
            _found = SIZED if _comparison.measure == "reach" else CONDITIONS
            _found.setdefault(_claim.variants[_term.variant].probe, set()).add(_term.search)

VARIANTS = {
    f"{run.base} {' '.join(run.changes)}": run
    for run in pool_models(LEDGER, LEDGER.claims)
    if isinstance(run, PoolModel) and run.seed == 1
}
LANGUAGES: tuple[ReportLanguage, ...] = ("en", "zh")
LINK_READINGS = ("diagonal", "predicted", "posterior")
SMALL = {"transformer": {"dim": 16, "feedforward": 16}, "rnn": {"embedding": 16}}


def synthetic_record(run: PoolRun, draws: np.random.Generator) -> ModelRecord:
    """A record with everything that the claims of the ledger require of a run."""
    facts = dict(record(0.6, draws, seed=run.seed).facts) | {"key": run.key}
    if not isinstance(run, PoolModel):
        names = [*CONDITIONS.get(run.base, ()), *(f"{each} 16" for each in SIZED.get(run.base, ()))]
        return ModelRecord(facts | {"samples": {name: draws.uniform(1, 2, 5).tolist() for name in names}})
    for name in required_searches(LEDGER, run):
        facts["searches"][name] = facts["searches"][MAIN_SEARCH]
    statistics = AttentionStatistics()
    statistics.add(draws.dirichlet(np.ones(6), (1, 2, 4)) for _ in range(SENTENCES))
    facts["links"] = {name: draws.integers(5, 9, (4, SENTENCES)).tolist() for name in LINK_READINGS}
    facts["test"] = facts["test"] | {"losses": draws.uniform(20, 30, (2, SENTENCES)).tolist()}
    facts["source_changes"] = draws.uniform(1, 2, (4, SENTENCES)).tolist()
    facts |= {"words": draws.integers(1, 9, (len(WORD_COLUMNS), SENTENCES)).tolist()}
    return ModelRecord(facts | {"attention": {"trained": statistics.to_json(), "untrained": statistics.to_json()}})


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_decided_from_its_records(claim: Claim):
    draws = np.random.default_rng(1)
    found = {
        name: [synthetic_record(run, draws) for run in variant_models(LEDGER, claim, variant)]
        for name, variant in claim.variants.items()
    }
    result = decide(claim, found, resamples=50)
    assert result.verdict in set(ClaimVerdict)
    assert len(result.comparisons) == len(claim.comparisons)


@pytest.mark.parametrize("claim", CLAIMS)
def test_swapped_variants_give_the_opposite_verdict(claim: Claim):
    """Control with the records of the repository: a difference that holds does not hold with its terms exchanged."""
    store = RecordStore(LEDGER.folder / "records")
    found = {
        name: [store.read(run) for run in variant_models(LEDGER, claim, variant) if store.has(run)]
        for name, variant in claim.variants.items()
    }
    for each in decide(claim, found, resamples=400).comparisons:
        comparison = each.effect.comparison
        if each.verdict != ClaimVerdict.HOLDS or comparison.rule != "difference" or comparison.smallest_effect < 0:
            continue
        terms = [term.model_copy(update={"weight": -term.weight}) for term in comparison.terms]
        changed = comparison.model_copy(update={"terms": terms, "is_precondition": False})
        swapped = claim.model_copy(update={"unfit": {}, "comparisons": [changed]})
        assert decide(swapped, found, resamples=400).verdict == ClaimVerdict.FAILS, comparison.name


def test_probes_of_claims_exist():
    assert {name for name in CONDITIONS | SIZED if name} <= set(PROBES)


def test_records_of_probes_have_every_condition_of_their_claims():
    """A misspelt condition would leave a comparison without a measurement."""
    store = RecordStore(LEDGER.folder / "records")
    runs = [run for run in pool_models(LEDGER, LEDGER.claims) if not isinstance(run, PoolModel) and store.has(run)]
    assert runs
    for run in runs:
        measured = set(store.read(run).facts["samples"])
        assert measured >= CONDITIONS.get(run.base, set()), run.base
        assert {name.rpartition(" ")[0] for name in measured} >= SIZED.get(run.base, set()), run.base


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_variant_learns_at_toy_size(name: str):
    """Thirty updates with the training step of the variant halve the loss of two sentences."""
    table = VARIANTS[name].config.model_dump(exclude_none=True)
    model = table["model"] | SMALL[table["model"]["family"]] | {"dropout": 0.0}
    if model["family"] == "rnn":
        model["encoder"] |= {"hidden": 16}
        model["decoder"] |= {"hidden": 16}
    training = table["training"] | {"schedule": "constant", "warmup_updates": 0, "learning_rate": 0.02}
    config = parse_config(table | {"model": model, "training": training})
    network = build_model(config.model, 30, 30)
    optimizer = build_optimizer(network, config.training)
    batch = Batch.from_pairs([([5, 6, 7, 8, 9], [9, 8, 7]), ([10, 11], [12, 13])])
    losses = [train_step(network, optimizer, batch, config.training, update).loss for update in range(1, 31)]
    assert losses[-1] < losses[0] / 2, losses


@pytest.mark.parametrize("claim", CLAIMS)
def test_labels_name_the_same_variants_in_both_languages(claim: Claim):
    english, chinese = (set(claim.labels.get(language, {})) for language in LANGUAGES)
    assert english == chinese
    models = {name for name, variant in claim.variants.items() if not variant.probe}
    assert english <= set(claim.variants)
    assert not english or models <= english


@pytest.mark.parametrize("claim", CLAIMS)
def test_figures_of_papers_and_findings_are_in_both_languages(claim: Claim):
    texts = [claim.texts(language) for language in LANGUAGES]
    assert len({bool(each.figure) for each in texts}) == 1
    assert len({bool(each.short_figure) for each in texts}) == 1
    assert len({language in claim.findings for language in LANGUAGES}) == 1
