"""CTranslate2 folders and Argos packages become bundles that translate as CTranslate2 does."""

import json
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor

from dragoman import Translator
from dragoman.bundle import Bundle
from dragoman.config.search import SearchSettings
from dragoman.engines.ctranslate2.export import export_ctranslate2
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError, ConfigError
from dragoman.importing.file_formats.bergamot_file import read_variables
from dragoman.importing.import_model import import_model
from dragoman.search.hypothesis import SearchInput
from testkit.random_models.random_marian import SHAPES, write_folder
from tests.unit.engines.tiny_transformers import random_sentences, tiny_transformer

ctranslate2 = pytest.importorskip("ctranslate2")

KINDS: dict[str, dict[str, str]] = {
    "pre-norm, all tied": {},
    "post-norm, biases, swish": {"norm": "post", "attention_bias": "true", "activation": "swish"},
    "output tied, learned positions": {"tie": "target", "positions": "learned", "max_positions": "40"},
    "two vocabularies, sinusoids from 1": {
        "tie": "none",
        "joint": "false",
        "positions": "sinusoidal-tensor2tensor",
        "position_offset": "1",
    },
    "no end of the source, not scaled": {"source_end": "false", "scale_embeddings": "false", "activation": "gelu"},
}


def exported(folder: Path, settings: dict[str, str], precision: Any = "float32") -> tuple[Bundle, Path]:
    """A random Transformer as a bundle and as a folder of CTranslate2, whose tokens are single characters."""
    bundle = tiny_transformer(folder / "original", settings)
    target = folder / "ct2"
    target.mkdir()
    export_ctranslate2(bundle, target, precision)
    for name in target.glob("*_vocabulary.json"):
        tokens = json.loads(name.read_text())
        name.write_text(json.dumps([*tokens[:4], *(chr(0x4E00 + number) for number in range(len(tokens) - 4))]))
    return bundle, target


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_comes_back_with_the_same_log_probabilities(kind: str, tmp_path: Path):
    original, folder = exported(tmp_path, KINDS[kind])
    imported = import_model(folder, tmp_path / "b").bundle
    assert imported.config.model.tie == original.config.model.tie
    sources, targets = random_sentences(20, seed=1), random_sentences(20, seed=2)
    expected = [each.log_prob for each in TorchEngine.open(original).score(sources, targets)]
    found = [each.log_prob for each in TorchEngine.open(imported).score(sources, targets)]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_int8_is_the_weights_times_their_scales(tmp_path: Path):
    original, folder = exported(tmp_path, KINDS["two vocabularies, sinusoids from 1"], "int8")
    imported = import_model(folder, tmp_path / "b").bundle
    exact, near = original.weights(), imported.weights()
    assert exact.keys() == near.keys()
    for name, array in exact.items():
        scale = np.abs(array).max(-1, keepdims=True) / 127 if array.ndim == 2 else 1e-6
        is_near = np.abs(array - near[name]) <= 0.51 * scale + 1e-6
        if "embedding" in name or "output" in name:  # padding and the start are never predicted
            is_near[[0, 2]] = True
        assert is_near.all(), name


@pytest.fixture
def real(corpora: Path) -> Path:
    folder = corpora.parent / "models" / "ctranslate2-aren"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.mark.parametrize("name", ["aren-transliteration", "aren-transliteration-i8"])
def test_models_of_ctranslate2_translate_as_with_ctranslate2(name: str, real: Path, tmp_path: Path):
    """float32 before and after; the int8 model with its weights in float32 on both sides."""
    words = ["آتزمون", "آتشي", "محمد", "سلام", "كتاب", "بغداد", "القاهرة", "دمشق", "ليلى", "خالد"]
    translator = ctranslate2.Translator(str(real / name), device="cpu", compute_type="float32", intra_threads=1)
    results = translator.translate_batch([list(word) for word in words], beam_size=4, return_scores=True)
    imported = import_model(real / name, tmp_path / "b").bundle
    tokenizers = imported.tokenizers()
    inputs = [SearchInput(tokenizers["source"].encode(word)) for word in words]
    found = TorchEngine.open(imported).search(inputs, SearchSettings(beam=4))
    texts = [tokenizers["target"].decode(hypotheses[0].tokens) for hypotheses in found]
    assert texts == ["".join(result.hypotheses[0]) for result in results]
    assert texts[0] == "atzmon"
    np.testing.assert_allclose([each[0].score for each in found], [each.scores[0] for each in results], atol=1e-4)


