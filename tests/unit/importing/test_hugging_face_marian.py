"""MarianMT folders of Hugging Face become bundles that compute what transformers computes.

Expected values are in marian_reference.json, computed by make_marian_reference.py with transformers.
"""

import collections
import json
import pickle  # noqa: TID251 -- writes files that must be refused
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sentencepiece import SentencePieceProcessor

from dragoman.bundle import Bundle
from dragoman.config.search import SearchSettings
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError, ConfigError, DragomanError
from dragoman.importing.file_formats.pytorch_file import read_pytorch
from dragoman.importing.import_model import import_model
from dragoman.search.hypothesis import SearchInput
from dragoman.text import EOS_ID, UNK_ID
from testkit.random_models.random_marian import SHAPES, Shape, random_sentences, write_folder
from tests.unit.importing.make_marian_reference import LIMIT, LINES, SCORED

REFERENCE = json.loads(Path(__file__).with_name("marian_reference.json").read_text())["models"]
SMALL = SHAPES["shared, swish"]


def ours(ids: Sequence[int], shape: Shape) -> list[int]:
    """Ids of transformers in the order of a bundle: </s> is 0, <unk> is 1, and padding is last."""
    return [{0: EOS_ID, 1: UNK_ID}.get(number, number + 2) for number in ids if number != shape.vocab - 1]


@pytest.fixture(scope="module", params=SHAPES)
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Bundle]:
    folder = write_folder(tmp_path_factory.mktemp("source") / "opus-mt-en-pt", SHAPES[request.param])
    return request.param, import_model(folder, tmp_path_factory.mktemp("bundle") / "b").bundle


def test_log_probabilities_are_those_of_transformers(imported: tuple[str, Bundle]):
    name, bundle = imported
    shape = SHAPES[name]
    sources = [ours(ids, shape) for ids in random_sentences(SCORED, shape.vocab)]
    targets = [ours(ids, shape) for ids in random_sentences(SCORED, shape.target_vocab, seed=2)]
    expected = [sum(row) for row in REFERENCE[name]["log_probs"]]
    for engine in (TorchEngine.open(bundle), CTranslate2Engine.open(bundle, threads=1)):
        found = [each.log_prob for each in engine.score(sources, targets)]
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(("search", "beam"), [("greedy", 1), ("beam", 4)])
def test_translations_are_those_of_transformers(imported: tuple[str, Bundle], search: str, beam: int):
    name, bundle = imported
    shape = SHAPES[name]
    inputs = [SearchInput(ours(ids, shape)) for ids in random_sentences(LINES, shape.vocab)]
    expected = [ours(ids, shape) for ids in REFERENCE[name][search]]
    settings = SearchSettings(beam=beam, max_length=LIMIT)
    for engine in (TorchEngine.open(bundle), CTranslate2Engine.open(bundle, threads=1)):
        found = [hypotheses[0].tokens for hypotheses in engine.search(inputs, settings)]
        ended = [number for number in range(LINES) if len(expected[number]) < LIMIT]
        compared = range(LINES) if beam == 1 else ended  # at the limit, transformers ranks unfinished ones with others
        assert len(ended) > LINES // 10
        assert [number for number in compared if found[number] != expected[number]] == []


def test_the_tokenizer_gives_the_ids_of_the_original(imported: tuple[str, Bundle], tmp_path: Path):
    """transformers segments with SentencePiece and looks the tokens up in vocab.json."""
    name, bundle = imported
    folder = write_folder(tmp_path / "again", SHAPES[name])
    texts = [
        "The cat sat.",
        "Where is  the old\tdog?",
        "ﬁne １０ o’clock…",
        "日本 log",
        "",
        "</s> <unk> <pad> <s>",
        "▁ under_score",
    ]
    for side, file in (
        ("source", "vocab.json"),
        ("target", "vocab.json" if SHAPES[name].shared else "target_vocab.json"),
    ):
        table = json.loads((folder / file).read_text())
        processor = SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        tokenizer = bundle.tokenizers()[side]
        for text in texts:
            tokens = processor.encode(text, return_type=str)
            expected = ours([table.get(token, 1) for token in tokens], SHAPES[name])
            assert tokenizer.encode(text) == expected
            assert tokenizer.tokens(text) == tokens
        assert tokenizer.decode(tokenizer.encode("the cat sat")) == "the cat sat"


