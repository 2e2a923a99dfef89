"""Corpora of a configuration."""

import io
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.config import DataConfig
from dragoman.data.preparation.corpus_sources import CorpusSource, list_corpora, open_source
from dragoman.errors import ConfigError, DataError


def test_a_preparation_needs_a_training_corpus():
    """The configuration of an imported model names its languages, and no corpus."""
    with pytest.raises(ConfigError, match=r"data\.train has no corpus"):
        list_corpora(DataConfig(source="en", target="de"))


@contextmanager
def standard_input(descriptor: int) -> Iterator[None]:
    kept = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def opened(folder: Path) -> CorpusSource:
    data = DataConfig.model_validate({"source": "en", "target": "de", "train": [{"files": ["-"], "format": "tsv"}]})
    (role, name, corpus), *_ = list_corpora(data)
    return open_source(role, name, corpus, data, folder=folder, work=folder, processes=1)


@pytest.mark.skipif(sys.platform == "win32", reason="other descriptors")
@pytest.mark.parametrize("kind", ["file", "pipe", "socket"])
def test_standard_input_is_stored(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is opened again, at its beginning; a socket cannot be."""
    (tmp_path / "a.tsv").write_bytes(b"file\tb\n")
    reading, writing = os.pipe()
    here, there = socket.socketpair()
    os.write(writing, b"pipe\tb\n")
    os.close(writing)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"socket\tb\n")))
    with here, there, (tmp_path / "a.tsv").open("rb") as file, os.fdopen(reading, "rb") as pipe:
        given = {"file": file.fileno(), "pipe": pipe.fileno(), "socket": here.fileno()}[kind]
        with standard_input(given):
            (name,) = opened(tmp_path).reader.files()
    assert Path(name).read_text() == f"{kind}\tb\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices")
def test_a_device_as_standard_input_is_refused(tmp_path: Path):
    with (
        Path("/dev/zero").open("rb") as zero,
        standard_input(zero.fileno()),
        pytest.raises(DataError, match="standard input is a device"),
    ):
        opened(tmp_path)
