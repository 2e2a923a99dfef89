"""Every command answers a bad file with one line; no file of a user shows a traceback."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed

BINARY = bytes(range(256)) * 20
TOML = b'extends = "pairs-30k"\n[data]\nsource = "en"\ntarget = "de"\n[[data.train]]\nfiles = ["text", "text"]\n'


def a_folder(path: Path) -> None:
    path.mkdir()


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def bytes_of(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


FILES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "a folder": a_folder,
    "a link to itself": a_link_to_itself,
    "empty": bytes_of(b""),
    "binary": bytes_of(BINARY),
    "zeros": bytes_of(bytes(100)),
    "a bad end of UTF-8": bytes_of(b"a b\nc \xe4"),
    "UTF-16": bytes_of("a b\n".encode("utf-16")),
    "half a zip": bytes_of(b"PK\x03\x04" + BINARY),
    "half a gzip": bytes_of(gzip.compress(BINARY)[:-20]),
    "half of JSON": bytes_of(b'{"a": [1, '),
    "other JSON": bytes_of(b'[{"a": 1}, null]'),
    "deep JSON": bytes_of(b"[" * 100_000),
    "a long number": bytes_of(b"x = " + b"9" * 5000),
    "half of XML": bytes_of(b"<tmx><body><tu>"),
    "half of Parquet": bytes_of(b"PAR1" + BINARY),
    "half of TOML": bytes_of(TOML[:-10]),
    "other TOML": bytes_of(b'extends = "pairs-30k"\ndata = 1\n'),
}
"""Content that is no valid file of any kind that a command reads, with few exceptions."""

COMMANDS = [
    "translate BUNDLE FILE",
    "translate FILE text",
    "translate BUNDLE text --ensemble FILE",
    "translate BUNDLE text --glossary FILE.tsv",
    "translate BUNDLE text --glossary FILE.csv",
    "translate BUNDLE FILE.gz",
    *(f"translate BUNDLE FILE.{suffix} -o out.{suffix}" for suffix in ("docx", "html", "md", "odt", "po", "pptx")),
    *(f"translate BUNDLE FILE.{suffix} -o out.{suffix}" for suffix in ("srt", "tmx", "xlf")),
    "score BUNDLE FILE",
    "score BUNDLE FILE text",
    "score BUNDLE text FILE.gz",
    "evaluate FILE --test text text",
    "evaluate text --test FILE text",
    "evaluate text --test text FILE",
    "align BUNDLE FILE",
    "align BUNDLE text text --gold FILE",
    "compare FILE text --test text text",
    "compare FILE",
    "inspect FILE text",
    "export FILE --to ctranslate2",
    "config show FILE.toml",
    *(
        f"new new --source en --target de --corpus FILE.{suffix}"
        for suffix in ("tsv", "csv", "tmx", "jsonl", "parquet")
    ),
    "new new --source en --target de --corpus FILE --corpus text",
    "check FILE.toml --no-measure",
    "prepare FILE.toml",
    "train FILE.toml",
    "average FILE -o out",
    "serve FILE --check",
    "serve BUNDLE --check --config FILE.toml",
    "serve BUNDLE --check --keys FILE",
]
"""Each command with FILE for each of its files. The model is called with texts that cannot be read, so never loaded."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_file_is_one_line(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    problems = []
    for number, (kind, write) in enumerate(FILES.items()):
        Path("text").write_text("a b\nc d\n", encoding="utf-8")
        words = command.split()
        name = next(f"f{number}{word.removeprefix('FILE')}" for word in words if word.startswith("FILE"))
        write(Path(name))
        words = [
            name if word.startswith("FILE") else str(tiny_bundle()) if word == "BUNDLE" else word for word in words
        ]
        if words[0] in ("translate", "score", "align"):
            words += QUICK if words[0] == "translate" else QUICK[:4]
        result = typed(*words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            problems.append(f"{kind}: {type(result.exception).__name__}: {result.exception}")
            continue
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        if result.exit_code and len(errors) != 1:
            problems.append(f"{kind}: exit code {result.exit_code} with {len(errors)} errors: {result.stderr[-300:]}")
        elif errors and (not errors[0].isprintable() or len(errors[0]) > 1000):
            problems.append(f"{kind}: {errors[0][:200]!r}")
        for made in ("new", "out"):
            shutil.rmtree(made, ignore_errors=True)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", ["manifest.json", "report.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"format": 2}', b"[" * 100_000, BINARY])
def test_bad_prepared_data_is_one_line(name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("dragoman.toml").write_bytes(TOML)
    Path("prepared").mkdir()
    Path("prepared", "manifest.json").write_text(json.dumps({"format": 2}), encoding="utf-8")
    Path("prepared", name).write_bytes(content)
    result = typed("train")
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.count("error: ") == 1