def test_settings_languages_and_card(tmp_path: Path):
    folder = write_folder(tmp_path / "models--Helsinki-NLP--opus-mt-en-pt" / "snapshots" / "abc", SMALL)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# opus-mt\n")
    result = import_model(folder.parents[1], tmp_path / "b")
    config = result.bundle.config
    assert config.data is not None
    assert (config.data.source, config.data.target, config.data.train) == ("en", "pt", [])
    assert (config.model.family, config.model.tie, config.tokenizer.kind) == ("transformer", "all", "imported")
    card = result.bundle.card()
    assert "Helsinki-NLP/opus-mt-en-pt" in card
    assert "apache-2.0" in card
    for name in ("config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json"):
        assert f"| {name}, {(folder / name).stat().st_size:,} bytes | SHA-256 " in card
    assert str(tmp_path) not in card
    assert result.notes == ()
    assert Bundle.open(tmp_path / "b").digest == result.bundle.digest


def test_options_set_languages_and_licence(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SMALL)
    nothing = import_model(folder, tmp_path / "a")
    assert nothing.bundle.config.data is None
    assert [note.partition(";")[0] for note in nothing.notes] == [
        "the languages are not named in the files",
        "the files state no licence",
    ]
    named = import_model(folder, tmp_path / "b", languages=("de", "fr"), licence="CC-BY 4.0")
    assert named.bundle.config.data is not None
    assert (named.bundle.config.data.source, named.bundle.config.data.target) == ("de", "fr")
    assert "CC-BY 4.0" in named.bundle.card()
    assert named.notes == ()


def test_other_languages_than_those_of_the_files(tmp_path: Path):
    """Those in a file are certain; a folder may have been renamed, and a family of languages includes others."""
    folder = write_folder(tmp_path / "opus-mt-en-pt", SMALL)
    renamed = import_model(folder, tmp_path / "a", languages=("de", "pt-BR"))
    assert renamed.notes[0] == "the name of the model gives en → pt; --source-language de is recorded instead"
    assert not any("--target-language" in note for note in renamed.notes)
    assert renamed.bundle.config.data is not None
    assert (renamed.bundle.config.data.source, renamed.bundle.config.data.target) == ("de", "pt-BR")
    table = folder / "tokenizer_config.json"
    table.write_text(json.dumps({"source_lang": "eng", "target_lang": "por"}))
    with pytest.raises(
        ConfigError, match=r"--source-language must be en, as in tokenizer_config\.json .*, got de; leave"
    ):
        import_model(folder, tmp_path / "b", languages=("de", None))
    with pytest.raises(
        ConfigError, match=r"--target-language must be pt, as in tokenizer_config\.json .*, got es; leave"
    ):
        import_model(folder, tmp_path / "b", languages=("EN", "es"))
    table.write_text(json.dumps({"source_lang": "gmw", "target_lang": "por"}))
    family = import_model(folder, tmp_path / "b", languages=("de", None))
    assert family.notes[0] == "tokenizer_config.json gives gmw → pt; --source-language de is recorded instead"


def pickled(folder: Path, *, archive: bool = True) -> Path:
    """The same model with its weights in a PyTorch checkpoint, with tied names as transformers wrote them.

    `archive`: the layout since torch 1.6.
    """
    weights = {name: torch.from_numpy(array) for name, array in load_file(folder / "model.safetensors").items()}
    for name in ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"):
        weights[name] = weights["model.shared.weight"]
    weights["model.encoder.layers.0.fc1.weight"] = weights["model.encoder.layers.0.fc1.weight"].T.contiguous().T
    weights["counter"] = torch.zeros(3, dtype=torch.int64)
    state = collections.OrderedDict(weights)
    state._metadata = {"": {"version": 1}}  # type: ignore[attr-defined]  # as of a module
    path = folder / "pytorch_model.bin"
    torch.save(state, path, _use_new_zipfile_serialization=archive)  # noqa: TID251 -- the format to import
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.parametrize("archive", [True, False])
def test_a_pytorch_checkpoint_gives_the_same_weights(archive: bool, tmp_path: Path):
    folder = write_folder(tmp_path / "model", SMALL)
    expected = import_model(folder, tmp_path / "a").bundle.weights()
    found = import_model(pickled(folder, archive=archive), tmp_path / "b").bundle.weights()
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


