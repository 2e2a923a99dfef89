"""The ledger of the repository: every file is valid, and its models are found by their keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from claims.ledger.claim import Claim, Ledger, Variant
from claims.ledger.measures import MEASURES, measure
from claims.measurement.measure_model import search_texts
from claims.pool.pool_model import PoolModel, pool_models, required_searches, variant_models
from claims.report.phrases import Phrases
from dragoman.config import parse_config
from dragoman.errors import ConfigError
from tests.claims.synthetic import claim

LEDGER = Path(__file__).parents[2] / "claims"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger.read(LEDGER)


def test_every_claim_has_both_languages_and_a_rule(ledger: Ledger):
    assert len(ledger.claims) >= 8
    for each in ledger.claims:
        assert set(each.statement) == {"en", "zh"}
        assert set(each.findings) in (set(), {"en", "zh"})
        for text in (each.choose, each.unfit, *(part for old in each.earlier for part in (old.effect, old.why))):
            assert set(text) in (set(), {"en", "zh"})
        assert each.seeds >= 3
        assert all(measure(comparison.measure) for comparison in each.comparisons)


def test_every_text_of_a_claim_is_translated(ledger: Ledger):
    for each in ledger.claims:
        english, chinese = each.texts("en").model_dump(), each.texts("zh").model_dump()
        assert each.zh is not None
        assert [name for name, text in english.items() if bool(text) != bool(chinese[name])] == []
        for text in filter(None, (chinese["title"], chinese["decision"])):
            assert any("\u4e00" <= letter <= "\u9fff" for letter in text)


def test_the_introduction_has_both_languages(ledger: Ledger):
    assert set(ledger.introduction) == {"en", "zh"}


def test_names_of_comparisons_in_chinese_are_as_many_as_comparisons():
    texts = {"title": "新的优于旧的", "decision": "…", "comparisons": ["新的减旧的", "旧的减新的"]}
    with pytest.raises(ConfigError, match="must have 1 names, one per comparison, got 2"):
        Claim.model_validate(claim().model_dump() | {"zh": texts})


def test_every_unit_of_a_measure_is_translated():
    assert [each.unit for each in MEASURES.values() if each.unit == Phrases("zh").unit(each.unit)] == ["BLEU"]


def test_file_names_are_the_numbers_of_claims(ledger: Ledger):
    assert {path.stem for path in LEDGER.glob("C*.toml")} == {each.id for each in ledger.claims}


def test_models_that_several_claims_use_are_trained_once(ledger: Ledger):
    models = pool_models(ledger, ledger.claims)
    separately = [model for each in ledger.claims for model in pool_models(ledger, [each])]
    assert len({model.key for model in models}) == len(models) < len(separately)


def test_the_base_models_are_measured_with_every_search_of_their_claims(ledger: Ledger):
    claims = {each.id: each for each in ledger.claims}
    (model, *_) = variant_models(ledger, claims["C15"], claims["C15"].variants["rnn"])
    assert isinstance(model, PoolModel)
    assert {"beam-1", "beam-2", "beam-8", "keep-3", "drop-1"} <= set(required_searches(ledger, model))


def test_the_key_changes_with_the_seed_and_every_setting_but_not_with_added_defaults(ledger: Ledger):
    claims = {each.id: each for each in ledger.claims}
    first, second, *_ = variant_models(ledger, claims["C15"], claims["C15"].variants["rnn"])
    assert isinstance(first, PoolModel)
    assert isinstance(second, PoolModel)
    assert first.key != second.key
    assert first.settings == second.settings
    table = first.config.model_dump(exclude_none=True)
    explicit = PoolModel(first.base, (), parse_config(table), first.corpus_name, first.corpus, 1)
    assert explicit.key == first.key
    table["model"]["dropout"] = 0.31
    changed = PoolModel(first.base, (), parse_config(table), first.corpus_name, first.corpus, 1)
    assert changed.key != first.key


def test_an_unknown_claim_is_named_with_the_known_ones(ledger: Ledger):
    with pytest.raises(ConfigError, match="a claim must be one of C1, C2, C3"):
        ledger.claim("C99")


def test_a_folder_without_claims_is_rejected(tmp_path: Path):
    with pytest.raises(ConfigError, match="--ledger must be a folder with claims"):
        Ledger.read(tmp_path)


def test_an_invalid_claim_is_reported_with_its_file_and_setting(tmp_path: Path):
    (tmp_path / "C1.toml").write_text('id = "C1"\ntitle = 3\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"C1\.toml: .*title"):
        Ledger.read(tmp_path)


def test_a_term_must_name_a_variant():
    table = claim().model_dump()
    table["variants"] = {"new": Variant(base="x").model_dump()}
    with pytest.raises(ConfigError, match="a term must name one of the variants new, got old"):
        Claim.model_validate(table)


def test_a_claim_is_more_than_preconditions():
    values = claim().model_dump(exclude_none=True)
    values["comparisons"][0]["is_precondition"] = True
    with pytest.raises(ConfigError, match=r"C1: a comparison must decide on the claim, got preconditions only"):
        Claim.model_validate(values)


def test_an_unknown_search_is_rejected():
    with pytest.raises(ConfigError, match="search must be beam-N or one of keep-1"):
        search_texts(None, [], "beam-x")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{}, {"base": "rnn", "probe": "head-cost"}])
def test_a_variant_is_a_model_or_a_probe(given: dict[str, str]):
    with pytest.raises(ConfigError, match="either a base or a probe"):
        Variant.model_validate(given)


def test_what_follows_from_a_claim_is_on_the_page_of_mechanisms(ledger: Ledger):
    page = (LEDGER.parent / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    listed = [each for each in ledger.claims if each.choose]
    assert listed
    assert [each.id for each in listed if f"- {each.choose['en']} ({each.id})\n" not in page] == []
