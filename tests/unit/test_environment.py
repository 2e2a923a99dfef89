"""What this machine is, and what is installed."""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.environment import (
    available_memory,
    default_threads,
    extras,
    import_package,
    install_command,
    machine_info,
    require,
    usable_cores,
)
from dragoman.errors import MissingExtraError


def test_a_signature_says_what_a_figure_was_measured_on():
    here = machine_info()
    assert here.cores >= 1
    for part in (here.processor, f"{here.cores} cores", here.python, str(here.torch)):
        assert part in here.signature


def test_cores_are_those_we_may_use_or_all_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch):
    assert 1 <= usable_cores() == machine_info().cores
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert usable_cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def test_a_package_that_cannot_be_imported_is_named_with_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "onnxdamaged.py").write_text("raise ImportError('libonnx.so: no such file')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        MissingExtraError, match=r"cannot be imported: libonnx\.so: no such file; .* pip install --force-reinstall "
    ):
        import_package("onnxdamaged", "export", "the ONNX engine")
    with pytest.raises(MissingExtraError, match="needs the package onnxnone"):
        import_package("onnxnone", "export", "the ONNX engine")
    assert import_package("json", "export", "the ONNX engine") is json


def test_extras_are_read_from_the_installed_package():
    found = extras()
    assert {package.name for package in found[""]} >= {"numpy", "pydantic", "sentencepiece", "typer"}
    assert all(package.installed for package in found[""])
    assert "torch" in {package.name for package in found["train"]}
    torch = next(package for package in found["train"] if package.name == "torch")
    assert torch.required.startswith(">=")


def test_a_distribution_that_is_not_there_has_no_extras():
    assert extras("no-such-distribution") == {}


def test_require_passes_what_is_there_and_says_how_to_mend_what_is_not():
    require("json", "train", "this test")
    with pytest.raises(MissingExtraError, match=re.escape(f"install it with {install_command('train')}")):
        require("no_such_module", "train", "this test")


@pytest.fixture
def installed_from(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Pretend an installation with a record of its source, and not a clone."""

    def pretend(record: str | None) -> None:
        found = SimpleNamespace(read_text=lambda _: record)
        monkeypatch.setattr(importlib.metadata, "distribution", lambda _: found)
        monkeypatch.setattr("dragoman.environment.__file__", "/site-packages/dragoman/environment.py")
        listed = ["numpy>=2", "absent>=1.5; extra == 'train'", "numpy<9,>=2 ; extra == 'train'"]
        monkeypatch.setattr(importlib.metadata, "requires", lambda _: listed)
        monkeypatch.setattr("dragoman.environment.package_version", {"numpy": "2.1"}.get)

    return pretend


def test_extras_are_installed_from_the_clone_or_wheel_of_the_install(
    tmp_path: Path, installed_from: Callable[[str | None], None]
):
    folder, wheel = tmp_path / "a clone", tmp_path / "dragoman_nmt-0.1.0-py3-none-any.whl"
    folder.mkdir()
    for source, path in ((folder, folder / "pyproject.toml"), (wheel, wheel)):
        installed_from(json.dumps({"url": source.as_uri()}))
        assert install_command("train") == 'pip install "absent>=1.5"', "the source is gone"
        path.touch()
        assert install_command("train") == f'pip install "{source}[train]"'
        assert install_command(upgrade=True) == f'pip install --upgrade "{source}"'


@pytest.mark.parametrize("text", [None, "{", "[]", '{"url": 1}', '{"url": "https://example.org/x.whl"}'])
def test_without_its_source_the_missing_packages_are_named(
    text: str | None, installed_from: Callable[[str | None], None]
):
    installed_from(text)
    assert install_command("train") == 'pip install "absent>=1.5"', "no index has to hold Dragoman"
    assert install_command() == 'pip install "numpy>=2"'


def test_a_clone_that_is_not_installed_is_its_own_source(monkeypatch: pytest.MonkeyPatch):
    def missing(_: str) -> None:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert install_command("export") == f'pip install "{Path(__file__).resolve().parents[2]}[export]"'


@pytest.mark.parametrize(("variable", "threads"), [("3", 3), ("2,4", 2), ("", 7), ("0", 7), ("many", 7)])
def test_engines_follow_the_usual_variable(variable: str, threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    monkeypatch.setattr("dragoman.environment.usable_cores", lambda: 7)
    assert default_threads() == threads


@pytest.mark.parametrize(
    ("files", "available"),
    [
        ({}, 9 << 20),
        ({"memory.max": "max", "memory.current": "5"}, 9 << 20),
        ({"memory.max": "4000", "memory.current": "1000", "memory.stat": "anon 500\nfile 300\n"}, 3300),
        ({"memory/memory.limit_in_bytes": "4000", "memory/memory.usage_in_bytes": "1000"}, 3000),
        ({"memory.max": "4000", "memory.current": "5000"}, 0),
    ],
)
def test_the_available_memory_is_that_of_the_control_group(
    files: dict[str, str], available: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, text in ({"meminfo": "MemTotal: 99999 kB\nMemAvailable:   9216 kB\n"} | files).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr("dragoman.environment._CGROUPS", tmp_path)
    monkeypatch.setattr("dragoman.environment._MEMORY", tmp_path / "meminfo")
    assert available_memory() == available
    (tmp_path / "meminfo").unlink()
    assert available_memory() is None, "not Linux"


_COUNT_HEAPS = """
import ctypes, os, sys, threading
from dragoman import environment
environment.usable_cores = lambda: 2
if sys.argv[1:]:
    environment.limit_heaps()
barrier = threading.Barrier(9)
def work():
    kept = bytes(100_000)
    barrier.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads:
    each.start()
barrier.wait()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
reading, writing = os.pipe()
file = ctypes.c_void_p(libc.fdopen(writing, b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
print(os.read(reading, 1 << 16).count(b"<heap nr="))
"""


@pytest.mark.skipif(os.name == "nt" or not hasattr(ctypes.CDLL(None), "malloc_info"), reason="not glibc")
def test_threads_share_heaps():
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    counts = []
    for arguments in (["limited"], []):
        command = [sys.executable, "-c", _COUNT_HEAPS, *arguments]
        counts.append(int(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout))
    assert counts[0] <= 2 < counts[1]