class _Touch:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_with_code_is_refused_and_runs_nothing(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SMALL)
    (folder / "model.safetensors").unlink()
    for protocol in (2, 4):
        (folder / "pytorch_model.bin").write_bytes(
            pickle.dumps({"model.shared.weight": _Touch(tmp_path / "run")}, protocol)
        )
        with pytest.raises(BundleError, match="must be a PyTorch checkpoint that holds weights only"):
            import_model(folder, tmp_path / "b")
    torch.save({"model.shared.weight": _Touch(tmp_path / "run")}, folder / "pytorch_model.bin")  # noqa: TID251
    with pytest.raises(BundleError, match="must be a PyTorch checkpoint that holds weights only"):
        import_model(folder, tmp_path / "b")
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_tensors_of_other_precisions(dtype: torch.dtype, tmp_path: Path):
    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4).to(dtype)
    torch.save({"w": tensor.T, "part": tensor[1:, 2:]}, tmp_path / "a.bin")  # noqa: TID251 -- the format to import
    found = read_pytorch(tmp_path / "a.bin")
    assert np.array_equal(found.take("w", (4, 3)), tensor.T.float().numpy())
    assert np.array_equal(found.take("part", (2, 2)), tensor[1:, 2:].float().numpy())


def test_tensors_that_exceed_their_storage_are_refused(tmp_path: Path):
    """A stride of 0 repeats numbers: a small file would become a large matrix."""
    torch.save({"w": torch.zeros(1).expand(50, 50)}, tmp_path / "a.bin")  # noqa: TID251
    with pytest.raises(ValueError, match="a tensor that exceeds its storage of 1 numbers"):
        read_pytorch(tmp_path / "a.bin").take("w", (50, 50))


@pytest.mark.parametrize("is_archive", [True, False])
def test_tensors_that_share_numbers_may_not_be_much_larger_than_the_file(is_archive: bool, tmp_path: Path):
    whole = torch.zeros(100_000)
    state = {f"w{number}": whole.view(1000, 100) for number in range(100)}
    torch.save(state, tmp_path / "a.bin", _use_new_zipfile_serialization=is_archive)  # noqa: TID251
    with pytest.raises(BundleError, match="tensors of 40,000,000 bytes in a file of"):
        read_pytorch(tmp_path / "a.bin")
    torch.save({"w": whole[:4], "v": whole}, tmp_path / "b.bin", _use_new_zipfile_serialization=is_archive)  # noqa: TID251
    taken = read_pytorch(tmp_path / "b.bin").take("w", (4,))
    assert taken.base is None or taken.base.size == 4, "the storage is not kept"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"d_model": 17}, "model.shared.weight must have the shape (50, 17), got (50, 16)"),
        ({"d_model": 1 << 40}, "d_model in config.json must be from 1 to 1,048,576"),
        ({"d_model": 10**4000}, "must be from 1 to 1,048,576, got 1000000000000000000000000000000000000000; get"),
        ({"d_model": "16"}, "d_model in config.json must be a whole number, got '16'"),
        ({"encoder_layers": 1}, "got 16 more, such as model.encoder.layers.1.fc1.bias"),
        ({"encoder_layers": 3}, "have no model.encoder.layers.2.self_attn.q_proj.weight"),
        ({"normalize_before": True}, "normalize_before in config.json must be false, got true"),
        ({"activation_function": "tanh"}, "activation_function must be one of relu, gelu, swish, silu, got 'tanh'"),
        ({"encoder_attention_heads": 2}, "decoder_attention_heads in config.json must equal"),
        ({"encoder_attention_heads": 3, "decoder_attention_heads": 3}, "model.heads must divide model.dim = 16, got 3"),
        ({"eos_token_id": 999}, "the vocabulary must hold </s>"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], complaint: str, tmp_path: Path):
    folder = write_folder(tmp_path / "model", SMALL)
    (folder / "config.json").write_text(json.dumps(SMALL.config() | settings))
    with pytest.raises(DragomanError) as caught:
        import_model(folder, tmp_path / "b")
    assert complaint in str(caught.value)
    assert not (tmp_path / "b").exists()


