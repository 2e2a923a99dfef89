"""M2M100 and NLLB folders of Hugging Face become bundles that compute what transformers computes.

Expected values are in m2m100_reference.json, computed by make_m2m100_reference.py with transformers.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from dragoman import Bundle, Translator
from dragoman.config.search import SearchSettings
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError, ConfigError
from dragoman.importing.import_model import import_model
from dragoman.search.hypothesis import SearchInput
from dragoman.text import EOS_ID, PrefixedTokenizer
from testkit.random_models.random_m2m100 import (
    SHAPES,
    TEXTS,
    Shape,
    language_ids,
    random_pairs,
    subword_model,
    write_folder,
)
from tests.unit.importing.make_m2m100_reference import LIMIT, LINES, SCORED, STRANGE

REFERENCE = json.loads(Path(__file__).with_name("m2m100_reference.json").read_text())["models"]
TOKENS = {"en": "eng_Latn", "de": "deu_Latn", "fr": "fra_Latn", "pt": "por_Latn", "zh": "zho_Hans"}


@pytest.fixture(scope="module", autouse=True)
def _same_subwords():
    for name, shape in SHAPES.items():
        if hashlib.sha256(subword_model(shape.is_nllb)).hexdigest() != REFERENCE[name]["subwords"]:
            pytest.skip("this version of SentencePiece trains another model than that of the reference")


@pytest.fixture(scope="module", params=SHAPES)
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Bundle]:
    folder = write_folder(tmp_path_factory.mktemp("source") / "model", SHAPES[request.param])
    return request.param, import_model(folder, tmp_path_factory.mktemp("bundle") / "b").bundle


def ours(ids: list[int], shape: Shape) -> list[int]:
    """Ids of transformers in the order of a bundle: ``<unk>`` is 1, ``</s>`` is 3, the others keep their ids."""
    assert not set(ids) & set(shape.hidden)
    return [{2: EOS_ID, 3: 1}.get(number, number) for number in ids]


def test_log_probabilities_are_those_of_transformers(imported: tuple[str, Bundle]):
    name, bundle = imported
    shape = SHAPES[name]
    pairs = random_pairs(shape, SCORED)
    targets = [[first, *ids[1:]] for (ids, _), (_, first) in zip(random_pairs(shape, SCORED, 2), pairs, strict=True)]
    sources = [ours(ids, shape) for ids, _ in pairs]
    expected = [sum(row) for row in REFERENCE[name]["log_probs"]]
    for engine in (TorchEngine.open(bundle), CTranslate2Engine.open(bundle, threads=1)):
        found = [each.log_prob for each in engine.score(sources, [ours(ids, shape) for ids in targets])]
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(("search", "beam"), [("greedy", 1), ("beam", 4)])
def test_translations_are_those_of_transformers(imported: tuple[str, Bundle], search: str, beam: int):
    name, bundle = imported
    shape = SHAPES[name]
    pairs = random_pairs(shape, LINES)
    inputs = [SearchInput(ours(ids, shape), prefix=tuple(ours([language], shape))) for ids, language in pairs]
    written = zip(pairs, REFERENCE[name][search], strict=True)
    expected = [[*ours([language], shape), *ours(ids, shape)] for (_, language), ids in written]
    settings = SearchSettings(beam=beam, max_length=LIMIT, length_penalty="none", patience=None)
    for engine in (TorchEngine.open(bundle), CTranslate2Engine.open(bundle, threads=1)):
        if engine.unsupported(settings):
            continue
        found = [hypotheses[0].tokens for hypotheses in engine.search(inputs, settings)]
        ended = [number for number in range(LINES) if len(expected[number]) < LIMIT]
        compared = range(LINES) if beam == 1 else ended  # at the limit, transformers ranks unfinished ones with others
        assert len(ended) > LINES // 10
        assert [number for number in compared if found[number] != expected[number]] == []


def test_the_tokenizer_gives_the_ids_of_transformers(imported: tuple[str, Bundle]):
    name, bundle = imported
    shape = SHAPES[name]
    for code, texts in (TEXTS | {"strange": STRANGE}).items():
        language = "en" if code == "strange" else code
        token = TOKENS[language] if shape.is_nllb else f"__{language}__"
        tokenizer = PrefixedTokenizer(bundle.tokenizers()["source"], token)
        lines = texts.splitlines() if isinstance(texts, str) else texts
        for line, expected in zip(lines, REFERENCE[name]["ids"][code], strict=True):
            if line and "<" not in line:  # transformers reads special tokens in a text
                assert [*tokenizer.encode(line), EOS_ID] == ours(expected, shape)


def test_all_directions_between_the_languages(imported: tuple[str, Bundle]):
    name, bundle = imported
    data, shape = bundle.config.data, SHAPES[name]
    assert data is not None
    assert (data.source, data.language_tokens, data.directions) == ("en", "both", None)
    count = len(shape.languages)
    assert len(data.all_directions()) == count * (count - 1)
    if shape.is_nllb:
        assert data.languages == ["sq", "ar", "de", "en", "fr", "ks-Arab", "ks-Deva", "pt", "yue", "zh", "zh-Hant"]
        assert data.token_names["zh-Hant"] == "zho_Hant"
    else:
        assert "nso" in (data.languages or [])
    translator = Translator.open(bundle.folder, engine="torch")
    assert len(translator.directions) == count * (count - 1)
    assert len(repr(translator)) < 1000
    chosen = translator.direction("eng", "zh_CN")
    assert chosen.directions == (("en", "zh"),)
    with pytest.raises(ConfigError, match=r"got en → xx; name one of these"):
        translator.direction("en", "xx")


def test_a_translator_of_a_direction_begins_both_sides_with_its_tokens(imported: tuple[str, Bundle]):
    name, bundle = imported
    ids = language_ids(SHAPES[name])
    first, second = (TOKENS[code] if SHAPES[name].is_nllb else f"__{code}__" for code in ("de", "fr"))
    text, target = "Das Museum öffnet.", "Le musée ouvre."
    tokenizer = bundle.tokenizers()["source"]
    (expected,) = TorchEngine.open(bundle).score(
        [[ids[first], *tokenizer.encode(text)]], [[ids[second], *tokenizer.encode(target)]]
    )
    translator = Translator.open(bundle.folder, engine="torch", source_language="de", target_language="fr")
    (found,) = translator.score([text], [target])
    assert found.log_prob == pytest.approx(expected.log_prob)


def test_languages_can_be_chosen(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SHAPES["NLLB"])
    result = import_model(folder, tmp_path / "b", only_languages=["en", "deu", "zh-CN"])
    data = result.bundle.config.data
    assert data is not None
    assert data.languages == ["de", "en", "zh"]
    assert data.language_token_names == ["de:deu_Latn", "en:eng_Latn", "zh:zho_Hans"]
    assert "6 directions of 3 languages" in result.notes
    with pytest.raises(ConfigError, match=r"--languages must be one of the languages of the model \(sq, ar, de"):
        import_model(folder, tmp_path / "c", only_languages=["en", "xh"])
    with pytest.raises(ConfigError, match="must be two that differ, got en"):
        import_model(folder, tmp_path / "c", only_languages=["en"])
    data = import_model(folder, tmp_path / "c", languages=("pt", None)).bundle.config.data
    assert data is not None
    assert len(data.all_directions()) == 10
    assert {source for source, _ in data.all_directions()} == {"pt"}


def test_a_single_direction_has_its_tokens(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SHAPES["NLLB"])
    whole = Translator.open(import_model(folder, tmp_path / "b").bundle.folder, engine="torch")
    one = Translator.open(import_model(folder, tmp_path / "c", languages=("de", "fr")).bundle.folder, engine="torch")
    assert one.directions == (("de", "fr"),)
    found, expected = (
        each.score(["Das Museum."], ["Le musée."])[0].log_prob for each in (one, whole.direction("de", "fr"))
    )
    assert found == pytest.approx(expected)
    assert one.translate("Das Museum.").text == whole.translate("Das Museum.", source="de", target="fr").text


def test_weights_in_several_files_and_stored_positions(tmp_path: Path):
    shape = SHAPES["M2M100"]
    folder = write_folder(tmp_path / "model", shape)
    expected = import_model(folder, tmp_path / "b").bundle.weights()
    arrays = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    arrays["model.encoder.embed_positions.weights"] = _positions(66, shape.dim)
    names = sorted(arrays)
    parts = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, some in parts.items():
        save_file({name: arrays[name] for name in some}, folder / file)
    index = {"weight_map": {name: file for file, some in parts.items() for name in some}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    found = import_model(folder, tmp_path / "c").bundle.weights()
    assert found.keys() == expected.keys()
    assert all(np.array_equal(array, expected[name]) for name, array in found.items())
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../x.safetensors"}}))
    with pytest.raises(BundleError, match="must name 1 to 100 files of the folder"):
        import_model(folder, tmp_path / "d")


def _positions(rows: int, dim: int) -> np.ndarray:
    """The buffer of M2M100SinusoidalPositionalEmbedding, whose row of padding is 0."""
    half = dim // 2
    scale = torch.exp(torch.arange(half).float() * -(np.log(10000) / (half - 1)))
    angle = torch.arange(rows).float().unsqueeze(1) * scale
    table = torch.cat([angle.sin(), angle.cos()], 1)
    table[1] = 0
    return table.numpy()


def test_a_checkpoint_of_torch_and_no_list_of_languages(tmp_path: Path):
    """The oldest folders of M2M100 have neither model.safetensors nor ids of language tokens."""
    folder = write_folder(tmp_path / "model", SHAPES["M2M100"])
    expected = import_model(folder, tmp_path / "b").bundle
    arrays = load_file(folder / "model.safetensors")
    torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, folder / "pytorch_model.bin")  # noqa: TID251
    for name in ("model.safetensors", "special_tokens_map.json", "tokenizer_config.json"):
        (folder / name).unlink()
    found = import_model(folder, tmp_path / "c").bundle
    assert found.tokenizers()["source"] == expected.tokenizers()["source"]
    assert found.config.data == expected.config.data


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", {"vocab_size": 1 << 40}, "vocab_size in config.json must be from 1 to"),
        ("config.json", {"vocab_size": 100}, r"vocab_size in config.json must be the number of rows .*, got 100 and"),
        ("config.json", {"vocab_size": 1 << 21}, r"must be the number of rows of model.shared.weight, got 2,097,152"),
        ("config.json", {"pad_token_id": -1}, "pad_token_id in config.json must be below 415, got -1; get it again"),
        ("config.json", {"eos_token_id": -1}, "must hold </s>, got 415 tokens without it; get the model again"),
        ("config.json", {"tie_word_embeddings": False}, "tie_word_embeddings in config.json must be true"),
        ("config.json", {"encoder_layers": 3}, "the weights have no model.encoder.layers.1"),
        ("config.json", {"encoder_layers": "x"}, "encoder_layers in config.json must be a whole number"),
        ("special_tokens_map.json", {"additional_special_tokens": [1]}, "must be a list of tokens"),
        ("special_tokens_map.json", {"additional_special_tokens": ["<a>"]}, "must list the language tokens, got 0"),
        (
            "tokenizer_config.json",
            {"added_tokens_decoder": {"5": "deu_Latn"}},
            "must have its own id below vocab_size = 415, got 5",
        ),
        ("tokenizer_config.json", {"added_tokens_decoder": 5}, "added_tokens_decoder in tokenizer_config.json must be"),
    ],
)
def test_damaged_folders_are_refused(file: str, change: dict[str, object], message: str, tmp_path: Path):
    folder = write_folder(tmp_path / "model", SHAPES["NLLB"])
    table = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(table | change))
    with pytest.raises(BundleError, match=message):
        import_model(folder, tmp_path / "b")


@pytest.mark.parametrize("number", [-5, 1 << 62, 10**3999])
def test_ids_of_language_tokens_are_rows(number: int, tmp_path: Path):
    """A language whose token is in no row would be a direction that cannot be translated."""
    folder = write_folder(tmp_path / "model", SHAPES["M2M100"])
    (folder / "added_tokens.json").write_text(json.dumps({"__de__": number}))
    with pytest.raises(BundleError, match=r"'__de__' must have its own id below vocab_size = .*; get") as error:
        import_model(folder, tmp_path / "b")
    assert len(str(error.value)) < 200


def test_more_tokens_than_rows(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SHAPES["M2M100"])
    (folder / "special_tokens_map.json").write_text(
        json.dumps({"additional_special_tokens": [f"<{number}>" for number in range(2000)]})
    )
    with pytest.raises(BundleError, match="additional_special_tokens must be fewer than vocab_size, got 2,000 and"):
        import_model(folder, tmp_path / "b")


def test_the_ids_of_m2m100_are_not_those_of_its_subword_model(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SHAPES["M2M100"])
    (folder / "vocab.json").unlink()
    with pytest.raises(BundleError, match=r"has no vocab.json, which a model with the language tokens of M2M100 needs"):
        import_model(folder, tmp_path / "b")
