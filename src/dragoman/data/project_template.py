"""Create a new project: write a commented configuration file for given corpora."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.config import CorpusConfig, DataConfig, load_config, preset_names
from dragoman.data.reader_protocol import CorpusReader
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.readers.streams import STDIN, is_url
from dragoman.errors import ConfigError
from dragoman.files import atomic_write

__all__ = ["Project", "new_project"]

CONFIG = "dragoman.toml"

_PRESETS = ((15_000, "pairs-5k"), (80_000, "pairs-30k"), (1_500_000, "pairs-200k"))
_COUNT_AT_MOST = 5_000_000
_CHUNK = 65_536

_TEMPLATE = """\
# {source} → {target}. Every setting, with its default: dragoman config show {config}
extends = "{preset}" # others: dragoman config presets

[data]
source = "{source}"
target = "{target}"
{splits}
# on_bad_line = "skip"      # or "replace"; by default a line that is not valid text stops the preparation
# max_tokens = 256          # longer pairs are left out of training

[[data.train]]
files = {train}
# weight = 2.0              # draw its pairs twice as often
# Further corpora: another [[data.train]], with files of its own. Globs, .gz, .zst, .xz and URLs are fine.
{held_out}
[data.cleaning]
# language = true           # drop pairs in the wrong language: slow, and worth it for scraped text
# near_duplicates = true    # drop pairs that are nearly the same as an earlier one
# max_ratio = 3.0           # how many times longer one side may be

# [tokenizer]
# size = 8000               # tokens
"""


@dataclass(frozen=True)
class Project:
    """Result of `new_project`."""

    config: Path
    preset: str
    pairs: int
    is_exact: bool
    """Whether all pairs were counted; counting stops early in very large corpora."""


def new_project(
    folder: Path,
    *,
    source: str,
    target: str,
    train: Sequence[str],
    validation: Sequence[str] = (),
    test: Sequence[str] = (),
    preset: str | None = None,
) -> Project:
    """Write a commented ``dragoman.toml`` with a preset for the size of the corpus."""
    path = folder / CONFIG
    if path.exists():
        raise ConfigError(f"{path} must be new, got an existing file; move it away, or edit it")
    if STDIN in (*train, *validation, *test):
        raise ConfigError("a new project must name files, got - for standard input; write it into the file afterwards")
    DataConfig.model_validate({"source": source, "target": target, "train": [{"files": [*train]}]})
    if preset is not None and preset not in preset_names():
        load_config(preset)  # raises an error that lists the presets
    pairs = _count([*train], source, target)
    for held_out in (validation, test):
        if held_out:
            _open([*held_out], source, target)
    chosen = preset or next((name for most, name in _PRESETS if pairs < most), "pairs-5m")
    folder.mkdir(parents=True, exist_ok=True)
    text = _TEMPLATE.format(
        source=source,
        target=target,
        config=CONFIG,
        preset=chosen,
        splits="" if validation else f"validation_pairs = {_some(pairs):_} # taken from the training pairs",
        train=_listed(train, folder),
        held_out=_tables(folder, validation, test),
    )
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8")
        load_config(draft)
    return Project(path, chosen, pairs, pairs < _COUNT_AT_MOST)


def _open(files: list[str], source: str, target: str) -> CorpusReader:
    corpus = CorpusConfig.model_validate({"files": files})
    return open_corpus(corpus, source=source, target=target, folder=Path())


def _count(files: list[str], source: str, target: str) -> int:
    pairs = 0
    for chunk in _open(files, source, target).chunks(_CHUNK):
        pairs += chunk.read(on_bad_line="skip", max_line_bytes=1 << 30).records
        if pairs >= _COUNT_AT_MOST:
            break
    return pairs


def _some(pairs: int) -> int:
    """Return the size of the validation set: at most 2000 and a twentieth of the pairs."""
    return min(2000, pairs // 20)


def _tables(folder: Path, validation: Sequence[str], test: Sequence[str]) -> str:
    text = f"\n[data.validation]\nfiles = {_listed(validation, folder)}\n" if validation else ""
    return text + (f"\n[[data.test]]\nfiles = {_listed(test, folder)}\n" if test else "")


def _listed(files: Sequence[str], folder: Path) -> str:
    """Return paths for the configuration: relative for files in its folder, so that the folder can be moved."""
    named = []
    for file in files:
        if not is_url(file):
            resolved = Path(file).expanduser().absolute()
            inside = resolved.is_relative_to(folder.absolute())
            file = str(resolved.relative_to(folder.absolute()) if inside else resolved)
        named.append(file)
    return json.dumps(named, ensure_ascii=False)