def _vocabulary(folder: Path, change: dict[str, Any]) -> None:
    table = json.loads((folder / "vocab.json").read_text()) | change
    (folder / "vocab.json").write_text(json.dumps(table))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda folder: (folder / "vocab.json").write_text("[1]"), "must hold one whole number per token"),
        (lambda folder: (folder / "vocab.json").write_text("{"), "vocab.json must be JSON"),
        (lambda folder: _vocabulary(folder, {"new": 5}), "must give every token its own id from 0"),
        (lambda folder: _vocabulary(folder, {"new": "5"}), "must hold one whole number per token"),
        (lambda folder: _vocabulary(folder, {"new": 50}), "must have at least 51 rows, as the vocabulary, got 50"),
        (lambda folder: (folder / "source.spm").write_bytes(b"x" * 99), "must be a SentencePiece model"),
        (lambda folder: (folder / "target.spm").unlink(), "must hold target.spm, got config.json, model.safetensors"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b""), "must have 1 to"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 64), "must be a safetensors file"),
        (lambda folder: _resize(folder / "model.safetensors", -4), "must be a safetensors file"),
        (lambda folder: _infinite(folder / "model.safetensors"), "fc1.bias must hold finite numbers"),
    ],
)
def test_damaged_files_are_refused(damage: Any, complaint: str, tmp_path: Path):
    folder = write_folder(tmp_path / "model", SMALL)
    damage(folder)
    with pytest.raises(BundleError) as caught:
        import_model(folder, tmp_path / "b")
    assert complaint in str(caught.value)
    assert not (tmp_path / "b").exists()


def _resize(path: Path, change: int) -> None:
    path.write_bytes(path.read_bytes()[:change])


def _infinite(path: Path) -> None:
    weights = load_file(path)
    weights["model.encoder.layers.0.fc1.bias"] = weights["model.encoder.layers.0.fc1.bias"] * np.float32(np.inf)
    save_file(weights, path)


def test_an_unknown_folder_is_answered_with_its_files(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "weights.pt").write_bytes(b"x")
    with pytest.raises(BundleError, match=r"known format \(hugging-face, .* got weights\.pt; docs/importing\.md"):
        import_model(tmp_path / "a", tmp_path / "b")
    with pytest.raises(BundleError, match="does not exist; name the folder of the model"):
        import_model(tmp_path / "c", tmp_path / "b")


def test_half_precision_is_read(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SMALL)
    weights = load_file(folder / "model.safetensors")
    save_file({name: array.astype(np.float16) for name, array in weights.items()}, folder / "model.safetensors")
    found = import_model(folder, tmp_path / "a").bundle.weights()["encoder.layers.0.feedforward.W_1.weight"]
    expected = weights["model.encoder.layers.0.fc1.weight"].astype(np.float16).astype(np.float32)
    assert np.array_equal(found, expected)
    from safetensors.torch import save_file as save_torch

    save_torch(
        {name: torch.from_numpy(array).bfloat16() for name, array in weights.items()}, folder / "model.safetensors"
    )
    found = import_model(folder, tmp_path / "b").bundle.weights()["encoder.layers.0.feedforward.W_1.weight"]
    assert np.array_equal(found, torch.from_numpy(weights["model.encoder.layers.0.fc1.weight"]).bfloat16().float())


def test_an_earlier_bundle_is_replaced_but_no_other_folder(tmp_path: Path):
    folder = write_folder(tmp_path / "model", SMALL)
    import_model(folder, tmp_path / "b")
    import_model(folder, tmp_path / "b")
    shutil.copytree(folder, tmp_path / "other")
    with pytest.raises(BundleError, match="has other files than those of a bundle"):
        import_model(folder, tmp_path / "other")
