"""`dragoman backtranslate`: pairs that `prepare` reads, filters without a second translation, and a record."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import prepare
from dragoman.api.files import input_lines
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import parse_config
from testkit.random_bundle import random_bundle, words
from tests.unit.cli.tiny_translators import tiny_bundle, typed

RANDOM = ("--engine", "torch", "--threads", "1", "--sample", "--temperature", "1000")
"""Samples of almost equally likely tokens: some of them end."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [" ".join(words(row, 6)) for row in range(120)] + ["", "123"]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def keep_lines(count: int) -> None:
    lines = Path("text").read_text(encoding="utf-8").split("\n")[:count]
    Path("text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def record(folder: Path = Path("out")) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    return found


def directed(folder: Path, source: str, target: str) -> Path:
    """A bundle with languages."""
    made = random_bundle(folder.with_name(f"{folder.name}-random"))
    data = {"source": source, "target": target, "train": [{"files": ["a", "b"]}]}
    config = parse_config(made.config.model_dump(exclude_none=True) | {"data": data})
    return write_bundle(folder, config, made.weights(), made.tokenizers(), "# Never trained\n").folder


def test_pairs_that_prepare_reads(place: Path):
    model = directed(place / "model", "de", "en")
    result = typed("backtranslate", model, "text", "-o", "out", *RANDOM, "--tag", "<BT>", "--noise")
    assert result.exit_code == 0, result.stderr

    pairs = record()["pairs"]
    assert pairs["kept"] > 5
    assert pairs["removed"] == {"empty": 1, "not translated": 1, "translation without an end": 120 - pairs["kept"]}
    assert f"pairs   {pairs['kept']} of 122 lines; removed: empty 1, not translated 1" in result.stderr
    sources = Path("out/synthetic.en").read_text(encoding="utf-8").split("\n")[:-1]
    targets = Path("out/synthetic.de").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(sources) == len(targets) == pairs["kept"]
    assert all(source.startswith("<BT> ") for source in sources)
    assert set(targets) <= set(Path("text").read_text(encoding="utf-8").split("\n"))

    assert result.stdout.startswith('[tokenizer]\nsymbols = ["<BT>", "<BLANK>"]\n\n[[data.train]]\nname = "back')
    for side, first in (("en", 500), ("de", 900)):
        text = "".join(f"{' '.join(words(row, 5))}\n" for row in range(first, first + 300))
        Path(f"real.{side}").write_text(text, encoding="utf-8")
    cleaning = "max_ratio = 100.0\nmin_letters = 0.0\nmin_script = 0.0\nmax_repeats = 0\nmax_word_characters = 2000\n"
    settings = f'extends = "pairs-5k"\n{result.stdout.replace("weight = 1.0", "weight = 0.5")}'
    settings += f'[[data.train]]\nfiles = ["real.en", "real.de"]\n[data.cleaning]\n{cleaning}'
    settings += '[data]\nsource = "en"\ntarget = "de"\nvalidation_pairs = 20\n'
    Path("dragoman.toml").write_text(settings, encoding="utf-8")
    prepared = prepare("dragoman.toml", overrides=["tokenizer.size=500"])
    assert prepared.tokenizers()["source"].tokens("<BT> a")[:2] == ["▁", "<BT>"]
    corpora = {each["name"]: each["rows"] for each in prepared.manifest["splits"]["train"]["corpora"]}
    assert corpora["back-translation"] > 5


def test_the_record_tells_what_wrote_what(place: Path):
    keep_lines(40)
    model = tiny_bundle()
    line = ("backtranslate", model, "text", "-o", "out", *RANDOM, "--seed", "3")
    result = typed(*line)
    assert result.exit_code == 0, result.stderr

    found = record()
    assert found["kind"] == "back-translation"
    assert found["models"] == [str(model)]
    assert found["translation"]["bundles"] == [Bundle.open(model).digest]
    assert found["translation"]["search"]["seed"] == 3
    assert found["filters"] == {"min_score": None}
    assert found["input"]["lines"] == 40
    with gzip.open("out/lines.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(each) for each in file]
    assert len(lines) == 40


def test_filters_change_without_translating_again(place: Path, monkeypatch: pytest.MonkeyPatch):
    line = ("backtranslate", tiny_bundle(), "text", "-o", "out", *RANDOM)
    assert typed(*line).exit_code == 0
    kept = record()["pairs"]["kept"]
    assert typed(*line).exit_code == 2  # the folder is not empty

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("translated again")

    monkeypatch.setattr(Translator, "translate", fail)
    assert typed(*line, "--resume", "--min-score", "-1e9", "--tag", "<BT>").exit_code == 0
    assert record()["pairs"]["kept"] == kept
    assert Path("out/synthetic.source").read_text(encoding="utf-8").count("<BT> ") == kept
    result = typed(*line, "--resume", "--min-score", "-0.001")
    assert result.exit_code == 1
    assert "none of 122 lines gave a pair; change the filters" in result.stderr
    other = typed(*line, "--resume", "--seed", "5")
    assert other.exit_code == 2
    assert "resumed with the options it started with, and seed changed" in other.stderr


def test_killed_and_resumed(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(input_lines, "_LINES", 16)
    line = ("backtranslate", tiny_bundle(), "text", *RANDOM)
    assert typed(*line, "-o", "whole").exit_code == 0
    calls, translate = 0, Translator.translate

    def end(self: Translator, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return translate(self, *arguments, **options)

    monkeypatch.setattr(Translator, "translate", end)
    assert typed(*line, "-o", "out").exit_code == 130
    assert not Path("out/record.json").exists()
    result = typed(*line, "-o", "out", "--resume")
    assert result.exit_code == 0, result.stderr
    for name in ("synthetic.source", "synthetic.target", "record.json"):
        assert (place / "out" / name).read_bytes() == (place / "whole" / name).read_bytes()


def test_batches_do_not_change_samples(place: Path):
    keep_lines(40)
    for folder, tokens in (("one", "4096"), ("many", "90")):
        line = ("backtranslate", tiny_bundle(), "text", "-o", folder, *RANDOM, "--batch-tokens", tokens)
        assert typed(*line).exit_code == 0
    assert Path("one/synthetic.source").read_bytes() == Path("many/synthetic.source").read_bytes()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("text", "--noise-drop", "0.3"), 2, "--noise-drop needs --noise"),
        (("text", "--tag", "a b"), 2, "--tag must"),
        (("text", "--workers", "2"), 2, "--workers needs --on"),
        (("none",), 1, "none is no text file; name one with one sentence per line"),
        (("out/text",), 2, "out/text is in the output folder; name another folder"),
    ],
)
def test_mistakes(place: Path, options: tuple[str, ...], code: int, message: str):
    if options[0] == "out/text":
        (place / "out").mkdir()
        (place / "out/text").write_text("a\n", encoding="utf-8")
    result = typed("backtranslate", tiny_bundle(), *options, "-o", "out", *RANDOM)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
