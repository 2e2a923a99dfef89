"""Training of one model in six directions, from three files."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.preparation import prepare_corpora
from dragoman.api.training.training_run import train_model
from dragoman.api.translation.translator import Translator
from dragoman.config import Config, load_config, parse_config
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.saved_test_sets import load_test_sets
from dragoman.errors import ConfigError
from testkit.three_languages import LANGUAGES, make_three_languages
from testkit.tiny_project import EventRecorder, Killed, Stop, Stopper
from testkit.training_faults.project import make_project
from testkit.training_faults.run_differences import differences

SIX = {f"{one}:{other}" for one in LANGUAGES for other in LANGUAGES if one != other}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_three_languages(tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="module")
def config(project: Path) -> Config:
    return load_config(project, ["data.language_tokens=both", "training.reproducible=true"])


def prepared(project: Path) -> PreparedData:
    return PreparedData.open(project.parent / "prepared")


def test_pairs_are_stored_once_and_trained_in_both_directions(project: Path):
    settings = load_config(project)
    data = prepared(project)
    assert len(data.shards()) == 3 * 120
    assert len(data.directed(settings)) == 6 * 120
    tokenizer = data.tokenizers()["source"]
    seen: set[tuple[str, str]] = set()
    with BatchLoader.from_prepared(data, settings) as loader:
        for batch in islice(loader, 60):
            for source, target in zip(batch.source.tolist(), batch.labels.tolist(), strict=True):
                words = tokenizer.decode(target).split()
                seen.add((tokenizer.id_to_token(source[0]), _language_of(words)))
    assert {(token, language) for token, language in seen if language} == {(f"<2{each}>", each) for each in LANGUAGES}


def _language_of(words: list[str]) -> str:
    endings = {word[2:] for word in words}
    return {"": "en", "en": "de", "eau": "fr"}.get(endings.pop(), "") if len(endings) == 1 else ""


def test_scores_of_each_direction_and_their_mean(project: Path, config: Config, tmp_path: Path):
    seen = EventRecorder()
    trained = train_model(check_training(config, project.parent, tmp_path / "run"), callbacks=[seen])
    scored = seen.validations[-1].scored
    assert set(scored.directions) == SIX
    mean = sum(each["chrf"] for each in scored.directions.values()) / 6
    assert scored.scores["chrf"] == pytest.approx(mean)
    log = map(json.loads, (tmp_path / "run" / "log.jsonl").read_text("utf-8").splitlines())
    assert [set(entry["directions"]) for entry in log if "directions" in entry] == [SIX] * len(seen.validations)
    loss = sum(each["loss"] for each in scored.directions.values()) / 6
    assert seen.validations[-1].loss == pytest.approx(loss)
    names = {each.name for each in trained.scores}
    assert {"validation fr → en", "test.de de → fr", "test.de fr → de"} <= names
    kept = load_test_sets(tmp_path / "run")
    assert {each.languages for each in kept} == {("de", "fr"), ("fr", "de")}


def test_a_bundle_has_its_directions(project: Path, tmp_path: Path):
    trained = train_model(check_training(load_config(project), project.parent, tmp_path / "run"))
    assert trained.bundle is not None
    for engine in ("torch", "ctranslate2"):
        translator = Translator.open(trained.bundle, engine=engine)
        assert {":".join(each) for each in translator.directions} == SIX
        one = Translator.open(trained.bundle, engine=engine, source_language="fr", target_language="de")
        text = "baeau ceeau"
        assert one.translate(text).text == translator.translate(text, source="fr", target="de").text


@pytest.mark.parametrize("how", ["asked", pytest.param("killed", marks=pytest.mark.long)])
def test_a_stopped_run_ends_with_the_same_bits(how: str, project: Path, config: Config, tmp_path: Path):
    train_model(check_training(config, project.parent, tmp_path / "whole"))
    for update in (4, 8):
        try:
            stop = Stopper(Stop(update, how))  # type: ignore[arg-type]
            train_model(check_training(config, project.parent, tmp_path / "parts", resume=True), callbacks=[stop])
        except Killed:
            continue
    train_model(check_training(config, project.parent, tmp_path / "parts", resume=True))
    assert differences(tmp_path / "parts", tmp_path / "whole") == []


def test_a_new_language_for_a_trained_model(project: Path, tmp_path: Path):
    """The child keeps the directions of its parent, and gets a token for the new language."""
    train_model(check_training(load_config(project), project.parent, tmp_path / "parent"))
    for language, ending in (("en", ""), ("pt", "o")):
        lines = "".join(f"ba{ending} {stem}{ending}\n" for stem in ("ce", "di", "fo", "gu") * 8)
        (tmp_path / f"few.{language}").write_text(lines, encoding="utf-8")
    child = tmp_path / "child.toml"
    directions = '["en:de", "de:en", "en:fr", "fr:en", "de:fr", "fr:de", "en:pt", "pt:en"]'
    child.write_text(
        f"""
