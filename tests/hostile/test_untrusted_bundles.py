"""An untrusted bundle is rejected quickly with one message and without side effects."""

import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config
from dragoman.errors import BundleError
from dragoman.text import train_sentencepiece
from testkit.random_bundle import RNN, constant_weights
from testkit.untrusted_bundles import CASES, SIGNAL, reseal
from testkit.untrusted_sizes import SIZE_CASES

SECONDS = 2.0
SUSPECT = ("ctypes", "os.exec", "os.fork", "os.posix_spawn", "os.system", "pickle", "socket", "urllib")

_heard: list[str] | None = None


def _listen(event: str, args: tuple[Any, ...]) -> None:
    """Record audit events while a test enables it; an audit hook cannot be removed."""
    if _heard is None:
        return
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    probes = event == "subprocess.Popen" and list(args[1])[1:3] == ["-I", "-c"]
    if event.startswith(SUSPECT) or (event == "subprocess.Popen" and not probes) or event == "exec":
        _heard.append(f"{event} {args}")
    elif writes and isinstance(args[0], str | bytes):
        _heard.append(f"write {os.fsdecode(args[0])}")


sys.addaudithook(_listen)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "bundle"
    tokenizer = train_sentencepiece(["the house is small", "das Haus ist klein"] * 20, size=300)
    tokenizers = {"source": tokenizer, "target": tokenizer}
    config = load_config("luong2015-desk", RNN)
    write_bundle(folder, config, constant_weights(config, tokenizers), tokenizers, "# A card\n")
    Bundle.open(folder)  # the control; and Python has loaded all it needs to read one
    return folder


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def spent() -> float:
    """Seconds of computing, here and in processes that were waited for: what other programs do does not count."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[str], float]:
    """The error message, the recorded events, and the time."""
    heard: list[str] = []
    began = spent()
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "_heard", heard)
        with pytest.raises(BundleError) as caught:
            Bundle.open(path)
    return str(caught.value), heard, spent() - began


def test_there_are_enough():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", [name for name in (*CASES, *SIZE_CASES) if name != "weights of another bundle"])
def test_it_is_refused(name: str, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    shutil.copytree(good, tmp_path / "bundle")
    path = (CASES | SIZE_CASES)[name](tmp_path / "bundle") or tmp_path / "bundle"
    before = names(tmp_path)
    message, heard, seconds = refused(path, monkeypatch)
    assert [event for event in heard if not event.startswith(f"write {temporary}{os.sep}dragoman-bundle-")] == []
    assert names(tmp_path) == before
    assert not (tmp_path / SIGNAL).exists()
    assert seconds <= SECONDS
    assert len(message) < 1000
    assert message.isprintable()


def test_hashes_are_compared_even_if_all_else_is_right(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "bundle"
    shutil.copytree(good, folder)
    CASES["weights of another bundle"](folder)
    message, _, _ = refused(folder, monkeypatch)
    assert "weights.safetensors has other content" in message
    reseal(folder)
    Bundle.open(folder)  # the control: nothing else was wrong with it


def test_the_ear_hears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    heard: list[str] = []
    monkeypatch.setattr(sys.modules[__name__], "_heard", heard)
    (tmp_path / "x").write_bytes(b"")
    os.system("true")
    assert [event.split()[0] for event in heard] == ["write", "os.system"]
