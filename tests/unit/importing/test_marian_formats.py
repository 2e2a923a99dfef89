"""Marian (.npz) and Firefox (.bin) models become bundles with the same weights and translations."""

import gzip
import hashlib
import importlib.util
import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError, ConfigError
from dragoman.importing.import_model import import_model
from dragoman.search.hypothesis import SearchInput
from dragoman.text import EOS_ID, UNK_ID
from testkit.random_models.random_firefox import (
    DIM,
    INPUT_MULTIPLIER,
    firefox_folder,
    folder_with,
    options,
    random_arrays,
    tokens_of,
    write_bin,
    write_lexicon,
    write_npz,
)
from testkit.random_models.random_marian import SHAPES, write_vocabularies


@pytest.fixture
def vocabulary(tmp_path: Path) -> bytes:
    (tmp_path / "spm").mkdir()
    write_vocabularies(tmp_path / "spm", SHAPES["shared, swish"])
    return (tmp_path / "spm" / "source.spm").read_bytes()


@pytest.mark.parametrize("ssru", [False, True])
def test_both_files_give_the_same_bundle(ssru: bool, vocabulary: bytes, tmp_path: Path):
    arrays = random_arrays(tokens_of(vocabulary), ssru=ssru)
    config = options(**({"transformer_decoder_autoreg": "rnn", "dec_cell": "ssru"} if ssru else {}))
    write_npz(folder_with(tmp_path / "npz", vocabulary) / "model.npz", arrays, config)
    write_bin(folder_with(tmp_path / "bin", vocabulary) / "model.enpt.bin", arrays, config)
    (tmp_path / "npz" / "lex.s2t.gz").write_bytes(b"")
    native = import_model(tmp_path / "npz", tmp_path / "a", languages=("en", "pt"))
    assert [note for note in native.notes if "shortlist lex.s2t.gz is not used" in note], "not skipped without a note"
    student = import_model(tmp_path / "bin", tmp_path / "b")
    other = import_model(tmp_path / "bin", tmp_path / "c", languages=("de", "PT"))
    assert [note for note in other.notes if "recorded" in note] == [
        "the name of the model gives en → pt; --source-language de is recorded instead"
    ]
    assert (native.format, student.format) == ("marian", "firefox")
    model = student.bundle.config.model
    assert model.family == "transformer"
    assert (model.decoder, model.tie) == ("ssru" if ssru else "self-attention", "all")
    first, second = native.bundle.weights(), student.bundle.weights()
    assert all(np.array_equal(first[name], second[name]) for name in first | second)
    assert np.array_equal(first["encoder.layers.1.attention.W_o"], arrays["encoder_l2_self_Wo"].T)
    assert np.array_equal(first["encoder.layers.1.attention.W_qkv"][DIM : 2 * DIM], arrays["encoder_l2_self_Wk"].T)
    unk, eos = (arrays["Wemb"][number] for number in (1, 0))
    assert np.array_equal(first["encoder.embedding.weight"][[UNK_ID, EOS_ID]], [unk, eos])
    assert not first["encoder.embedding.weight"][2].any(), "decoding starts with a zero vector"
    translator = Translator.open(student.bundle)
    assert translator.engine.name == ("onnx" if ssru else "ctranslate2")
    assert translator.translate("The cat sat on the mat.", beam=2).text is not None


def test_int8_and_gzip(vocabulary: bytes, tmp_path: Path):
    arrays = random_arrays(tokens_of(vocabulary), ssru=True)
    folder = folder_with(tmp_path / "model", gzip.compress(vocabulary), "vocab.enpt.spm.gz")
    config = options(transformer_decoder_autoreg="rnn", dec_cell="ssru")
    write_bin(tmp_path / "plain.bin", arrays, config, int8=True)
    (folder / "model.enpt.intgemm.alphas.bin.gz").write_bytes(gzip.compress((tmp_path / "plain.bin").read_bytes()))
    result = import_model(folder, tmp_path / "b")
    assert result.bundle.config.data is not None
    assert (result.bundle.config.data.source, result.bundle.config.data.target) == ("en", "pt")
    found = result.bundle.weights()
    for ours, theirs in (("ssru.W", "rnn_W"), ("feedforward.W_1.weight", "ffn_W1")):
        exact = arrays[f"decoder_l1_{theirs}"].T
        assert np.abs(found[f"decoder.layers.0.{ours}"] - exact).max() <= 0.51 * np.abs(exact).max() / 127


