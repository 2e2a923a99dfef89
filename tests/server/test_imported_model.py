"""An imported model from its files to a server: import, translate, fine-tune, export, serve."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from dragoman import Bundle, Translator, prepare, train
from dragoman.config import to_toml
from dragoman.engines.export import export_bundle
from dragoman.importing.import_model import import_model
from tests.server.bundles import request, serving, translate_text
from tests.unit.importing.random_firefox import firefox_folder
from tests.unit.importing.random_marian import SHAPES, write_vocabularies

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


def project(folder: Path, bundle: Bundle) -> Path:
    """A configuration that fine-tunes a bundle for 20 updates."""
    model = to_toml(bundle.config).partition("[model]\n")[2].partition("\n[")[0]
    train_files, held_out = write_corpus(folder, "train", 300, 1), write_corpus(folder, "held-out", 20, 2)
    path = folder / "dragoman.toml"
    path.write_text(
        f"""
[start]
bundle = "{bundle.folder.name}"

[data]
source = "en"
target = "pt"
folder = "prepared"
max_tokens = 60
validation = {{ files = {held_out} }}

[[data.train]]
files = {train_files}

[model]
{model}

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
    first = Translator.open(imported, threads=1)
    assert first.engine_reason == "onnx int8, 1 thread"
    assert first.translate("the cat sat on the mat", beam=2).text is not None

    config = project(tmp_path, imported)
    prepare(config)
    tuned = train(config, run=tmp_path / "run").bundle
    assert tuned is not None
    sources, targets = ((tmp_path / f"held-out.{side}").read_text("utf-8").splitlines() for side in ("en", "pt"))
    before, after = (
        sum(each.score for each in Translator.open(bundle, threads=1).score(sources, targets))
        for bundle in (imported, tuned)
    )
    assert after > before, "20 updates raise the log-probability of held-out text"
    assert tuned.quantization() is None
    assert tuned.tokenizers()["source"].to_bytes() == imported.tokenizers()["source"].to_bytes()

    exported = export_bundle(tuned, "onnx", precision="int8")
    assert {"reader.onnx", "writer.onnx", "output.onnx"} <= exported.sizes.keys()
    wanted = Translator.open(tuned, precision="int8", threads=1).translate("the old town", beam=2).text
    assert asyncio.run(served(tuned, "the old town")) == wanted


async def served(bundle: Bundle, text: str) -> str:
    async with serving({"en-pt": bundle.folder}, precision="int8", threads=1) as service:
        return await translate_text(service, text, request("en", "pt"))
