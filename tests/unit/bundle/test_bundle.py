"""Writing and reading bundles."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.bundle import Bundle, model_card, sandboxed_parse, write_bundle
from dragoman.bundle import bundle as bundle_module
from dragoman.config import Config, load_config, parse_config
from dragoman.errors import BundleError
from dragoman.text import SentencePieceTokenizer, Tokenizer, train_characters, train_words
from testkit.random_bundle import RNN, constant_weights


def test_what_was_written_is_read(bundle: Bundle, config: Config, subwords: SentencePieceTokenizer):
    opened = Bundle.open(str(bundle.folder))
    assert opened.config == config
    tokenizers = opened.tokenizers()
    assert list(tokenizers) == ["source", "target"]
    assert tokenizers["source"] is tokenizers["target"]
    assert tokenizers["source"] == subwords
    weights = opened.weights()
    written = constant_weights(config, tokenizers)
    assert set(weights) == set(written)
    for name, array in weights.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, written[name])
    assert opened.card() == "# A card ü\n"
    assert sorted(path.name for path in bundle.folder.iterdir()) == [
        "card.md",
        "dragoman.toml",
        "manifest.json",
        "tokenizer.model",
        "weights.safetensors",
    ]


@pytest.mark.parametrize("kind", ["word", "character"])
def test_a_tokenizer_of_each_side(kind: str, tmp_path: Path):
    train = train_words if kind == "word" else train_characters
    tokenizers: dict[str, Tokenizer] = {"source": train(["a b c"], size=100), "target": train(["d e"], size=100)}
    config = load_config("luong2015-desk", [f"tokenizer.kind={kind}", "tokenizer.joint=false", *RNN])
    weights = constant_weights(config, tokenizers)
    bundle = write_bundle(tmp_path / "bundle", config, weights, tokenizers, "card")
    assert {path.name for path in bundle.folder.iterdir()} >= {"source.tokenizer.json", "target.tokenizer.json"}
    assert Bundle.open(bundle.folder).tokenizers() == tokenizers


def test_joint_tokenizers_must_be_equal(tmp_path: Path):
    config = load_config("luong2015-desk", ["tokenizer.kind=word"])
    tokenizers: dict[str, Tokenizer] = {"source": train_words(["a b"], size=9), "target": train_words(["c"], size=9)}
    with pytest.raises(BundleError, match=r"tokenizer\.joint is true, but the two tokenizers differ"):
        write_bundle(tmp_path / "bundle", config, {}, tokenizers, "card")
    assert list(tmp_path.iterdir()) == []


def test_the_tokenizer_must_be_of_the_kind_that_the_config_names(tmp_path: Path):
    words = train_words(["a b"], size=9)
    tokenizers = {"source": words, "target": words}
    config = load_config("luong2015-desk", ["tokenizer.kind=character", *RNN])
    with pytest.raises(BundleError, match=r"must be of the kind character, as in dragoman\.toml, got word"):
        write_bundle(tmp_path / "bundle", config, constant_weights(config, tokenizers), tokenizers, "card")


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64"])
def test_weights_are_float32(dtype: str, tmp_path: Path, config: Config, subwords: SentencePieceTokenizer):
    tokenizers = {"source": subwords, "target": subwords}
    weights = constant_weights(config, tokenizers)
    weights["decoder.W_c"] = weights["decoder.W_c"].astype(dtype)
    with pytest.raises(BundleError, match=rf"decoder\.W_c must be float32 in a bundle, got {dtype}"):
        write_bundle(tmp_path / "bundle", config, weights, tokenizers, "card")
    assert list(tmp_path.iterdir()) == []


def test_the_digest_names_the_content(bundle: Bundle, tmp_path: Path, config: Config, subwords: SentencePieceTokenizer):
    tokenizers = {"source": subwords, "target": subwords}
    again = write_bundle(tmp_path / "again", config, bundle.weights(), tokenizers, bundle.card())
    other = write_bundle(tmp_path / "other", config, bundle.weights(), tokenizers, "another card")
    assert again.digest == bundle.digest != other.digest


def test_one_that_changes_after_it_was_opened_is_not_used(bundle: Bundle):
    for name in ("weights.safetensors", "card.md"):
        data = bytearray((bundle.folder / name).read_bytes())
        data[-1] ^= 1
        (bundle.folder / name).write_bytes(data)
    with pytest.raises(BundleError, match=r"weights\.safetensors has other content"):
        bundle.weights()
    with pytest.raises(BundleError, match=r"card\.md changed while the bundle was open"):
        bundle.card()


def test_a_strangers_tokenizer_is_read_elsewhere_once(bundle: Bundle, monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []

    def readable(data: bytes) -> bool:
        asked.append(len(data))
        return True

    monkeypatch.setattr(sandboxed_parse, "_passed", set())
    monkeypatch.setattr(sandboxed_parse, "_readable", readable)
    Bundle.open(bundle.folder, trusted=True)
    assert asked == []
    Bundle.open(bundle.folder)
    Bundle.open(bundle.folder)
    assert len(asked) == 1


def test_the_configuration_is_whole_and_without_paths(tmp_path: Path, subwords: SentencePieceTokenizer):
    corpora = {"train": [{"files": ["secret/place/train.en", "secret/place/train.de"]}]}
    table = load_config("luong2015-desk", RNN).model_dump(exclude_none=True)
    config = parse_config(table | {"data": {"source": "en", "target": "de", **corpora}})
    tokenizers = {"source": subwords, "target": subwords}
    weights = constant_weights(config, tokenizers)
    bundle = write_bundle(tmp_path / "bundle", config, weights, tokenizers, model_card(config, {}))
    for path in bundle.folder.iterdir():
        assert b"secret" not in path.read_bytes()
    read = load_config(bundle.folder / "dragoman.toml")
    assert read == bundle.config
    assert read.data is not None
    assert (read.data.source, read.data.train[0].files) == ("en", ["train.en", "train.de"])


def test_a_disk_that_is_full_is_an_oserror_and_the_old_one_stays(
    bundle: Bundle, config: Config, subwords: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
):
    def full(path: Path, *arrays: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(bundle_module, "write_weights", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_bundle(bundle.folder, config, bundle.weights(), {"source": subwords, "target": subwords}, "card")
    assert caught.value.errno == 28
    assert Bundle.open(bundle.folder).digest == bundle.digest
    assert [path.name for path in bundle.folder.parent.iterdir()] == ["bundle"]


@pytest.mark.parametrize("name", ["no-such-folder", "nul\0", "x" * 5000])
def test_what_is_not_there_is_named(name: str, tmp_path: Path):
    with pytest.raises(BundleError, match=r"must be a|does not exist|cannot be read"):
        Bundle.open(tmp_path / name)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_not_written_and_the_old_bundle_stays(value: float, bundle: Bundle):
    weights = bundle.weights()
    weights["decoder.W_c"][1, 2] = value
    with pytest.raises(BundleError, match=r"decoder\.W_c must be finite in a bundle, got NaN or infinity"):
        write_bundle(bundle.folder, bundle.config, weights, bundle.tokenizers(), "card")
    assert Bundle.open(bundle.folder).digest == bundle.digest


def test_weights_of_another_model_are_not_written_and_the_old_bundle_stays(bundle: Bundle):
    weights = bundle.weights()
    del weights["decoder.W_c"]
    with pytest.raises(BundleError, match=r"describes: no decoder\.W_c;"):
        write_bundle(bundle.folder, bundle.config, weights, bundle.tokenizers(), "card")
    assert Bundle.open(bundle.folder).digest == bundle.digest


def test_files_have_the_permissions_of_the_umask(bundle: Bundle):
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in bundle.folder.iterdir()}
    assert set(modes.values()) == {modes["card.md"]}
