"""Opened translations of tiny models: every family, what was searched for and what was given."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.api.inspection import inspector
from dragoman.api.inspection.inspector import attention_shape, inspect_sentence, inspect_text
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.api.translation.word_alignment import WordAlignment
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config
from dragoman.config.alignment import AttentionChoice
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.result import InspectionResult
from dragoman.models import build_model
from dragoman.search.hypothesis import Hypothesis, SearchInput
from dragoman.text import Tokenizer, train_characters, train_sentencepiece, train_words
from dragoman.text.tokenizers.notation import join_tokens
from testkit.presets import tiny_config
from tests.unit.api.table_engine import TEXT, table_translator

_FOLDER = tempfile.TemporaryDirectory(prefix="dragoman-inspected-")
FAMILIES = ["vaswani2017-desk", "bahdanau2015-desk", "luong2015-local-p-desk", "sutskever2014-desk"]
SOURCE = "the house is small"
KINDS = {
    "sentencepiece": lambda: train_sentencepiece(TEXT, size=340),
    "word": lambda: train_words(TEXT, size=None),
    "character": lambda: train_characters(TEXT),
}


@functools.cache
def tokenizer_of(kind: str) -> Tokenizer:
    return KINDS[kind]()


@functools.cache
def bundle_of(name: str, kind: str, seed: int = 3) -> Bundle:
    tokenizer = tokenizer_of(kind)
    model_config = tiny_config(name)
    model = build_model(model_config, tokenizer.size, tokenizer.size, seed=seed)
    with torch.no_grad():
        for values in model.parameters():
            values.mul_(1.5)  # fresh weights are so small that all translations are similar
        for each, values in model.decoder.output.named_parameters():
            if each.endswith("bias") and kind == "sentencepiece":
                values[slice(4, 260)] -= 100  # bytes, or nearly all would be noise
                values[tokenizer.unk_id] -= 100
    config = Config.model_validate({"model": model_config.model_dump(), "tokenizer": {"kind": kind}})
    weights = {each: values.detach().numpy() for each, values in model.named_parameters()}
    folder = Path(_FOLDER.name) / f"{name.split(maxsplit=1)[0]}-{kind}-{seed}"
    return write_bundle(folder, config, weights, {"source": tokenizer, "target": tokenizer}, "A model.")


def opened(name: str = "vaswani2017-desk", kind: str = "sentencepiece", **options: Any) -> Translator:
    settings = SearchSettings(**{"beam": 3, "max_length": 9, **options})
    return Translator.open(bundle_of(name, kind), engine="torch", threads=1, search=settings)


def between(words: WordAlignment) -> NDArray[np.float64]:
    assert words.weights is not None
    return words.weights


def check_shapes(found: InspectionResult) -> None:
    source, target = len(found.source_words), len(found.target_words)
    assert found.predicted.shape[2:] == (target + 1, source + 1)
    assert found.given.shape == (*found.predicted.shape[:2], target, source + 1)
    assert found.steps.shape == (*found.predicted.shape[:2], len(found.tokens) + 1, source + 1)
    assert len(found.tokens) == len(found.token_words)
    assert list(found.token_words) == sorted(found.token_words)
    assert len(found.candidates) == len(found.tokens) + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_all_that_is_shown_fits_together(name: str, kind: str):
    translator = opened(name, kind)
    found = inspect_sentence(translator, SOURCE)
    check_shapes(found)
    plain = translator.translate([SOURCE], alignment=True, flags=True, split_sentences=False)[0]
    assert (found.source, found.translation) == (SOURCE, plain.text)
    assert (found.source_words, found.target_words) == (plain.source_words, plain.target_words)
    assert found.tokens == plain.tokens
    assert found.score == pytest.approx(plain.log_prob / (len(plain.tokens) + (not plain.is_truncated)))
    assert found.flags == tuple(f"{flag.name}: {flag.detail}" for flag in plain.flags or ())
    assert found.has_attention == (name != "sutskever2014-desk")
    assert found.model.endswith("torch float32, beam 3")


@pytest.mark.parametrize("name", FAMILIES)
def test_candidates_are_probabilities_and_what_was_written_is_among_them(name: str):
    translator = opened(name)
    found = inspect_sentence(translator, SOURCE, counterfactuals=0)
    for candidates, token in zip(found.candidates, (*found.tokens, "</s>"), strict=True):
        shares = [candidate.probability for candidate in candidates]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1 + 1e-5
        assert token in [candidate.text for candidate in candidates]
        assert not {"<pad>", "<s>"} & {candidate.text for candidate in candidates}
    written = [
        next(each.probability for each in candidates if each.text == token)
        for candidates, token in zip(found.candidates, (*found.tokens, "</s>"), strict=True)
    ]
    forced = translator.engine.score(
        [translator.bundles[0].tokenizers()["source"].encode(SOURCE)],
        [[translator.bundles[0].tokenizers()["target"].token_to_id(token) for token in found.tokens]],
    )[0]
    assert np.log(written).sum() == pytest.approx(forced.log_prob, abs=1e-4)


def test_maps_are_those_of_attention():
    translator = opened()
    target = "das Haus ist klein"
    found = inspect_sentence(translator, SOURCE, target=target, counterfactuals=0)
    assert found.model.endswith("torch float32, given translation")
    (attention,) = translator.attention([SOURCE], [target])
    for layer in range(attention.layers):
        for head in range(attention.heads):
            choice = AttentionChoice(layer + 1, head + 1)
            np.testing.assert_allclose(found.predicted[layer, head], between(attention.words(choice)), atol=1e-6)
            choice = AttentionChoice(layer + 1, head + 1, "input")
            np.testing.assert_allclose(found.given[layer, head], between(attention.words(choice)), atol=1e-6)
    np.testing.assert_allclose(found.predicted[found.default_layer].mean(0), between(attention.words()), atol=1e-6)
    np.testing.assert_allclose(found.predicted.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(found.steps.sum(-1), 1, atol=1e-5)
    for word in range(len(found.target_words)):
        mine = [step for step, each in enumerate(found.token_words) if each == word]
        np.testing.assert_allclose(found.steps[:, :, mine].mean(2), found.predicted[:, :, word], atol=1e-6)
    np.testing.assert_allclose(found.steps[:, :, -1], found.predicted[:, :, -1], atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"beam": 4, "groups": 2, "diversity": 0.3}])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_best_path_of_the_tree_spells_the_translation(name: str, options: dict[str, Any]):
    found = inspect_sentence(opened(name, **options), SOURCE, counterfactuals=0)
    path = [node for node in found.tree if node.is_best]
    ended = [node for node in path if node.is_end]
    assert [node.text for node in path if not node.is_end] == list(found.tokens)
    assert len(ended) == (found.tree[-1].step < 8 or bool(ended))
    for before, after in zip([None, *path], path, strict=False):
        assert after.parent == (-1 if before is None else found.tree.index(before))
    if ended:
        assert ended[0].log_prob / (len(found.tokens) + 1) == pytest.approx(found.score, abs=1e-4)


def test_unknown_words_come_from_the_next_step_if_a_head_aligns_inputs(monkeypatch: pytest.MonkeyPatch):
    translator = opened("vaswani2017-desk", "word")
    unknown, rows = translator.bundles[0].tokenizers()["target"].unk_id, np.eye(4, 5, dtype=np.float32)
    scored = Hypothesis([unknown] * 3, 0.0, rows)
    monkeypatch.setattr(translator.engine, "score", lambda *_, **__: [scored])
    spelt = []
    for is_later in (False, True):
        monkeypatch.setattr(inspector, "aligns_input", lambda _, found=is_later: found)
        inspecting = inspector._Inspector(translator, 0, None)
        pair = inspecting._token_pair(Translation(SOURCE, "", 0.0, 0.0, ("<unk>",) * 3))
        spelt.append([token.strip("▁") for token in pair.target_tokens])
    words = SOURCE.split()
    assert spelt == [words[:3], words[1:]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_forced_word_stands_where_it_was_forced(name: str, kind: str):
    translator = opened(name, kind)
    found = inspect_sentence(translator, SOURCE, counterfactuals=2, search_tree=False)
    assert found.counterfactuals
    assert found.tree == ()
    for other in found.counterfactuals:
        assert 0 <= other.word <= len(found.target_words)
        assert 0 < other.probability < 1
        assert other.translation != found.translation or kind == "sentencepiece"
        read = inspect_sentence(translator, SOURCE, target=other.translation or "x", counterfactuals=0)
        assert read.target_words[: other.word] == found.target_words[: other.word]
        if other.forced:
            assert read.target_words[other.word].startswith(other.forced[:1])
        else:
            assert len(read.target_words) == other.word or not other.word
    places = [other.word for other in found.counterfactuals]
    assert places == sorted(places)
    assert max(map(places.count, places)) <= 2


@pytest.mark.parametrize("name", FAMILIES)
def test_what_comes_of_a_word_is_what_the_search_finds_behind_it(name: str):
    translator = opened(name)
    found = inspect_sentence(translator, SOURCE, counterfactuals=3)
    tokenizer = translator.bundles[0].tokenizers()["target"]
    source, target = tokenizer.encode(SOURCE), [tokenizer.token_to_id(token) for token in found.tokens]
    (best,) = translator.engine.search([SearchInput(source)], translator.search_settings)[0]
    assert best.tokens == target, "nothing forced, the same translation"
    for other in found.counterfactuals:
        if other.word == 0 and other.forced:
            begun = {tokenizer.token_to_id(mark + other.forced) for mark in ("", "▁")} - {tokenizer.unk_id}
            alone = [
                translator.engine.search([SearchInput(source, [one])], translator.search_settings)[0][0]
                for one in begun
            ]
            assert other.translation in [tokenizer.decode(each.tokens) for each in alone]


def test_a_prefix():
    translator = opened()
    found = inspect_sentence(translator, SOURCE, prefix="das Haus", counterfactuals=0)
    assert found.translation == translator.translate(SOURCE, prefix="das Haus").text
    assert found.translation.startswith("das Haus")
    assert "".join(node.text for node in found.tree if node.is_best).startswith("▁das")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_translation_that_is_given(name: str):
    translator = opened(name)
    target = "ein kleines Haus 你好。"
    found = inspect_sentence(translator, SOURCE, target=target)
    check_shapes(found)
    assert found.translation == target
    assert found.target_words == ("ein", "kleines", "Haus", "你", "好", "。")
    assert found.tree == ()
    assert found.score == pytest.approx(translator.score([SOURCE], [target])[0].score)


def test_unknown_words_are_shown_as_they_stand_in_the_text():
    translator = opened("bahdanau2015-desk", "word")
    found = inspect_sentence(translator, "the strange house", target="das seltsame Haus", counterfactuals=0)
    assert found.target_words == ("das", "seltsame", "Haus")
    assert found.tokens[1] == "<unk>"
    assert found.source_words == ("the", "strange", "house")


def test_what_stands_behind_an_unknown_word_begins_another_only_with_a_space():
    found = inspect_sentence(opened("luong2015-desk", "word"), "the Ωmega", target="Ωmega 好 das", counterfactuals=3)
    assert {other.word for other in found.counterfactuals} <= {0, 1, 2, 3}
    assert all(other.translation.startswith("Ωmega") for other in found.counterfactuals if other.word)


def test_a_text_is_opened_sentence_by_sentence():
    translator = opened()
    dropped: list[str] = []
    text = "The house is small. 123. 你好。\nA small house!"
    found = inspect_text(translator, text, counterfactuals=0, search_tree=False, on_skip=dropped.append)
    assert dropped == ["123."]
    assert [one.source for one in found] == ["The house is small.", "你好。", "A small house!"]
    assert found[0].translation == inspect_sentence(translator, "The house is small.", counterfactuals=0).translation


def test_progress_of_counterfactuals():
    told: list[tuple[int, int]] = []
    found = inspect_sentence(opened(), SOURCE, progress=lambda done, count: told.append((done, count)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] >= len(found.counterfactuals)


@pytest.mark.parametrize(("name", "counts"), [("vaswani2017-desk", None), ("sutskever2014-desk", (0, 0))])
def test_how_many_maps_there_are(name: str, counts: tuple[int, int] | None):
    translator = opened(name)
    assert attention_shape(translator) == (
        counts or inspect_sentence(translator, SOURCE, counterfactuals=0).predicted.shape[:2]
    )


def test_a_sentence_that_must_be_cut():
    translator = Translator.open(
        bundle_of("vaswani2017-desk + model.positions=learned", "sentencepiece"),
        engine="torch",
        threads=1,
        search=SearchSettings(beam=2, max_length=6),
    )
    text = "the house is small " * 8
    assert len(inspect_text(translator, text, counterfactuals=0)) > 1
    with pytest.raises(DataError, match="too long for one search: it was cut into"):
        inspect_sentence(translator, text, counterfactuals=0)


def test_an_ensemble_has_one_map():
    bundles = [bundle_of(name, "sentencepiece", seed) for name, seed in (("vaswani2017-desk", 3), ("xu2015-desk", 4))]
    translator = Translator.open(*bundles, engine="torch", threads=1, search=SearchSettings(beam=2, max_length=6))
    found = inspect_sentence(translator, SOURCE, counterfactuals=1)
    check_shapes(found)
    assert found.predicted.shape[:2] == (1, 1)
    assert found.model.startswith("ensemble of 2, ")


def test_drawn_at_random_there_is_no_tree():
    found = inspect_sentence(opened(sample=True, seed=5), SOURCE)
    check_shapes(found)
    assert found.tree == ()


def test_the_tree_reads_as_tokens():
    found = inspect_sentence(opened(kind="character"), SOURCE, counterfactuals=0)
    assert join_tokens(node.text for node in found.tree if node.is_best).strip() == found.translation


@pytest.mark.parametrize("text", ["", " ", "123 !"])
def test_a_text_without_letters(text: str):
    with pytest.raises(DataError, match="a text must have letters to be translated, got"):
        inspect_sentence(opened(), text)
    with pytest.raises(DataError, match="a text must have letters"):
        inspect_text(opened(), text)


def test_what_does_not_go_together():
    with pytest.raises(ConfigError, match="a prefix and a translation cannot be given together"):
        inspect_sentence(opened(), SOURCE, target="x", prefix="y")
    with pytest.raises(ConfigError, match="counterfactuals must be at least 0, got -1"):
        inspect_sentence(opened(), SOURCE, counterfactuals=-1)
    with pytest.raises(ConfigError, match="was not opened from a bundle, and cannot be inspected"):
        inspect_sentence(table_translator()[0], SOURCE)


def test_an_engine_that_hides_its_steps():
    pytest.importorskip("ctranslate2")
    translator = Translator.open(bundle_of("vaswani2017-desk", "sentencepiece"), engine="ctranslate2", threads=1)
    with pytest.raises(ConfigError, match="engine must run one step at a time, got ctranslate2"):
        inspect_sentence(translator, SOURCE)
