"""Models of several target languages: the token of one begins each source sentence, and is no word of it."""

import json
from pathlib import Path

import numpy as np
import pytest

from dragoman import Bundle, Translator
from dragoman.api.inspection.inspector import inspect_sentence
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import ConfigError, TokenizerError
from dragoman.importing.import_model import import_model
from dragoman.text import ImportedTokenizer
from dragoman.text.glossary import Glossary
from dragoman.text.tokenizers.extend import extend_tokenizer
from dragoman.text.tokenizers.notation import PREFIX_MARK
from testkit.random_models.random_marian import SHAPES, write_folder

TOKENS = (">>deu<<", ">>por<<", ">>pob<<", ">>cmn_Hans<<", ">>cmn_Hant<<", ">>swa<<", ">>swh<<")
TEXT = "the cat sat on the mat"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model whose vocabulary holds language tokens."""
    folder = write_folder(tmp_path / "model", SHAPES["shared, swish"])
    table = json.loads((folder / "vocab.json").read_text())
    tokens = sorted(table, key=table.__getitem__)
    tokens[40 : 40 + len(TOKENS)] = TOKENS
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    return folder


def imported(model: Path, language: str) -> Bundle:
    return import_model(model, model.parent / language, languages=("en", language)).bundle


def test_an_unknown_target_lists_the_languages(model: Path, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"\(cmn_Hans, cmn_Hant, deu, pob, por, swa, swh\), got 'fr'"):
        import_model(model, tmp_path / "b", languages=("en", "fr"))
    assert not (tmp_path / "b").exists()


def test_an_import_without_a_target_has_a_direction_per_language(model: Path, tmp_path: Path):
    result = import_model(model, tmp_path / "b", languages=("en", None))
    data = result.bundle.config.data
    assert data is not None
    assert (data.source, data.target, data.language_tokens) == ("en", "de", "source")
    assert data.directions == ["en:de", "en:pt", "en:pob", "en:zh", "en:zh-Hant", "en:sw"]
    assert data.token_names["zh-Hant"] == ">>cmn_Hant<<"
    assert result.notes[:2] == (
        "6 directions of 7 languages",
        "language tokens without a code of their own are not used: swh",
    )
    translator = Translator.open(result.bundle.folder, engine="torch")
    for language in ("de", "pt", "zh"):
        single = Translator.open(imported(model, language).folder, engine="torch")
        directed = translator.direction(target=language)
        assert directed.score([TEXT], ["the cat"])[0].log_prob == pytest.approx(
            single.score([TEXT], ["the cat"])[0].log_prob
        )
        assert translator.translate(TEXT, target=language).text == single.translate(TEXT).text


def test_some_target_languages(model: Path, tmp_path: Path):
    data = import_model(model, tmp_path / "b", only_languages=["por", "zh"]).bundle.config.data
    assert data is not None
    assert data.directions == ["mul:pt", "mul:zh"]
    assert data.language_token_names == ["pt:>>por<<", "zh:>>cmn_Hans<<"]


@pytest.mark.parametrize(
    ("language", "token"),
    [
        ("de", ">>deu<<"),
        ("deu", ">>deu<<"),
        ("pt", ">>por<<"),
        ("pob", ">>pob<<"),
        ("zh", ">>cmn_Hans<<"),
        ("zh-Hant", ">>cmn_Hant<<"),
        ("swa", ">>swa<<"),
        ("swh", ">>swh<<"),
    ],
)
def test_a_code_chooses_the_token(language: str, token: str, model: Path):
    tokenizer = imported(model, language).tokenizers()["source"]
    assert isinstance(tokenizer, ImportedTokenizer)
    assert tokenizer.prefix == token


def test_the_token_is_encoded_and_not_decoded(model: Path):
    bundle = imported(model, "de")
    tokenizer, target = bundle.tokenizers()["source"], bundle.tokenizers()["target"]
    assert isinstance(tokenizer, ImportedTokenizer)
    assert isinstance(target, ImportedTokenizer)
    plain = ImportedTokenizer(tokenizer.vocabulary.tokens, tokenizer.model_of(tokenizer.to_bytes()))
    number = tokenizer.token_to_id(">>deu<<")
    assert tokenizer.encode(TEXT) == [number, *plain.encode(TEXT)]
    assert tokenizer.encode(f">>por<< {TEXT}") == [tokenizer.token_to_id(">>por<<"), *plain.encode(TEXT)]
    assert tokenizer.tokens(TEXT)[0] == PREFIX_MARK
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert tokenizer.encode("") == []
    assert tokenizer.unknown_characters("{cat}") == plain.unknown_characters("{cat}")
    assert target.prefix == ""
    assert ImportedTokenizer.from_bytes(tokenizer.to_bytes()) == tokenizer
    assert "prefix" not in json.loads(plain.to_bytes())


def test_a_prefix_must_be_a_language_token():
    with pytest.raises(TokenizerError, match="prefix must be a language token of the vocabulary, got '>>x<<'"):
        ImportedTokenizer.from_bytes(
            json.dumps(
                {
                    "format": "dragoman-imported-tokenizer",
                    "version": 2,
                    "model": "",
                    "prefix": ">>x<<",
                    "tokens": ["<pad>", "<unk>", "<s>", "</s>"],
                }
            ).encode()
        )


def test_an_extended_tokenizer_keeps_the_token(model: Path):
    tokenizer = imported(model, "de").tokenizers()["source"]
    extended = extend_tokenizer(tokenizer, ["{a} {b}"] * 5, max_new_tokens=10)
    assert isinstance(extended, ImportedTokenizer)
    assert extended.prefix == ">>deu<<"
    assert extended.size > tokenizer.size


def test_translations_are_those_of_sentences_with_the_token(model: Path):
    """A bundle without the prefix, whose sentences begin with the token, gives the same scores."""
    bundle = imported(model, "de")
    ids = bundle.tokenizers()["source"].encode(TEXT)
    engine, translator = TorchEngine.open(bundle), Translator.open(bundle.folder, engine="torch")
    target = "the cat"
    (expected,) = engine.score([ids], [bundle.tokenizers()["target"].encode(target)])
    (found,) = translator.score([TEXT], [target])
    assert found.log_prob == pytest.approx(expected.log_prob)
    other = Translator.open(imported(model, "pt").folder, engine="torch")
    assert other.score([TEXT], [target])[0].log_prob != pytest.approx(expected.log_prob)
    typed = other.score([f">>deu<< {TEXT}"], [target])[0]
    assert typed.log_prob == pytest.approx(expected.log_prob)


def test_the_token_is_no_word_of_the_source(model: Path):
    bundle = imported(model, "de")
    translator = Translator.open(bundle.folder, engine="torch")
    words = tuple(TEXT.split())
    found = translator.translate(TEXT, alignment=True, attention=True)
    assert found.source_words == words
    assert found.weights is not None
    assert {len(row) for row in found.weights} == {len(words)}
    (links,) = translator.align([TEXT], ["the cat"])
    assert {source for source, _ in links} <= set(range(len(words)))
    (maps,) = translator.attention([TEXT], ["the cat"], likelihoods=True, lexical=True)
    aligned = maps.words()
    assert aligned.source_words == words
    assert aligned.weights is not None
    np.testing.assert_allclose(aligned.weights.sum(-1), 1.0, atol=1e-5)  # the end of the source has those of the token
    end = maps.tokens()[:, [0, -1]].sum(-1)
    np.testing.assert_allclose(aligned.weights[-1, -1], end[-1], atol=1e-6)
    result = inspect_sentence(translator, TEXT)
    assert result.source_words == words
    assert result.predicted.shape[-1] == len(words) + 1


def test_terms_are_found_behind_the_token(model: Path):
    translator = Translator.open(imported(model, "de").folder, engine="torch")
    glossary = Glossary.from_dict({"cat": "the"})
    assert "the" in translator.translate(TEXT, glossary=glossary).text
