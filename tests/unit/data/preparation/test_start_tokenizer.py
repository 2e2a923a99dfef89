"""Preparing data for a model that exists: its own tokenizer is used, and extended if configured."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.api.training.preparation import check_corpora, prepare_corpora
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config, parse_config
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.preparation.start_bundle import open_start_bundle, with_start_tokenizer
from dragoman.errors import BundleError, ConfigError, DataError
from dragoman.progress import NoProgress
from dragoman.text import Tokenizer, train_characters, train_sentencepiece, train_words
from testkit.random_bundle import constant_weights
from tests.unit.data.preparation.corpus import config, contents, pairs, write_pairs

MEDICAL = [
    (f"The patient number {number} has a myocardial infarction.", f"Patient {number} hat einen Myokardinfarkt: Ж.")
    for number in range(120)
]


MODEL = {"family": "transformer", "tie": "none", "dim": 4, "heads": 1, "feedforward": 4}


class Watcher(NoProgress):
    """Remembers which stages ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def begin(self, stage: str) -> None:
        self.ran.append(stage)


def learnt(kind: str, *, seed: int = 1) -> dict[str, Tokenizer]:
    rows = pairs(300, seed)
    if kind == "word":  # one a side
        source, target = (train_words([row[side] for row in rows], size=None) for side in (0, 1))
        return {"source": source, "target": target}
    text = [sentence for row in rows for sentence in row]
    joint: Tokenizer = train_characters(text)
    if kind != "character":
        joint = train_sentencepiece(text, size=380, model="bpe" if kind == "bpe" else "unigram")
    return {"source": joint, "target": joint}


def bundle(
    folder: Path, kind: str = "unigram", *, seed: int = 1, data: dict[str, Any] | None = None, **tokenizer: Any
) -> Bundle:
    kinds: dict[str, dict[str, Any]] = {
        "unigram": {},
        "bpe": {"algorithm": "bpe"},
        "word": {"kind": "word", "joint": False},
    }
    settings = kinds.get(kind, {"kind": kind}) | tokenizer
    table = {"tokenizer": settings, "model": MODEL} | ({} if data is None else {"data": data})
    written, tokenizers = parse_config(table), learnt(kind, seed=seed)
    return write_bundle(folder, written, constant_weights(written, tokenizers, seed), tokenizers, "A model.")


def starting(
    folder: Path, rows: list[tuple[str, str]], tokenizer: dict[str, Any] | None = None, **start: Any
) -> Config:
    """A configuration that starts with the bundle called base."""
    settings = config([{"files": write_pairs(folder, "train", rows)}], tokenizer)
    return parse_config(settings.model_dump(exclude_none=True) | {"model": MODEL, "start": {"bundle": "base"} | start})


def texts(prepared: PreparedData) -> list[tuple[str, ...]]:
    shards, tokenizers = prepared.shards("train"), prepared.tokenizers()
    found = shards.gather(np.arange(len(shards)))
    sides = [
        [tokenizers[side].decode(ids.tolist()) for ids in getattr(found, side).split()] for side in ("source", "target")
    ]
    return list(zip(*sides, strict=True))


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "character"])
def test_the_same_vocabulary_is_the_bundles_own(tmp_path: Path, kind: str):
    base = bundle(tmp_path / "base", kind)
    settings = starting(tmp_path, pairs(200, 2), {"size": 5000, "kind": "sentencepiece"})
    prepared = prepare_corpora(settings, tmp_path)
    own = prepared.tokenizers()
    assert own == base.tokenizers()
    assert (own["source"] is own["target"]) == (kind != "word")
    assert set(texts(prepared)) <= set(pairs(200, 2))
    assert prepared.plan(settings).corpora[0].rows == prepared.manifest["splits"]["train"]["rows"]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "character"])
def test_an_extended_vocabulary_begins_with_the_bundles(tmp_path: Path, kind: str):
    base = bundle(tmp_path / "base", kind)
    prepared = prepare_corpora(starting(tmp_path, MEDICAL, vocabulary="extend", new_tokens=12), tmp_path)
    for side, old in base.tokenizers().items():
        new = prepared.tokenizers()[side]
        assert [new.id_to_token(number) for number in range(old.size)] == [
            old.id_to_token(number) for number in range(old.size)
        ]
        assert old.size < new.size <= old.size + 12
    if kind in ("unigram", "bpe"):
        assert set(texts(prepared)) <= set(MEDICAL)
        same = prepare_corpora(starting(tmp_path, MEDICAL), tmp_path)
        tokens = [each.manifest["splits"]["train"]["tokens"]["source"] for each in (prepared, same)]
        assert tokens[0] <= (0.8 if kind == "unigram" else 1.0) * tokens[1]