def test_a_folder_without_its_tokenizer_is_refused(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "original")
    (tmp_path / "ct2").mkdir()
    export_ctranslate2(bundle, tmp_path / "ct2", "float32")
    with pytest.raises(BundleError, match=r"must hold the SentencePiece model of its tokens, got config\.json"):
        import_model(tmp_path / "ct2", tmp_path / "b")


def _patched(path: Path, place: int, form: str, value: int) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, place, value)
    path.write_bytes(bytes(data))


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "version": (lambda path: _patched(path, 0, "<I", 99), "must be of a version from 2 to 6, got 99"),
    "name": (lambda path: _patched(path, 4, "<H", 65535), "must hold "),
    "count": (lambda path: _patched(path, 6 + 16 + 4, "<I", 1 << 31), "must hold at most 100,000 variables"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-9]), "ends at byte"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "must end at position"),
    "empty": (lambda path: path.write_bytes(b""), "must have 1 to"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(damage: str, tmp_path: Path):
    _, folder = exported(tmp_path, {})
    change, complaint = DAMAGE[damage]
    change(folder / "model.bin")
    with pytest.raises(BundleError) as caught:
        import_model(folder, tmp_path / "b")
    assert complaint in str(caught.value)
    assert not (tmp_path / "b").exists()


def test_a_shape_that_lies_about_its_size_is_refused(tmp_path: Path):
    _, folder = exported(tmp_path, {})
    data = (folder / "model.bin").read_bytes()
    shape = struct.pack("<BII", 2, 64, 16)
    assert shape in data
    (folder / "model.bin").write_bytes(data.replace(shape, struct.pack("<BII", 2, 1 << 31, 1 << 31), 1))
    with pytest.raises(BundleError, match="must have the size of its shape"):
        import_model(folder, tmp_path / "b")


# --------------------------------------------------------------------------------------------------------------- Argos


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The unpacked folder of an Argos package, around the vocabulary of a generated model."""
    marian = write_folder(tmp_path / "marian", SHAPES["shared, swish"])
    bundle = import_model(marian, tmp_path / "first").bundle
    folder = tmp_path / "translate-en_pt-1_0"
    (folder / "model").mkdir(parents=True)
    export_ctranslate2(bundle, folder / "model", "int8")
    shutil.copy(marian / "source.spm", folder / "sentencepiece.model")
    (folder / "metadata.json").write_text(json.dumps({"from_code": "en", "to_code": "pt", "target_prefix": ""}))
    return folder


def zipped(folder: Path, archive: Path, *more: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            opened.write(file, f"{folder.name}/{file.relative_to(folder)}")
        for name, data in more:
            opened.writestr(name, data)
    return archive


def test_a_package_and_its_folder_give_the_same_bundle(package: Path, tmp_path: Path):
    archive = zipped(package, tmp_path / "en_pt.argosmodel")
    from_folder = import_model(package, tmp_path / "a").bundle
    from_archive = import_model(archive, tmp_path / "b").bundle
    assert from_archive.config.data is not None
    assert (from_archive.config.data.source, from_archive.config.data.target) == ("en", "pt")
    expected, found = from_folder.weights(), from_archive.weights()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert "| model/model.bin, " in from_archive.card()
    tokenizer = from_archive.tokenizers()["source"]
    assert tokenizer.decode(tokenizer.encode("the cat sat")) == "the cat sat"


@pytest.mark.parametrize("prefix", ["", "o"])
def test_other_languages_than_those_of_the_metadata_are_refused(prefix: str, package: Path, tmp_path: Path):
    metadata = {"from_code": "en", "to_code": "pt", "target_prefix": prefix}
    (package / "metadata.json").write_text(json.dumps(metadata))
    with pytest.raises(
        ConfigError, match=r"--source-language must be en, as in metadata\.json .*, got de; leave it out"
    ):
        import_model(package, tmp_path / "a", languages=("de", None))
    with pytest.raises(ConfigError, match=r"--target-language must be .*pt.*, got '?de'?; "):
        import_model(package, tmp_path / "a", languages=(None, "de"))
    assert not (tmp_path / "a").exists()
    same = import_model(package, tmp_path / "a", languages=("EN", "por"))
    assert not any("recorded" in note for note in same.notes)


def test_a_target_prefix_begins_every_translation(package: Path, tmp_path: Path):
    """CTranslate2 forces the prefix, and it is no part of the translation."""
    texts = ["the cat sat on the mat", "where is the old town", "it is the train"]
    original = ctranslate2.Translator(str(package / "model"), device="cpu", compute_type="float32", intra_threads=1)
    processor = SentencePieceProcessor(model_file=str(package / "sentencepiece.model"))
    expected = []
    for prefix in ("o", "▁the"):
        results = original.translate_batch(
            [processor.encode(text, return_type=str) for text in texts],
            target_prefix=[[prefix]] * len(texts),
            beam_size=1,
            max_decoding_length=12,
        )
        expected.append([result.hypotheses[0][1:] for result in results])
        (package / "metadata.json").write_text(
            json.dumps({"from_code": "en", "to_code": "pt", "target_prefix": prefix})
        )
        bundle = import_model(package, tmp_path / str(len(prefix))).bundle
        data = bundle.config.data
        assert data is not None
        assert (data.language_tokens, data.language_token_names) == ("target", [f"pt:{prefix}"])
        translator = Translator.open(bundle.folder, engine="torch", search=SearchSettings(beam=1, max_length=12))
        target = bundle.tokenizers()["target"]
        found = [translator.translate(text).text for text in texts]
        ids = [[target.token_to_id(token) for token in tokens] for tokens in expected[-1]]
        assert found == [translator.postprocessor.tokenizer.decode(some) for some in ids]
    assert expected[0] != expected[1]


def test_a_package_writes_nothing_outside(package: Path, tmp_path: Path):
    more = [("../../escaped", b"x"), ("/escaped", b"x"), (f"{package.name}/model/../../escaped", b"x")]
    archive = zipped(package, tmp_path / "en_pt.argosmodel", *more)
    before = set(tmp_path.rglob("*"))
    import_model(archive, tmp_path / "b")
    assert {path.name for path in set(tmp_path.rglob("*")) - before if "escaped" in path.name} == set()


def test_other_packages_are_refused(package: Path, tmp_path: Path):
    again = zipped(package, tmp_path / "twice.argosmodel", ("other/metadata.json", b"{}"))
    with pytest.raises(BundleError, match=r"must hold metadata\.json once"):
        import_model(again, tmp_path / "b")
    for prefix in ("__de__", "<s>", 7):
        (package / "metadata.json").write_text(json.dumps({"target_prefix": prefix}))
        with pytest.raises(BundleError, match=r"target_prefix in metadata\.json must be a token of the target"):
            import_model(package, tmp_path / "b")
    (package / "metadata.json").write_text(json.dumps({"target_prefix": "o"}))
    with pytest.raises(BundleError, match=r"metadata\.json has a target_prefix, but no from_code or to_code"):
        import_model(package, tmp_path / "b")
    (package / "metadata.json").write_text("{}")
    (package / "sentencepiece.model").unlink()
    with pytest.raises(BundleError, match=r"must hold sentencepiece\.model, got metadata\.json"):
        import_model(package, tmp_path / "b")


def stored(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def test_aliases_do_not_multiply_the_memory(tmp_path: Path):
    matrix = stored("w") + struct.pack("<BIIBI", 2, 100, 100, 0, 40_000) + bytes(40_000)
    aliases = b"".join(stored(f"a{number}") + stored("w") for number in range(1000))
    head = struct.pack("<I", 6) + stored("TransformerSpec") + struct.pack("<II", 7, 1)
    path = tmp_path / "model.bin"
    path.write_bytes(head + matrix + struct.pack("<I", 1000) + aliases)
    with pytest.raises(BundleError, match="must have at most 16 times its size as weights"):
        read_variables(path)


def test_a_damaged_package_is_refused_in_one_line(tmp_path: Path):
    package = tmp_path / "en_de.argosmodel"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("en_de/metadata.json", json.dumps({"from_code": "en", "to_code": "de"}) * 50)
        archive.writestr("en_de/model/model.bin", bytes(range(256)) * 50)
    data = bytearray(package.read_bytes())
    data[60:100] = bytes(byte ^ 0xFF for byte in data[60:100])
    package.write_bytes(data)
    with pytest.raises(BundleError) as refused:
        import_model(package, tmp_path / "b")
    assert len(str(refused.value).splitlines()) == 1
