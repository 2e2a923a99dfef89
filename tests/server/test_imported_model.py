"""An imported model from its files to a server: import, translate, fine-tune, export, serve."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path

import pytest

from dragoman import Bundle, Translator, prepare, train
from dragoman.engines.export_cache import export_bundle
from dragoman.importing.import_model import import_model
from testkit.random_models.random_firefox import firefox_folder
from testkit.random_models.random_marian import SHAPES, write_vocabularies
from tests.server.bundles import request, serving, translate_text
from tests.unit.cli.tiny_translators import typed

pytest.importorskip("onnxruntime")

WORDS = {"the": "o", "cat": "gato", "sat": "sentou", "on": "no", "mat": "tapete", "old": "velha", "town": "cidade"}


def write_corpus(folder: Path, name: str, lines: int, seed: int) -> list[str]:
    """A word-by-word translation of random words."""
    generator = random.Random(seed)
    sentences = [generator.choices(list(WORDS), k=generator.randint(3, 7)) for _ in range(lines)]
    for side, texts in (
        ("en", [" ".join(words) for words in sentences]),
        ("pt", [" ".join(WORDS[word] for word in words) for words in sentences]),
    ):
        (folder / f"{name}.{side}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return [str(folder / f"{name}.en"), str(folder / f"{name}.pt")]


def project(folder: Path, bundle: Bundle, vocabulary: str) -> Path:
    """A configuration that fine-tunes a bundle for 20 updates."""
    train_files, held_out = write_corpus(folder, "train", 300, 1), write_corpus(folder, "held-out", 20, 2)
    path = folder / "dragoman.toml"
    path.write_text(
        f"""
[start]
bundle = "{bundle.folder.name}"
vocabulary = "{vocabulary}"

[data]
source = "en"
target = "pt"
folder = "prepared"
max_tokens = 60
validation = {{ files = {held_out} }}

[[data.train]]
files = {train_files}

[training]
learning_rate = 3e-3
warmup_updates = 5
max_updates = 20
batch_tokens = 512
validate_every = 20
checkpoint_every = 20
threads = 1
""".replace("'", '"'),
        "utf-8",
    )
    return path


@pytest.mark.slow
def test_import_translate_fine_tune_export_and_serve(tmp_path: Path) -> None:
    write_vocabularies(tmp_path, SHAPES["shared, swish"])
    source = firefox_folder(tmp_path / "firefox", (tmp_path / "source.spm").read_bytes(), lexicon=True)
    imported = import_model(source, tmp_path / "imported", languages=("en", "pt")).bundle
    assert getattr(imported.config.model, "dropout", None) == 0.0, "students are trained without dropout"
    first = Translator.open(imported, threads=1)
    assert first.engine_reason == "onnx int8, 1 thread"
    assert first.translate("the cat sat on the mat", beam=2).text is not None

    config = project(tmp_path, imported, "same")
    prepare(config)
    tuned = train(config, run=tmp_path / "run").bundle
    assert tuned is not None
    printed = typed("train", config, "--output", tmp_path / "lora", "--set", "training.lora.rank=4")
    assert re.search(r"M|k|\d parameters, .* trained \(\d", printed.stderr)
    assert re.search(r"(?m)^validation +20  base +[\d.]+ ± [\d.]+ +[\d.]+ ± [\d.]+$", printed.stdout), printed.output
    assert re.search(r"(?m)^validation +20  trained +[\d.]+ ± [\d.]+( \*)? +[\d.]+ ± [\d.]+( \*)?$", printed.stdout)
    adapted = Bundle.open(tmp_path / "lora" / "bundle")
    sources, targets = ((tmp_path / f"held-out.{side}").read_text("utf-8").splitlines() for side in ("en", "pt"))
    before, after, with_lora = (
        sum(each.score for each in Translator.open(bundle, threads=1).score(sources, targets))
        for bundle in (imported, tuned, adapted)
    )
    assert after > before, "20 updates raise the log-probability of held-out text"
    assert with_lora > before, "and so do 20 updates of LoRA"
    kept = tuned.quantization()
    assert kept is not None
    assert kept.inputs
    assert not kept.weights, "fine-tuned weights have new scales"
    assert tuned.tokenizers()["source"].to_bytes() == imported.tokenizers()["source"].to_bytes()

    exported = export_bundle(tuned, "onnx", precision="int8")
    assert {"reader.onnx", "writer.onnx", "output.onnx"} <= exported.sizes.keys()
    wanted = Translator.open(tuned, precision="int8", threads=1).translate("the old town", beam=2).text
    assert asyncio.run(served(tuned, "the old town")) == wanted


@pytest.mark.slow
def test_braces_are_written_after_the_vocabulary_is_extended(tmp_path: Path) -> None:
    write_vocabularies(tmp_path, SHAPES["shared, swish"])
    source = firefox_folder(tmp_path / "firefox", (tmp_path / "source.spm").read_bytes())
    imported = import_model(source, tmp_path / "imported", languages=("en", "pt")).bundle
    config = project(tmp_path, imported, "extend")
    for side in ("en", "pt"):
        path = tmp_path / f"train.{side}"
        lines = path.read_text("utf-8").splitlines()
        path.write_text("".join(f"{line} {{0}}\n" for line in lines), "utf-8")
    prepare(config)
    tuned = train(config, run=tmp_path / "run").bundle
    assert tuned is not None
    old, new = (bundle.tokenizers()["target"] for bundle in (imported, tuned))
    assert [new.id_to_token(number) for number in range(old.size, new.size)][:2] == ["{", "}"]
    scored = [
        sum(each.score for each in Translator.open(bundle, threads=1).score(["the cat {0}"], ["o gato {0}"]))
        for bundle in (imported, tuned)
    ]
    assert scored[1] > scored[0]


async def served(bundle: Bundle, text: str) -> str:
    async with serving({"en-pt": bundle.folder}, precision="int8", threads=1) as service:
        return await translate_text(service, text, request("en", "pt"))
