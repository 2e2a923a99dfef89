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

from dragoman.api.attention import AttentionChoice
from dragoman.api.inspecting import inspect, inspect_text, map_counts
from dragoman.api.translator import Translator
from dragoman.api.what_ifs import is_named
from dragoman.api.word_alignment import WordAlignment
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.inspected import Inspected
from dragoman.models import build_model
from dragoman.search.hypothesis import Sentence
from dragoman.search.settings import SearchSettings
from dragoman.text import Tokenizer, train_characters, train_sentencepiece, train_words
from dragoman.text.notation import join_pieces
from tests.presets import tiny_config
from tests.unit.api.table_engine import TEXT, table_translator

_ROOM = tempfile.TemporaryDirectory(prefix="dragoman-inspected-")
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
            values.mul_(1.5)  # fresh weights are so small that all translations look alike
        for each, values in model.decoder.output.named_parameters():
            if each.endswith("bias") and kind == "sentencepiece":
                values[slice(4, 260)] -= 100  # bytes, or nearly all would be noise
                values[tokenizer.unk_id] -= 100
    config = Config.model_validate({"model": model_config.model_dump(), "tokenizer": {"kind": kind}})
    weights = {each: values.detach().numpy() for each, values in model.named_parameters()}
    folder = Path(_ROOM.name) / f"{name.split(maxsplit=1)[0]}-{kind}-{seed}"
    return write_bundle(folder, config, weights, {"source": tokenizer, "target": tokenizer}, "A model.")


def opened(name: str = "vaswani2017-desk", kind: str = "sentencepiece", **options: Any) -> Translator:
    settings = SearchSettings(**{"beam": 3, "max_length": 9, **options})
    return Translator.open(bundle_of(name, kind), engine="torch", threads=1, settings=settings)


def between(words: WordAlignment) -> NDArray[np.float64]:
    assert words.weights is not None
    return words.weights


def check_shapes(found: Inspected) -> None:
    source, target = len(found.source_words), len(found.target_words)
    assert found.predicted.shape[2:] == (target + 1, source + 1)
    assert found.given.shape == (*found.predicted.shape[:2], target, source + 1)
    assert found.steps.shape == (*found.predicted.shape[:2], len(found.pieces) + 1, source + 1)
    assert len(found.pieces) == len(found.piece_words)
    assert list(found.piece_words) == sorted(found.piece_words)
    assert len(found.candidates) == len(found.pieces) + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_all_that_is_shown_fits_together(name: str, kind: str):
    translator = opened(name, kind)
    found = inspect(translator, SOURCE)
    check_shapes(found)
    plain = translator.translate_batch([SOURCE], alignments=True, flags=True)[0]
    assert (found.source, found.translation) == (SOURCE, plain.text)
    assert (found.source_words, found.target_words) == (plain.source_words, plain.target_words)
    assert found.pieces == plain.pieces
    assert found.score == pytest.approx(plain.log_prob / (len(plain.pieces) + (not plain.is_truncated)))
    assert found.flags == tuple(f"{flag.name}: {flag.detail}" for flag in plain.flags or ())
    assert found.has_attention == (name != "sutskever2014-desk")
    assert found.model.endswith("torch float32, beam 3")


@pytest.mark.parametrize("name", FAMILIES)
def test_candidates_are_probabilities_and_what_was_written_is_among_them(name: str):
    translator = opened(name)
    found = inspect(translator, SOURCE, what_ifs=0)
    for candidates, piece in zip(found.candidates, (*found.pieces, "</s>"), strict=True):
        shares = [candidate.probability for candidate in candidates]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1 + 1e-5
        assert piece in [candidate.text for candidate in candidates]
        assert not {"<pad>", "<s>"} & {candidate.text for candidate in candidates}
    written = [
        next(each.probability for each in candidates if each.text == piece)
        for candidates, piece in zip(found.candidates, (*found.pieces, "</s>"), strict=True)
    ]
    forced = translator.engine.score(
        [translator.bundles[0].tokenizers()["source"].encode(SOURCE)],
        [[translator.bundles[0].tokenizers()["target"].piece_to_id(piece) for piece in found.pieces]],
    )[0]
    assert np.log(written).sum() == pytest.approx(forced.log_prob, abs=1e-4)