@pytest.mark.parametrize("vocabulary", ["same", "extend"])
def test_running_again_does_nothing(tmp_path: Path, vocabulary: str):
    bundle(tmp_path / "base")
    settings = starting(tmp_path, MEDICAL, vocabulary=vocabulary)
    before = contents(prepare_corpora(settings, tmp_path).folder)
    watcher = Watcher()
    prepared = prepare_corpora(settings, tmp_path, progress=watcher)
    assert watcher.ran == ["hashing the files"]
    assert contents(prepared.folder) == before


@pytest.mark.parametrize("vocabulary", ["same", "extend"])
def test_another_bundle_cuts_anew(tmp_path: Path, vocabulary: str):
    bundle(tmp_path / "base")
    settings = starting(tmp_path, MEDICAL, vocabulary=vocabulary)
    before = prepare_corpora(settings, tmp_path).tokenizers()["source"]
    other = bundle(tmp_path / "base", seed=2, size=390)
    watcher = Watcher()
    prepared = prepare_corpora(settings, tmp_path, progress=watcher)
    stage = "copying the tokenizer" if vocabulary == "same" else "extending the tokenizer"
    assert watcher.ran[1:] == [stage, "writing shards"]
    assert prepared.tokenizers()["source"] != before
    assert prepared.tokenizers()["source"].size >= other.tokenizers()["source"].size


def test_text_is_normalised_as_the_bundle_has_it(tmp_path: Path):
    bundle(tmp_path / "base", normal_form="nfkc")
    rows = [(source, target.replace("Hunde", "ﬁ Hunde")) for source, target in pairs(200)]
    prepared = prepare_corpora(starting(tmp_path, rows, {"normal_form": "none"}), tmp_path)
    found = " ".join(target for _, target in texts(prepared))
    assert "fi Hunde" in found
    assert "ﬁ" not in found


def test_settings_that_matter_are_compared(tmp_path: Path):
    bundle(tmp_path / "base")
    settings = starting(tmp_path, MEDICAL)
    prepared = prepare_corpora(settings, tmp_path)
    prepared.plan(starting(tmp_path, MEDICAL, {"size": 999}, new_tokens=5))  # neither setting is compared
    prepared.plan(with_start_tokenizer(settings, open_start_bundle(settings, tmp_path)))
    with pytest.raises(DataError, match=r"of the configuration: start\.new_tokens, start\.vocabulary"):
        prepared.plan(starting(tmp_path, MEDICAL, vocabulary="extend"))
    with pytest.raises(DataError, match="of the configuration: start, tokenizer"):
        prepared.plan(config([{"files": ["train.en", "train.de"]}]))


def test_a_configuration_takes_the_bundles_tokenizer_settings(tmp_path: Path):
    plain = config([{"files": write_pairs(tmp_path, "train", MEDICAL)}])
    assert open_start_bundle(plain, tmp_path) is None
    assert with_start_tokenizer(plain, None) is plain
    base = bundle(tmp_path / "base", "word")
    settings = starting(tmp_path, MEDICAL)
    opened = open_start_bundle(settings, tmp_path)
    assert opened is not None
    assert opened.digest == base.digest
    assert with_start_tokenizer(settings, opened).tokenizer == base.config.tokenizer


def test_another_model_is_rejected_before_any_work(tmp_path: Path):
    bundle(tmp_path / "base")
    settings = starting(tmp_path, MEDICAL)
    other = settings.model_copy(update={"model": settings.model.model_copy(update={"dim": 8})})
    for work in (prepare_corpora, check_corpora):
        with pytest.raises(ConfigError, match=r"model\.dim must be 4, as in .*, got 8; use the \[model\] section"):
            work(other, tmp_path)
    assert not (tmp_path / "prepared").exists()


def test_a_bundle_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(BundleError, match="base does not exist"):
        prepare_corpora(starting(tmp_path, MEDICAL), tmp_path)


def test_check_says_what_to_do_about_unknown_text(tmp_path: Path):
    bundle(tmp_path / "base")
    rows = [(source, "Пациент здоров: " + target) for source, target in MEDICAL]
    same = check_corpora(starting(tmp_path, rows), tmp_path, measure=False)
    assert any('start.vocabulary = "same" first, then compare' in advice for advice in same.advice)
    few = check_corpora(starting(tmp_path, rows, vocabulary="extend", new_tokens=1), tmp_path, measure=False)
    assert any("raise start.new_tokens" in advice for advice in few.advice)
    assert not any("tokenizer." in advice for report in (same, few) for advice in report.advice)


@pytest.mark.slow
def test_many_pairs_are_learnt_from_in_a_process_of_their_own(tmp_path: Path):
    base = bundle(tmp_path / "base")
    rows = [
        (f"Ward {number}: infarction {number % 7}.", f"Station {number}: Infarkt {number % 7}.")
        for number in range(2500)
    ]
    prepared = prepare_corpora(starting(tmp_path, rows, vocabulary="extend", new_tokens=9), tmp_path)
    assert prepared.tokenizers()["source"].size > base.tokenizers()["source"].size
