"""Models that learn to translate between the languages of the hand-aligned sentences, by `dragoman train`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.alignment.corpus import CORPORA, write_corpus

NAMES = ("bahdanau", "luong", "local-p", "transformer", "plain")
DIRECTIONS = {"de-en": "de-en", "en-de": "de-en", "en-fr": "en-fr", "fr-en": "en-fr", "en-zh": "en-zh"}
"""Which corpus a direction is learnt from."""

_HERE = Path(__file__).parent
_SPLITS = ("train", "dev")


def corpus_of(output: Path, direction: str, data: Path) -> Path:
    """The folder of the text, which is written if it is not there."""
    pair = CORPORA[DIRECTIONS[direction]]
    folder = output / "corpus" / pair.name
    if not (folder / "gold.links").is_file():
        write_corpus(data, folder, pair)
    return folder


def bundle_of(output: Path, direction: str, name: str) -> Path:
    """Where the translator lies once it is trained."""
    return output / "runs" / direction / name / "run" / "bundle"


def train(name: str, direction: str, output: Path, data: Path, updates: int | None = None) -> None:
    """The commands of a user; an interrupted training is resumed. `updates` shortens the training."""
    corpus = corpus_of(output, direction, data)
    folder = bundle_of(output, direction, name).parent.parent
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "dragoman.toml"
    text = (_HERE / f"{name}.toml").read_text(encoding="utf-8")
    if updates is not None:
        text = re.sub(r"(?m)^max_updates = .*$", f"max_updates = {updates}", text)
    text += _data_section(corpus, direction)
    config.write_text(text, encoding="utf-8")
    for command in (["prepare"], ["train", "--resume"]):
        subprocess.run([sys.executable, "-m", "dragoman", command[0], str(config), *command[1:]], check=True)


def _data_section(corpus: Path, direction: str) -> str:
    """The configuration of the training data; models of one direction share the prepared data."""
    source, target = direction.split("-")
    files = {split: [str((corpus / f"{split}.{side}").resolve()) for side in (source, target)] for split in _SPLITS}
    return (
        f'\n[data]\nsource = "{source}"\ntarget = "{target}"\nfolder = "../prepared"\n'
        f"\n[data.cleaning]\nmax_words = {CORPORA[DIRECTIONS[direction]].longest}\n"
        f"\n[[data.train]]\nfiles = {json.dumps(files['train'])}\n"
        f"\n[data.validation]\nfiles = {json.dumps(files['dev'])}\n"
    )
