"""Marian models whose ids are in a list of tokens, as OPUS-MT publishes them, and models of HPLT."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor

from dragoman.bundle import Bundle
from dragoman.config.search import SearchSettings
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError
from dragoman.importing.import_model import import_model
from dragoman.importing.marian_folder import parse_token_list
from dragoman.search.hypothesis import SearchInput
from testkit.random_models.random_firefox import options, random_arrays, write_npz
from testkit.random_models.random_marian import SHAPES, write_vocabularies

LINES = ["The cat sat on the mat.", "Where is the train to the old town?", "It is 10 o'clock."]


@pytest.fixture
def subwords(tmp_path: Path) -> tuple[bytes, bytes]:
    """Two SentencePiece models with different tokens."""
    (tmp_path / "spm").mkdir()
    write_vocabularies(tmp_path / "spm", SHAPES["shared, swish"])
    source, target = ((tmp_path / "spm" / f"{side}.spm").read_bytes() for side in ("source", "target"))
    return source, target


def pieces(model: bytes) -> list[str]:
    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(number) for number in range(len(processor))]


def opus_folder(folder: Path, subwords: tuple[bytes, bytes], tokens: Sequence[str], seed: int = 1) -> dict[str, int]:
    """Write a folder as in a zip of OPUS-MT, with ids in another order than those of SentencePiece."""
    ids = list(range(2, len(tokens)))
    random.Random(seed).shuffle(ids)
    table = dict(zip(tokens, [0, 1, *ids], strict=True))
    folder.mkdir(parents=True)
    lines = [f"{json.dumps(token, ensure_ascii=False)}: {number}\n" for token, number in table.items()]
    (folder / "opus.spm32k-spm32k.vocab.yml").write_text("".join(lines), encoding="utf-8")
    for side, model in zip(("source", "target"), subwords, strict=True):
        (folder / f"{side}.spm").write_bytes(model)
    name = "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz"
    (folder / "decoder.yml").write_text(
        f"relative-paths: true\nmodels:\n  - {name}\nvocabs:\n  - opus.spm32k-spm32k.vocab.yml\n"
        "  - opus.spm32k-spm32k.vocab.yml\nbeam-size: 6\n"
    )
    write_npz(folder / name, random_arrays(len(tokens), ssru=False), options())
    return table


def translations(bundle: Bundle) -> list[tuple[list[str], float]]:
    tokenizer = bundle.tokenizers()["source"]
    inputs = [SearchInput(tokenizer.encode(line)) for line in LINES]
    found = TorchEngine.open(bundle).search(inputs, SearchSettings(beam=3, max_length=12))
    return [([tokenizer.id_to_token(each) for each in best[0].tokens], best[0].log_prob) for best in found]


def test_the_ids_are_those_of_the_list(subwords: tuple[bytes, bytes], tmp_path: Path):
    """Oracle: the same weights in the order of SentencePiece, permuted by hand, without a list."""
    model = (subwords[0], subwords[0])
    tokens = pieces(subwords[0])
    table = opus_folder(tmp_path / "opus", model, tokens)
    assert [table[token] for token in tokens] != list(range(len(tokens)))
    arrays = random_arrays(len(tokens), ssru=False)
    rows = [table[token] for token in tokens]
    arrays["Wemb"] = arrays["Wemb"][rows]
    arrays["decoder_ff_logit_out_b"] = arrays["decoder_ff_logit_out_b"][:, rows]
    (tmp_path / "oracle").mkdir()
    (tmp_path / "oracle" / "vocab.spm").write_bytes(subwords[0])
    write_npz(tmp_path / "oracle" / "model.npz", arrays, options())
    listed = import_model(tmp_path / "opus", tmp_path / "a", languages=("en", "pt")).bundle
    oracle = import_model(tmp_path / "oracle", tmp_path / "b", languages=("en", "pt")).bundle
    found, wanted = translations(listed), translations(oracle)
    assert [each for each, _ in found] == [each for each, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-4)


def test_each_token_has_the_vector_of_its_id(subwords: tuple[bytes, bytes], tmp_path: Path):
    """With two SentencePiece models and one list; the languages are those of README.md."""
    tokens = list(dict.fromkeys([*pieces(subwords[0]), *pieces(subwords[1]), ">>por<<", ">>spa<<"]))
    table = opus_folder(tmp_path / "opus", subwords, tokens)
    (tmp_path / "opus" / "README.md").write_text(
        "# opus-2021-02-18.zip\n\n* source language(s): eng\n* target language(s): por spa\n"
    )
    result = import_model(tmp_path / "opus", tmp_path / "a")
    assert result.format == "marian"
    arrays, weights = random_arrays(len(tokens), ssru=False), result.bundle.weights()
    for side, model in zip(("source", "target"), subwords, strict=True):
        tokenizer = result.bundle.tokenizers()[side]
        for token in pieces(model)[2:]:
            row = weights["encoder.embedding.weight"][tokenizer.token_to_id(token)]
            assert np.array_equal(row, arrays["Wemb"][table[token]]), token
            bias = weights["decoder.output.bias"][tokenizer.token_to_id(token)]
            assert bias == arrays["decoder_ff_logit_out_b"][0, table[token]]
    assert result.bundle.config.data is not None
    assert result.bundle.config.data.directions is not None
    assert sorted(result.bundle.config.data.directions) == ["en:es", "en:pt"]


def test_a_model_of_hplt_is_read_with_its_names(subwords: tuple[bytes, bytes], tmp_path: Path):
    folder = tmp_path / "models--HPLT--translate-sq-en-v1.0-hplt"
    folder.mkdir()
    (folder / "model.sq-en.spm").write_bytes(subwords[0])
    (folder / "model.sq-en.vocab").write_text("</s>\t0\n")
    arrays = random_arrays(len(pieces(subwords[0])), ssru=False)
    write_npz(folder / "model.npz.best-chrf.npz", arrays, options())
    write_npz(folder / "model.npz", arrays | {"Wemb": arrays["Wemb"] * 2}, options())
    bundle = import_model(folder, tmp_path / "a").bundle
    assert bundle.config.data is not None
    assert (bundle.config.data.source, bundle.config.data.target) == ("sq", "en")
    assert "models--" not in bundle.card()
    assert "model.npz.best-chrf.npz" in bundle.card()


LISTED = ["</s>: 0", "<unk>: 1", "no: 2", "~: 3", "1_000: 4", "12:30:45: 5", '"\\"": 6', "'it''s': 7", '"\\\\": 8']
LISTED += ['"\\ud83d\\ude00": 9', '"\\x85": 10', '"\\u2028": 11', "a\u2028b: 12", "c\x85d: 13", '"a: 5": 14', "#: 15"]
LISTED += ["1: 16", "01: 17", '"\\U0001F600\\t": 18', "\u2581: 19", '"\\/": 20', ""]
TEXT = "\n".join(LISTED)
TOKENS = ["</s>", "<unk>", "no", "~", "1_000", "12:30:45", '"', "it's", "\\", "\U0001f600", "\x85", "\u2028"]
TOKENS += ["a\u2028b", "c\x85d", "a: 5", "#", "1", "01", "\U0001f600\t", "\u2581", "/"]


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), "# a comment\n---\n" + TEXT + "...\n"])
def test_tokens_of_a_list_are_kept_to_the_letter(text: str):
    assert parse_token_list(Path("vocab.yml"), text.encode()) == TOKENS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 0\na: 1", r"line 2 of vocab\.yml must be a new token and a new id \(token: id\), got a: 1; get"),
        ("a: 0\nb: 0", "line 2 of"),
        ("a: 0\nb: 2", r"vocab\.yml must give each id from 0 to 2, got 2 ids"),
        ("", "got 0 ids"),
        ('"a: 0', "line 1 of"),
        ("'a'b': 0", "line 1 of"),
        ('"a"b": 0', "line 1 of"),
        ('"a\\": 0', "line 1 of"),
        ('"\\q": 0', "line 1 of"),
        ('"\\ud83d": 0', "line 1 of"),
        ('"\\UFFFFFFFF": 0', "line 1 of"),
        ("a: b", "line 1 of"),
        ("a: 99999999", "line 1 of"),
    ],
)
def test_a_damaged_list_is_refused(text: str, complaint: str):
    with pytest.raises(BundleError, match=complaint):
        parse_token_list(Path("vocab.yml"), text.encode())
    with pytest.raises(BundleError, match="must be UTF-8"):
        parse_token_list(Path("vocab.yml"), b"\xff: 0")