def test_the_stored_integers_can_be_computed_from_the_bundle(vocabulary: bytes, tmp_path: Path):
    folder = firefox_folder(tmp_path / "model", vocabulary)
    result = import_model(folder, tmp_path / "b")
    assert any("weights are int8" in note for note in result.notes)
    quantization, weights = result.bundle.quantization(), result.bundle.weights()
    assert quantization is not None
    matrices = {name for name, array in weights.items() if array.ndim == 2}
    assert quantization.weights.keys() == quantization.inputs.keys() == matrices
    assert all((each == INPUT_MULTIPLIER).all() for each in quantization.inputs.values())
    arrays = random_arrays(tokens_of(vocabulary), ssru=True)
    for part, name in enumerate("qkv"):
        array = arrays[f"encoder_l2_self_W{name}"]
        stored = np.rint(array.T * np.float32(127 / np.abs(array).max())).astype(np.int8)
        found = quantization.integers("encoder.layers.1.attention.W_qkv", weights["encoder.layers.1.attention.W_qkv"])
        assert np.array_equal(found[part * DIM : (part + 1) * DIM], stored)


def test_a_model_without_int8_has_no_quantization(vocabulary: bytes, tmp_path: Path):
    arrays = random_arrays(tokens_of(vocabulary), ssru=True)
    config = options(transformer_decoder_autoreg="rnn", dec_cell="ssru")
    write_bin(folder_with(tmp_path / "bin", vocabulary) / "model.enpt.bin", arrays, config)
    result = import_model(tmp_path / "bin", tmp_path / "b")
    assert result.bundle.quantization() is None
    assert result.bundle.shortlist() is None
    assert not any("int8" in note for note in result.notes)


def test_the_lexical_shortlist_is_kept_with_the_ids_of_the_bundle(vocabulary: bytes, tmp_path: Path):
    folder = firefox_folder(tmp_path / "model", vocabulary, lexicon=True)
    result = import_model(folder, tmp_path / "b")
    shortlist, tokenizer = result.bundle.shortlist(), result.bundle.tokenizers()["source"]
    assert shortlist is not None
    theirs = SentencePieceProcessor(model_proto=vocabulary)
    ours = {tokenizer.id_to_token(number): number for number in range(tokenizer.size)}
    frequent = [theirs.id_to_piece(number) for number in range(6)]
    assert set(shortlist.always.tolist()) == {0, 1, 2, 3, *(ours[token] for token in frequent)}
    size = tokens_of(vocabulary)
    for token in (7, 10, 23):
        listed = {ours[theirs.id_to_piece((3 * token + step) % size)] for step in range(token % 4)}
        number = ours[theirs.id_to_piece(token)]
        assert set(shortlist.candidates([number]).tolist()) - set(shortlist.always.tolist()) == (
            {number, *listed} - set(shortlist.always.tolist())
        )
    assert "lex.50.50.enpt.s2t.bin" in result.bundle.card()


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [("one list", "must have a list for each of"), ("token", "must hold tokens below"), ("magic", "binary shortlist")],
)
def test_a_damaged_shortlist_is_refused(damage: str, complaint: str, vocabulary: bytes, tmp_path: Path):
    folder, size = firefox_folder(tmp_path / "model", vocabulary), tokens_of(vocabulary)
    path = folder / "lex.s2t.bin"
    write_lexicon(path, 5, [[size if damage == "token" else 3]] * (1 if damage == "one list" else size))
    if damage == "magic":
        path.write_bytes(bytes(8) + path.read_bytes()[8:])
    with pytest.raises(BundleError, match=complaint):
        import_model(folder, tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"transformer_preprocess": "n"}, "transformer-preprocess of the model must be empty, got 'n'"),
        ({"transformer_ffn_activation": "gelu"}, "must be relu or swish, got 'gelu'"),
        ({"type": "s2s"}, "the option type of the model must be transformer, got 's2s'"),
        ({"transformer_decoder_autoreg": "rnn", "dec_cell": "gru"}, "dec-cell of the model must be ssru"),
        ({"dim_emb": "99999999999"}, "dim-emb of the model must be a size"),
        ({"dim_emb": 17}, "Wemb must have the shape"),
        ({"enc_depth": 1}, "such as encoder_l2_ffn_W1"),
    ],
)
def test_other_architectures_are_refused(changes: dict[str, Any], complaint: str, vocabulary: bytes, tmp_path: Path):
    arrays = random_arrays(tokens_of(vocabulary), ssru=False)
    write_npz(folder_with(tmp_path / "npz", vocabulary) / "model.npz", arrays, options(**changes))
    with pytest.raises(BundleError) as caught:
        import_model(tmp_path / "npz", tmp_path / "b")
    assert complaint in str(caught.value)


