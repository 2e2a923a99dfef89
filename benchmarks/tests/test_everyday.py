"""The recipe of the example models: configurations that load, a complete card, and a page."""

import argparse
import json
from pathlib import Path

import pytest

from benchmarks.everyday import __main__ as everyday
from dragoman.bundle import model_card, write_bundle
from dragoman.bundle.model_card import card_section, stated_licence
from dragoman.config import load_config
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from testkit.random_bundle import random_bundle


@pytest.mark.parametrize("name", everyday.MODELS)
def test_the_recipes_load(name: str, tmp_path: Path):
    (tmp_path / "dragoman.toml").write_text(everyday.configuration(name, tmp_path / "corpus"), encoding="utf-8")
    data = load_config(tmp_path / "dragoman.toml").data
    assert data is not None
    assert data.train[0].files == [str(tmp_path / "corpus" / f"train.en-de.{side}.gz") for side in ("en", "de")]


def test_the_card_is_complete_and_the_page_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = random_bundle(tmp_path / "made", "bahdanau2015-desk")
    card = model_card(made.config, {"updates": 7})
    exact = write_bundle(tmp_path / "exact", made.config, made.weights(), made.tokenizers(), card)
    (tmp_path / "run.json").write_text(json.dumps({"data": {"pairs": {"train": 1234}}}), encoding="utf-8")
    scores = {everyday.TEST: corpus_scores(["a b c d e"], ["a b c d e"], metrics=("bleu", "chrf"))}
    written = everyday.quantized(exact, tmp_path, tmp_path / "small", scores)
    assert everyday.size(written) < everyday.size(exact) / 3
    assert (everyday.updates(written), stated_licence(written.card())) == (7, everyday.LICENCE)
    assert "1,234 sentence pairs" in written.config.description
    assert all(each in card_section(written.card(), "Limits") for each in ("names", "long sentences", "specialised"))
    assert "| Tatoeba test | bleu | 100.00 |" in card_section(written.card(), "Scores")
    pages: list[str] = []
    monkeypatch.setattr(everyday, "write", lambda name, text, figures: pages.append(text))
    options = argparse.Namespace(threads=1, names=["everyday"], note="")
    figures = {"signatures": {"bleu": "tok:13a"}, "everyday": {"scores": {"int8": {everyday.TEST: {"bleu": 12.34}}}}}
    everyday.write_page(
        options, [["x", "1", "2", "3"]], [], {"everyday": list(everyday.SAMPLES)}, "no changes\n", figures
    )
    assert "Goal for everyday: BLEU 40 on the Tatoeba test; missed with 12.3." in pages[0]
    assert 'extends = "kim2019-ssru-desk"' in pages[0]