def test_maps_are_those_of_attention():
    translator = opened()
    target = "das Haus ist klein"
    found = inspect(translator, SOURCE, target=target, what_ifs=0)
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
        mine = [step for step, each in enumerate(found.piece_words) if each == word]
        np.testing.assert_allclose(found.steps[:, :, mine].mean(2), found.predicted[:, :, word], atol=1e-6)
    np.testing.assert_allclose(found.steps[:, :, -1], found.predicted[:, :, -1], atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"beam": 4, "groups": 2, "diversity": 0.3}])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_best_path_of_the_tree_spells_the_translation(name: str, options: dict[str, Any]):
    found = inspect(opened(name, **options), SOURCE, what_ifs=0)
    path = [node for node in found.tree if node.is_best]
    ended = [node for node in path if node.is_end]
    assert [node.text for node in path if not node.is_end] == list(found.pieces)
    assert len(ended) == (found.tree[-1].step < 8 or bool(ended))
    for before, after in zip([None, *path], path, strict=False):
        assert after.parent == (-1 if before is None else found.tree.index(before))
    if ended:
        assert ended[0].log_prob / (len(found.pieces) + 1) == pytest.approx(found.score, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_forced_word_stands_where_it_was_forced(name: str, kind: str):
    translator = opened(name, kind)
    found = inspect(translator, SOURCE, what_ifs=2, tree=False)
    assert found.what_ifs
    assert found.tree == ()
    for other in found.what_ifs:
        assert 0 <= other.word <= len(found.target_words)
        assert 0 < other.probability < 1
        assert other.translation != found.translation or kind == "sentencepiece"
        read = inspect(translator, SOURCE, target=other.translation or "x", what_ifs=0)
        assert read.target_words[: other.word] == found.target_words[: other.word]
        if other.forced:
            assert read.target_words[other.word].startswith(other.forced[:1])
        else:
            assert len(read.target_words) == other.word or not other.word
    places = [other.word for other in found.what_ifs]
    assert places == sorted(places)
    assert max(map(places.count, places)) <= 2


@pytest.mark.parametrize("name", FAMILIES)
def test_what_comes_of_a_word_is_what_the_search_finds_behind_it(name: str):
    translator = opened(name)
    found = inspect(translator, SOURCE, what_ifs=3)
    tokenizer = translator.bundles[0].tokenizers()["target"]
    source, target = tokenizer.encode(SOURCE), [tokenizer.piece_to_id(piece) for piece in found.pieces]
    (best,) = translator.engine.search([Sentence(source)], translator.settings)[0]
    assert best.pieces == target, "nothing forced, the same translation"
    for other in found.what_ifs:
        if other.word == 0 and other.forced:
            begun = {tokenizer.piece_to_id(mark + other.forced) for mark in ("", "▁")} - {tokenizer.unk_id}
            alone = [translator.engine.search([Sentence(source, [one])], translator.settings)[0][0] for one in begun]
            assert other.translation in [tokenizer.decode(each.pieces) for each in alone]


def test_a_prefix():
    translator = opened()
    found = inspect(translator, SOURCE, prefix="das Haus", what_ifs=0)
    assert found.translation == translator.translate(SOURCE, prefix="das Haus").text
    assert found.translation.startswith("das Haus")
    assert "".join(node.text for node in found.tree if node.is_best).startswith("▁das")


def test_what_ifs_at_one_word_only():
    translator = opened()
    free = inspect(translator, SOURCE)
    word = free.target_words[0]
    some = inspect(translator, SOURCE, at=word).what_ifs
    assert some == tuple(other for other in free.what_ifs if free.target_words[other.word : other.word + 1] == (word,))
    assert inspect(translator, SOURCE, at="no such word").what_ifs == ()


@pytest.mark.parametrize(
    ("word", "name", "named"),
    [("Haus.", "haus", True), ("Haus", "Hau", False), (".", ".", True), ("a", ".", False), ("", "", False)],
)
def test_names_of_words(word: str, name: str, named: bool):
    assert is_named(word, name) is named


@pytest.mark.parametrize("name", FAMILIES)
def test_a_translation_that_is_given(name: str):
    translator = opened(name)
    target = "ein kleines Haus 你好。"
    found = inspect(translator, SOURCE, target=target)
    check_shapes(found)
    assert found.translation == target
    assert found.target_words == ("ein", "kleines", "Haus", "你", "好", "。")
    assert found.tree == ()
    assert found.score == pytest.approx(translator.score([SOURCE], [target])[0].score)


def test_unknown_words_are_shown_as_they_stand_in_the_text():
    translator = opened("bahdanau2015-desk", "word")
    found = inspect(translator, "the strange house", target="das seltsame Haus", what_ifs=0)
    assert found.target_words == ("das", "seltsame", "Haus")
    assert found.pieces[1] == "<unk>"
    assert found.source_words == ("the", "strange", "house")


def test_what_stands_behind_an_unknown_word_begins_another_only_with_a_space():
    found = inspect(opened("luong2015-desk", "word"), "the Ωmega", target="Ωmega 好 das", what_ifs=3)
    assert {other.word for other in found.what_ifs} <= {0, 1, 2, 3}
    assert all(other.translation.startswith("Ωmega") for other in found.what_ifs if other.word)


def test_a_text_is_opened_sentence_by_sentence():
    translator = opened()
    dropped: list[str] = []
    text = "The house is small. 123. 你好。\nA small house!"
    found = inspect_text(translator, text, what_ifs=0, tree=False, left_out=dropped.append)
    assert dropped == ["123."]
    assert [one.source for one in found] == ["The house is small.", "你好。", "A small house!"]
    assert found[0].translation == inspect(translator, "The house is small.", what_ifs=0).translation


def test_progress_of_what_ifs():
    told: list[tuple[int, int]] = []
    found = inspect(opened(), SOURCE, progress=lambda done, count: told.append((done, count)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] >= len(found.what_ifs)


@pytest.mark.parametrize(("name", "counts"), [("vaswani2017-desk", None), ("sutskever2014-desk", (0, 0))])
def test_how_many_maps_there_are(name: str, counts: tuple[int, int] | None):
    translator = opened(name)
    assert map_counts(translator) == (counts or inspect(translator, SOURCE, what_ifs=0).predicted.shape[:2])


def test_a_sentence_that_must_be_cut():
    translator = Translator.open(
        bundle_of("vaswani2017-desk + model.positions=learned", "sentencepiece"),
        engine="torch",
        threads=1,
        settings=SearchSettings(beam=2, max_length=6),
    )
    text = "the house is small " * 8
    assert len(inspect_text(translator, text, what_ifs=0)) > 1
    with pytest.raises(DataError, match="short enough to be translated at once, got one that was cut into"):
        inspect(translator, text, what_ifs=0)


def test_an_ensemble_has_one_map():
    bundles = [bundle_of(name, "sentencepiece", seed) for name, seed in (("vaswani2017-desk", 3), ("xu2015-desk", 4))]
    translator = Translator.open(*bundles, engine="torch", threads=1, settings=SearchSettings(beam=2, max_length=6))
    found = inspect(translator, SOURCE, what_ifs=1)
    check_shapes(found)
    assert found.predicted.shape[:2] == (1, 1)
    assert found.model.startswith("ensemble of 2, ")


def test_drawn_at_random_there_is_no_tree():
    found = inspect(opened(sample=True, seed=5), SOURCE)
    check_shapes(found)
    assert found.tree == ()


def test_the_tree_reads_as_pieces():
    found = inspect(opened(kind="character"), SOURCE, what_ifs=0)
    assert join_pieces(node.text for node in found.tree if node.is_best).strip() == found.translation


@pytest.mark.parametrize("text", ["", " ", "123 !"])
def test_a_text_without_letters(text: str):
    with pytest.raises(DataError, match="a text must hold letters to be translated, got"):
        inspect(opened(), text)
    with pytest.raises(DataError, match="a text must hold letters"):
        inspect_text(opened(), text)


def test_what_does_not_go_together():
    with pytest.raises(ConfigError, match="prefix must be left out where a translation is given"):
        inspect(opened(), SOURCE, target="x", prefix="y")
    with pytest.raises(ConfigError, match="what_ifs must be at least 0, got -1"):
        inspect(opened(), SOURCE, what_ifs=-1)
    with pytest.raises(ConfigError, match="a translator must be opened from a bundle to be inspected"):
        inspect(table_translator()[0], SOURCE)


def test_an_engine_that_hides_its_steps():
    pytest.importorskip("ctranslate2")
    translator = Translator.open(bundle_of("vaswani2017-desk", "sentencepiece"), engine="ctranslate2", threads=1)
    with pytest.raises(ConfigError, match="engine must show every step that it takes, got ctranslate2"):
        inspect(translator, SOURCE)
