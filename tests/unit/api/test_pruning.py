"""A pruned bundle translates as the original where no removed token is needed."""

from pathlib import Path

import numpy as np
import pytest

from dragoman import Bundle, Translator
from dragoman.api.pruning import prune_bundle
from dragoman.bundle import write_bundle
from dragoman.bundle.shortlist import Shortlist
from dragoman.bundle.weights import Quantization
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError, DataError
from dragoman.importing.import_model import import_model
from testkit.random_models.random_m2m100 import SHAPES, TEXTS, write_folder
from testkit.random_models.random_marian import SHAPES as MARIAN_SHAPES
from testkit.random_models.random_marian import write_folder as write_marian
from tests.unit.engines.tiny_transformers import tiny_transformer

LINES = [*TEXTS["en"].splitlines(), *TEXTS["de"].splitlines()]


def unlikely(bundle: Bundle, folder: Path, kept: Bundle) -> Bundle:
    """The original, whose output bias makes the tokens that were removed improbable, as training does."""
    weights, tokenizer = bundle.weights(), bundle.tokenizers()["target"]
    names = {kept.tokenizers()["target"].id_to_token(number) for number in range(kept.tokenizers()["target"].size)}
    removed = [number for number in range(tokenizer.size) if tokenizer.id_to_token(number) not in names]
    assert removed
    weights["decoder.output.bias"][removed] = -100.0
    return write_bundle(folder, bundle.config, weights, bundle.tokenizers(), bundle.card())


@pytest.mark.parametrize("name", ["M2M100", "NLLB"])
def test_translations_are_those_of_the_original(name: str, tmp_path: Path):
    original = import_model(write_folder(tmp_path / "model", SHAPES[name]), tmp_path / "b").bundle
    found = prune_bundle(original, LINES, tmp_path / "pruned", languages=["en", "deu"])
    assert found.lines == len(LINES)
    assert found.tokens[1] < found.tokens[0] * 0.9
    assert found.bytes[1] < found.bytes[0]
    data = found.bundle.config.data
    assert data is not None
    assert sorted(data.all_directions()) == [("de", "en"), ("en", "de")]
    assert len(data.language_token_names or []) == 2
    assert "## Pruning" in found.bundle.card()
    same = unlikely(original, tmp_path / "same", found.bundle)
    for engine in ("torch", "ctranslate2"):
        before, after = (Translator.open(each.folder, engine=engine) for each in (same, found.bundle))
        for direction in data.all_directions():
            one, other = (each.direction(*direction) for each in (before, after))
            for beam in (1, 4):
                settings = SearchSettings(beam=beam, max_length=12)
                expected = one.translate(LINES, search=settings)
                translated = other.translate(LINES, search=settings)
                assert [each.text for each in translated] == [each.text for each in expected]
                np.testing.assert_allclose(
                    [each.log_prob for each in translated], [each.log_prob for each in expected], atol=1e-3
                )


def test_greedy_output_without_removed_tokens_is_the_same(tmp_path: Path):
    """Fewer tokens in the softmax change all log-probabilities of a step by the same number."""
    original = import_model(write_folder(tmp_path / "model", SHAPES["NLLB"]), tmp_path / "b").bundle
    pruned = prune_bundle(original, LINES, tmp_path / "pruned", languages=["en", "de"]).bundle
    search = SearchSettings(beam=1, max_length=12)
    before, after = (
        Translator.open(each.folder, engine="torch", source_language="en", target_language="de", search=search)
        for each in (original, pruned)
    )
    old, new = original.tokenizers()["target"], pruned.tokenizers()["target"]
    known = {new.id_to_token(number) for number in range(new.size)}
    compared = 0
    for line in LINES:
        for sentence in line.split(". "):
            expected = before.translate(sentence).text
            if known.issuperset(old.tokens(expected)):
                compared += 1
                assert after.translate(sentence).text == expected
    assert compared > 3


def test_a_vocabulary_for_two_subword_models(tmp_path: Path):
    """Source and target of Marian have their own subword models and the same embedding."""
    original = import_model(
        write_marian(tmp_path / "opus-mt-en-pt", MARIAN_SHAPES["shared, swish"]), tmp_path / "b"
    ).bundle
    text = ["the cat sat", "o gato"]
    pruned = prune_bundle(original, text, tmp_path / "pruned").bundle
    for side in ("source", "target"):
        old, new = original.tokenizers()[side], pruned.tokenizers()[side]
        assert new.size < old.size
        for line in text:
            assert new.tokens(line) == old.tokens(line)
            for before, after in zip(old.encode(line), new.encode(line), strict=True):
                np.testing.assert_array_equal(
                    original.weights()["encoder.embedding.weight"][before],
                    pruned.weights()["encoder.embedding.weight"][after],
                )
    sizes = {each.size for each in pruned.tokenizers().values()}
    assert len(sizes) == 1