def _header(place: int, value: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:place] + struct.pack("<Q", value) + data[place + 8 :]


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "version": (_header(0, 7), "must be of version 1, got 7"),
    "count": (_header(8, 1 << 60), "must hold at most 100,000 arrays"),
    "more arrays": (_header(8, 5_000), "ends at byte"),
    "name": (_header(16, 1 << 40), "must hold short names"),
    "dimensions": (_header(32, 9), "at most 8 dimensions"),
    "data": (_header(40, 1 << 50), "ends at byte"),
    "cut": (lambda data: data[:-300], "ends at byte"),
    "longer": (lambda data: data + b"x", "must end at position"),
    "text": (lambda data: b"not a model at all, but text", "ends at byte"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(damage: str, vocabulary: bytes, tmp_path: Path):
    arrays = random_arrays(tokens_of(vocabulary), ssru=False)
    path = folder_with(tmp_path / "model", vocabulary) / "model.enpt.bin"
    write_bin(path, arrays, options())
    change, complaint = DAMAGE[damage]
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(BundleError) as caught:
        import_model(tmp_path / "model", tmp_path / "b")
    assert complaint in str(caught.value) or "must be of version 1" in str(caught.value)
    assert not (tmp_path / "b").exists()


def test_an_array_of_objects_and_a_lying_header_are_refused(vocabulary: bytes, tmp_path: Path):
    arrays: dict[str, NDArray[Any]] = {**random_arrays(tokens_of(vocabulary), ssru=False)}
    path = folder_with(tmp_path / "model", vocabulary) / "model.npz"
    write_npz(path, arrays | {"code": np.array([{}, print], dtype=object)[:1]}, options())
    with pytest.raises(BundleError, match="the number type object of an array"):
        import_model(tmp_path / "model", tmp_path / "b")
    write_npz(path, arrays, options())
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    size = str(arrays["Wemb"].shape).encode()
    lying = entries["Wemb.npy"].replace(size, b"(10**13,16)"[: len(size)].ljust(len(size)), 1)
    for changed in (lying, entries["Wemb.npy"].replace(b"'shape': (", b"'shape': (9", 1)):
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in (entries | {"Wemb.npy": changed}).items():
                archive.writestr(name, data)
        with pytest.raises(BundleError):
            import_model(tmp_path / "model", tmp_path / "b")


def test_a_gzip_bomb_is_refused(vocabulary: bytes, tmp_path: Path):
    folder = folder_with(tmp_path / "model", gzip.compress(bytes(100 << 20)), "vocab.enpt.spm.gz")
    (folder / "model.enpt.bin").write_bytes(b"x" * 100)
    with pytest.raises(BundleError, match=r"must hold one complete gzip stream of at most 3,[0-9]{3},[0-9]{3} bytes"):
        import_model(folder, tmp_path / "b")


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def test_zstd_is_read_like_gzip(vocabulary: bytes, tmp_path: Path):
    plain = firefox_folder(tmp_path / "plain", vocabulary, lexicon=True)
    packed = tmp_path / "packed"
    packed.mkdir()
    for path in plain.iterdir():
        name = path.name.replace("enpt", "enzh_hant")
        (packed / f"{name}.zst").write_bytes(zstd(path.read_bytes()))
    first, second = (import_model(folder, tmp_path / f"{folder.name}-b").bundle for folder in (plain, packed))
    assert (first.folder / "weights.safetensors").read_bytes() == (second.folder / "weights.safetensors").read_bytes()
    assert (first.shortlist() is None, second.shortlist() is None) == (False, False)
    data = second.config.data
    assert data is not None
    assert (data.source, data.target) == ("en", "zh-Hant")


@pytest.mark.parametrize("damage", ["bomb", "cut", "joined", "text"])
def test_a_damaged_zstd_file_is_refused(damage: str, vocabulary: bytes, tmp_path: Path):
    damaged = {
        "bomb": zstd(bytes(100 << 20)),
        "cut": zstd(vocabulary)[:-3],
        "joined": zstd(vocabulary) + b"more",
        "text": b"no zstd file at all",
    }[damage]
    folder = folder_with(tmp_path / "model", damaged, "vocab.enpt.spm.zst")
    (folder / "model.enpt.bin").write_bytes(b"x" * 100)
    complaint = "must be a zstd file" if damage == "text" else "must hold one complete zstd stream of at most "
    with pytest.raises(BundleError, match=complaint):
        import_model(folder, tmp_path / "b")


def test_a_missing_zstandard_names_the_extra(vocabulary: bytes, tmp_path: Path):
    firefox_folder(tmp_path / "plain", vocabulary)
    folder = folder_with(tmp_path / "model", zstd(vocabulary), "vocab.enpt.spm.zst")
    (tmp_path / "plain" / "model.enpt.intgemm.alphas.bin").rename(folder / "model.enpt.bin")
    program = (
        "import sys; sys.modules['zstandard'] = None\n"
        "import importlib.util; importlib.util.find_spec = lambda name: None\n"
        "from dragoman.cli.main import main\n"
        f"sys.argv = ['dragoman', 'import', {str(folder)!r}, '-o', {str(tmp_path / 'b')!r}]\n"
        "main()"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 3
    *_, error = run.stderr.splitlines()
    assert error.startswith("error: reading vocab.enpt.spm.zst needs the package zstandard; install it with pip")
    assert "get]" in error


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 11879137\n"


@pytest.mark.parametrize("name", ["model.enpt.intgemm.alphas.bin.gz", "vocab.enpt.spm.gz"])
def test_a_pointer_of_git_lfs_is_called_one(name: str, vocabulary: bytes, tmp_path: Path):
    folder = firefox_folder(tmp_path / "model", vocabulary)
    (folder / name.removesuffix(".gz")).unlink()
    (folder / name).write_bytes(POINTER)
    with pytest.raises(BundleError) as caught:
        import_model(folder, tmp_path / "b")
    assert f"{folder / name} is a Git LFS pointer, not the file itself" in str(caught.value)
    assert str(caught.value).endswith("dragoman get en-pt")


def test_the_metadata_of_a_student_are_read(vocabulary: bytes, tmp_path: Path):
    folder = firefox_folder(tmp_path / "model", vocabulary)
    model = folder / "model.enpt.intgemm.alphas.bin"
    stated = {"architecture": "base-memory", "sourceLanguage": "en", "targetLanguage": "zh_hant"}
    stated["hash"] = hashlib.sha256(model.read_bytes()).hexdigest()
    (folder / "metadata.json").write_text(json.dumps(stated))
    (folder / f"{model.name}.gz").write_bytes(gzip.compress(model.read_bytes()))
    model.unlink()
    result = import_model(folder, tmp_path / "b")
    assert result.bundle.config.data is not None
    assert (result.bundle.config.data.source, result.bundle.config.data.target) == ("en", "zh-Hant")
    assert "metadata.json names the architecture base-memory" in result.notes
    with pytest.raises(ConfigError, match=r"--source-language must be en, as in metadata\.json of the model, got de"):
        import_model(folder, tmp_path / "c", languages=("de", None))
    (folder / "metadata.json").write_text(json.dumps(stated | {"hash": "0" * 64}))
    with pytest.raises(BundleError, match=r"must have the SHA-256 of metadata\.json, 0000"):
        import_model(folder, tmp_path / "c")
    (folder / "metadata.json").write_text(json.dumps({"hash": 3}))
    with pytest.raises(BundleError, match=r"hash in metadata\.json must be text, got 3"):
        import_model(folder, tmp_path / "c")


# --------------------------------------------------------------------------------------------------------- real models


@pytest.fixture
def firefox(corpora: Path) -> Path:
    folder = corpora.parent / "models" / "firefox-enpt"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.mark.slow
def test_a_model_of_firefox_translates_like_a_plain_reading_of_its_file(firefox: Path, tmp_path: Path):
    """The oracle next to the model decodes greedily with numpy."""
    spec = importlib.util.spec_from_file_location("oracle", firefox / "read_and_decode.py")
    assert spec is not None
    assert spec.loader is not None
    oracle: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    oracle.open = lambda path, mode: io.BytesIO(Path(path).read_bytes())  # it does not close its files
    (tmp_path / "model.bin").write_bytes(gzip.decompress((firefox / "model.enpt.intgemm.alphas.bin.gz").read_bytes()))
    model = oracle.M(str(tmp_path / "model.bin"))
    bundle = import_model(firefox, tmp_path / "b").bundle
    tokenizer = bundle.tokenizers()["source"]
    processor = SentencePieceProcessor(model_proto=gzip.decompress((firefox / "vocab.enpt.spm.gz").read_bytes()))
    lines = [
        "The weather is nice today.",
        "He said that 13 of the 27 ships had returned to the harbour before the storm.",
        "Please restart your computer to finish installing updates!",
    ]
    inputs = [SearchInput(tokenizer.encode(line)) for line in lines]
    found = TorchEngine.open(bundle).search(inputs, SearchSettings(beam=1))
    for line, hypotheses in zip(lines, found, strict=True):
        ids, log_prob = model.greedy([*processor.encode(line), 0])
        assert tokenizer.decode(hypotheses[0].tokens) == processor.decode(ids)
        assert hypotheses[0].log_prob / (len(ids) + 1) == pytest.approx(float(log_prob), abs=1e-3)
    assert json.dumps(bundle.config.model.model_dump())


@pytest.mark.slow
def test_words_of_a_model_of_firefox_are_linked_to_their_translations(firefox: Path, tmp_path: Path):
    """Its first head of the last layer was trained to align; the other maps point one word back."""
    translator = Translator.open(import_model(firefox, tmp_path / "b").bundle, threads=1)
    translation = translator.translate("My brother bought a red car yesterday.", alignment=True)
    assert translation.text == "Meu irmão comprou um carro vermelho ontem."
    assert translation.alignment is not None
    torch_engine = Translator.open(tmp_path / "b", engine="torch", threads=1)
    (maps,) = torch_engine.attention([translation.source], [translation.text])
    assert sorted(maps.words().links() or ()) == sorted(translation.alignment), "align --reading predicted"
    assert sorted(translation.alignment) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (5, 4), (6, 6)]


@pytest.mark.slow
def test_a_model_of_firefox_is_read_from_zstd(firefox: Path, tmp_path: Path):
    packed = tmp_path / "packed"
    packed.mkdir()
    for path in firefox.glob("*.gz"):
        (packed / f"{path.stem}.zst").write_bytes(zstd(gzip.decompress(path.read_bytes())))
    first, second = (
        import_model(folder, tmp_path / f"{number}").bundle for number, folder in enumerate((firefox, packed))
    )
    for name in ("weights.safetensors", "tokenizer.imported"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
