"""Every command with every set of extras: what is installed, the command lines, and what they may answer."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.adapter import ADAPTER, Adapter, base_hash
from dragoman.config import parse_config
from dragoman.engines.ctranslate2.export import export_ctranslate2
from testkit.random_bundle import random_bundle, words

SETS = {"base": (), "serve": ("serve",), "export": ("export",), "train": ("train",)}
"""Sets of extras, by name."""

PRESETS = {"transformer": "vaswani2017-desk", "rnn": "luong2015-desk", "ssru": "kim2019-ssru-desk"}


@dataclass(frozen=True)
class CommandLine:
    """Arguments of a command; `{name}` is a file of `write_files`. A long one computes for more than seconds."""

    text: str
    is_long: bool = False
    stdin: str = ""

    def arguments(self, folder: Path) -> list[str]:
        """Return the arguments with paths in `folder`."""
        return [word.format(folder=folder) for word in self.text.split()]


LINES = (
    CommandLine("--help"),
    CommandLine("--version"),
    CommandLine("doctor"),
    CommandLine("config show pairs-30k"),
    CommandLine("config schema"),
    CommandLine("config presets"),
    CommandLine("new {folder}/new --source en --target de --corpus {folder}/train.en {folder}/train.de"),
    CommandLine("check {folder}/project --no-measure", is_long=True),
    CommandLine("prepare {folder}/project", is_long=True),
    CommandLine("train {folder}/project --set training.max_updates=3 --set training.checkpoint_every=1", is_long=True),
    CommandLine(
        "tune {folder}/project --space {folder}/tune.toml --set training.max_updates=2 --set training.validate_every=1",
        is_long=True,
    ),
    CommandLine("average {folder}/project/run -o {folder}/averaged", is_long=True),
    CommandLine("demo {folder}/demo", is_long=True),
    CommandLine("translate {folder}/transformer {folder}/small.en"),
    CommandLine("memory list --database sqlite:///{folder}/data.db"),
    CommandLine("translate {folder}/rnn {folder}/small.en"),
    CommandLine("translate {folder}/transformer {folder}/page.html -o {folder}/out.html --force"),
    CommandLine("backtranslate {folder}/transformer {folder}/some.en -o {folder}/synthetic --sample --temperature 999"),
    CommandLine("distill {folder}/transformer {folder}/some.en -o {folder}/distilled --sample --temperature 999"),
    CommandLine("score {folder}/transformer {folder}/small.en {folder}/small.de"),
    CommandLine("align {folder}/rnn {folder}/small.en {folder}/small.de"),
    CommandLine("evaluate {folder}/transformer --test {folder}/small.en {folder}/small.de"),
    CommandLine("evaluate {folder}/small.de --test {folder}/small.en {folder}/small.de"),
    CommandLine("compare {folder}/transformer {folder}/rnn -o {folder}/runs.html"),
    CommandLine(
        "compare {folder}/small.de {folder}/small.de --test {folder}/small.en {folder}/small.de -o {folder}/c.html"
    ),
    CommandLine("inspect {folder}/rnn a b --max-length 4"),
    CommandLine("inspect {folder}/rnn a b --max-length 4 -o {folder}/map.svg"),
    CommandLine("export {folder}/transformer --to ctranslate2 -o {folder}/ct2"),
    CommandLine("export {folder}/rnn --to onnx -o {folder}/onnx"),
    CommandLine("import {folder}/foreign -o {folder}/imported"),
    CommandLine("shortlist {folder}/ssru {folder}/small.en {folder}/small.de -o {folder}/shortlisted"),
    CommandLine("prune {folder}/transformer --text {folder}/small.en --text {folder}/small.de -o {folder}/pruned"),
    CommandLine("merge {folder}/transformer {folder}/adapter.safetensors -o {folder}/merged"),
    CommandLine("serve {folder}/transformer --check"),
    CommandLine("serve --new-key me --keys {folder}/keys.txt"),
)

_INSTALL = re.compile(r'^error: .* needs the package \S+; install it with pip install ".+\[(\w+)\]"$')


def write_files(folder: Path) -> None:
    """Write the corpora, the project and the untrained bundles that the command lines name."""
    folder.mkdir(parents=True, exist_ok=True)
    draw, known = random.Random(1), words(1, 400)
    pairs = [draw.choices(known, k=7) for _ in range(2500)]
    for side, step in (("en", 1), ("de", -1)):
        lines = [" ".join(pair[::step]) for pair in pairs]
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for name, count in (("small", 3), ("some", 60)):
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines[:count]), encoding="utf-8")
    (folder / "page.html").write_text("<p>a b</p>", encoding="utf-8")
    (folder / "project").mkdir(exist_ok=True)
    (folder / "project" / "dragoman.toml").write_text(_PROJECT, encoding="utf-8")
    space = "trials = 2\nmin_updates = 1\n[space]\ntraining.seed = [1, 2]\n"
    (folder / "tune.toml").write_text(space, encoding="utf-8")
    for family, preset in PRESETS.items():
        _bundle(folder / family, random_bundle(folder / f"{family}-random", preset))
    bundle = Bundle.open(folder / "transformer")
    _ctranslate2_model(folder / "foreign", bundle)
    _adapter(bundle).save(folder / ADAPTER)


_PROJECT = """
extends = "pairs-30k"
[tokenizer]
size = 300
[model]
dim = 32
heads = 2
feedforward = 64
encoder_layers = 1
decoder_layers = 1
[training]
validation_sentences = 2
[data]
source = "en"
target = "de"
validation_pairs = 20
[[data.train]]
files = ["../train.en", "../train.de"]
[data.cleaning]
max_similarity = 1.0
"""


def _bundle(folder: Path, made: Bundle) -> None:
    data = {"source": "en", "target": "de", "train": [{"files": ["a", "b"]}]}
    config = parse_config(made.config.model_dump(exclude_none=True) | {"data": data})
    write_bundle(folder, config, made.weights(), made.tokenizers(), "# Never trained\n")


def _ctranslate2_model(folder: Path, bundle: Bundle) -> None:
    """Write a model of CTranslate2 whose tokens are single characters, so that it needs no tokenizer."""
    folder.mkdir()
    export_ctranslate2(bundle, folder, "float32")
    for path in folder.glob("*_vocabulary.json"):
        tokens = json.loads(path.read_text(encoding="utf-8"))
        characters = [chr(0x4E00 + number) for number in range(len(tokens) - 4)]
        path.write_text(json.dumps([*tokens[:4], *characters]), encoding="utf-8")


def _adapter(base: Bundle) -> Adapter:
    """Return an adapter of rank 1 of one weight matrix, with random factors."""
    name, weight = next((name, weight) for name, weight in base.weights().items() if name.endswith(".W_qkv"))
    draw = np.random.default_rng(1)
    factors = (draw.standard_normal((1, weight.shape[1])), draw.standard_normal((weight.shape[0], 1)))
    down, up = (factor.astype(np.float32) for factor in factors)
    return Adapter(base_hash(base), rank=1, alpha=1.0, factors={name: (down, up)})


def suggested(code: int, stderr: str) -> str:
    """Return the extra that a command names as missing; empty if it succeeded. Raise for any other answer."""
    if code == 0:
        return ""
    errors = [line for line in stderr.splitlines() if line.startswith("error: ")]
    found = _INSTALL.match(errors[0]) if len(errors) == 1 else None
    if code != 3 or found is None or "Traceback" in stderr:
        raise AssertionError(f"exit code {code}: {stderr[-800:]}")
    return found[1]