def test_quantization_and_shortlist_follow_the_tokens(tmp_path: Path):
    tiny = tiny_transformer(tmp_path / "tiny", {"decoder": "ssru"})
    weights, tokenizer = tiny.weights(), tiny.tokenizers()["source"]
    rows = np.arange(1, tokenizer.size + 1, dtype=np.float32)
    name = "encoder.embedding.weight"
    inner = "encoder.layers.0.feedforward.W_1.weight"
    multipliers = {name: rows, inner: np.ones(len(weights[inner]), np.float32)}
    lists = [[number, (number + 1) % tokenizer.size] for number in range(tokenizer.size)]
    original = write_bundle(
        tmp_path / "b",
        tiny.config,
        weights,
        tiny.tokenizers(),
        tiny.card(),
        quantization=Quantization(multipliers, {name: rows}),
        shortlist=Shortlist.of_lists([7], lists),
    )
    text = [" ".join(tokenizer.id_to_token(number).replace("▁", "") for number in range(10, 20))]
    pruned = prune_bundle(original, text, tmp_path / "pruned").bundle
    new = pruned.tokenizers()["source"]
    quantization, shortlist = pruned.quantization(), pruned.shortlist()
    assert quantization is not None
    assert shortlist is not None
    assert len(shortlist.offsets) == new.size + 1
    assert new.size < tokenizer.size
    for number in range(4, new.size):
        token = new.id_to_token(number)
        before = tokenizer.token_to_id(token)
        assert quantization.weights[name][number] == quantization.inputs[name][number] == before + 1
        listed = {new.id_to_token(n) for n in shortlist.tokens[slice(*shortlist.offsets[number : number + 2])]}
        wanted = {tokenizer.id_to_token(n) for n in lists[before] if n > 3}
        assert listed == {each for each in wanted if new.token_to_id(each) != new.unk_id}


def test_tokens_of_the_scripts_are_kept(tmp_path: Path):
    original = import_model(write_folder(tmp_path / "model", SHAPES["M2M100"]), tmp_path / "b").bundle
    found = prune_bundle(original, [], tmp_path / "latin", languages=["en", "fr"], keep_scripts=True)
    assert found.lines == 0
    old, new = original.tokenizers()["source"], found.bundle.tokenizers()["source"]
    for line in "\n".join(TEXTS[code] for code in ("en", "de", "fr", "pt")).splitlines():
        assert new.tokens(line) == old.tokens(line)
    chinese = [token for line in TEXTS["zh"].splitlines() for token in old.tokens(line)]
    assert any(new.token_to_id(token) == new.unk_id != old.token_to_id(token) for token in chinese)
    with pytest.raises(ConfigError, match="the script of qaa, qab is unknown, so tokens cannot be chosen by script"):
        prune_bundle(_renamed(original, tmp_path / "r"), [], tmp_path / "c", keep_scripts=True)


def _renamed(bundle: Bundle, folder: Path) -> Bundle:
    """The bundle with two codes whose scripts are unknown."""
    assert bundle.config.data is not None
    codes = {"en": "qaa", "fr": "qab"}
    data = bundle.config.data.model_copy(
        update={
            "source": "qaa",
            "target": "qab",
            "languages": list(codes.values()),
            "language_token_names": [f"{new}:__{old}__" for old, new in codes.items()],
        }
    )
    config = bundle.config.model_copy(update={"data": data})
    return write_bundle(folder, config, bundle.weights(), bundle.tokenizers(), bundle.card())


def test_mistakes(tmp_path: Path):
    original = import_model(write_folder(tmp_path / "model", SHAPES["NLLB"]), tmp_path / "b").bundle
    with pytest.raises(DataError, match="there is no text to choose the tokens by"):
        prune_bundle(original, ["", " "], tmp_path / "c")
    with pytest.raises(ConfigError, match=r"languages must be those of the model \(sq, ar, de, .*\), got 'ja'"):
        prune_bundle(original, LINES, tmp_path / "c", languages=["en", "ja"])
    with pytest.raises(ConfigError, match="must be those of a direction of the model, got en"):
        prune_bundle(original, LINES, tmp_path / "c", languages=["en"])
    with pytest.raises(ConfigError, match="min_count must be at least 1, got 0"):
        prune_bundle(original, LINES, tmp_path / "c", min_count=0)
    unnamed = original.config.model_copy(update={"data": None})
    other = write_bundle(tmp_path / "e", unnamed, original.weights(), original.tokenizers(), original.card())
    with pytest.raises(
        ConfigError, match="the bundle names no languages, so en, de cannot be kept; leave them out, or import"
    ):
        prune_bundle(other, LINES, tmp_path / "c", languages=["en", "de"])
    assert not (tmp_path / "c").exists()
    few = prune_bundle(original, LINES, tmp_path / "c", min_count=5)
    assert few.tokens[1] < prune_bundle(original, LINES, tmp_path / "d").tokens[1]