[data]
directions = {directions}
validation_pairs = 4
max_tokens = 40
[[data.train]]
files = ["few.en", "few.pt"]
languages = ["en", "pt"]
both_directions = true
[data.cleaning]
identical = false
max_similarity = 1.0
duplicates = []
leakage = "keep"
[start]
bundle = "parent/bundle"
vocabulary = "extend"
new_tokens = 4
[model]
family = "transformer"
dim = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feedforward = 32
[training]
max_updates = 2
batch_tokens = 128
threads = 1
""",
        encoding="utf-8",
    )
    config = load_config(child)
    prepare_corpora(config, tmp_path)
    trained = train_model(check_training(config, tmp_path, tmp_path / "run"))
    assert trained.bundle is not None
    translator = Translator.open(trained.bundle, engine="torch")
    assert len(translator.directions) == 8
    translator.translate("ba ce", source="en", target="pt")
    translator.translate("bao ceo", source="pt", target="fr")
    lacking = load_config(child, ['data.directions=["en:de", "de:en"]'])
    with pytest.raises(ConfigError, match="lacks en:pt, pt:en, which the corpora have; add"):
        prepare_corpora(lacking, tmp_path)


def test_a_child_must_name_languages_as_its_parent(project: Path, tmp_path: Path):
    train_model(check_training(load_config(project), project.parent, tmp_path / "parent"))
    start = [f"start.bundle={tmp_path / 'parent' / 'bundle'}"]
    other = load_config(project, [*start, "data.language_tokens=both"])
    with pytest.raises(ConfigError, match=r'data.language_tokens must be "source", as in .*, got "both"; change it'):
        prepare_corpora(other, project.parent)
    data = {"source": "en", "target": "de", "train": [{"files": ["train.en", "train.de"]}], "max_tokens": 40}
    one = parse_config(load_config(project, start).model_dump(exclude_none=True) | {"data": data})
    with pytest.raises(ConfigError, match=r'has several directions, and the configuration one; add .*"en:de", "de:en"'):
        prepare_corpora(one, project.parent)


def test_held_out_text_is_on_neither_side_of_training(project: Path, tmp_path: Path):
    config = make_three_languages(tmp_path, "data.cleaning.leakage=side")
    for language in LANGUAGES:
        train, test = (tmp_path / f"{split}.{language}" for split in ("train", "test"))
        train.write_text(train.read_text("utf-8") + test.read_text("utf-8"), encoding="utf-8")
    data = prepare_corpora(load_config(config, ["data.cleaning.leakage=side"]), tmp_path)
    held_out = {line for code in ("de", "fr") for line in (tmp_path / f"test.{code}").read_text("utf-8").splitlines()}
    tokenizer, shards = data.tokenizers()["source"], data.shards()
    pairs = shards.gather(np.arange(len(shards)))
    texts = {tokenizer.decode(ids.tolist()) for side in (pairs.source, pairs.target) for ids in side.split()}
    assert len(held_out) > 12
    assert not texts & held_out


def test_data_prepared_by_earlier_versions_are_read(tmp_path: Path):
    """Their settings lack the names that came with several directions."""
    made = make_project(tmp_path)
    manifest = tmp_path / "prepared" / "manifest.json"
    value = json.loads(manifest.read_text("utf-8"))
    for corpus in value["settings"]["data"]["train"]:
        assert not {"languages", "both_directions", "validation"} & corpus.keys()
    for name in ("directions", "language_tokens"):
        value["settings"]["data"].pop(name, None)
    manifest.write_text(json.dumps(value), encoding="utf-8")
    PreparedData.open(tmp_path / "prepared").plan(load_config(made.config))


def test_language_tokens_need_a_place_in_the_vocabulary(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"one vocabulary of SentencePiece, got word .*; leave both out of"):
        make_three_languages(tmp_path, "tokenizer.kind=word")
