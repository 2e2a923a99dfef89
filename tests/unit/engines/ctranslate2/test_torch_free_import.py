"""Importing CTranslate2 does not import torch, and does not affect other threads."""

import importlib
import subprocess
import sys
import threading

import pytest

from dragoman.engines.ctranslate2 import token_id_client
from dragoman.engines.ctranslate2.token_id_client import import_ctranslate2
from dragoman.errors import MissingExtraError

pytest.importorskip("ctranslate2")

SCRIPT = """
import sys
from dragoman.engines.ctranslate2.token_id_client import import_ctranslate2

specs = import_ctranslate2("ctranslate2.specs")
assert import_ctranslate2("ctranslate2.specs") is specs
assert "torch" not in sys.modules
before = list(sys.meta_path)
import_ctranslate2()
assert sys.meta_path == before
"""


def test_it_comes_without_torch():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)


def test_other_threads_find_what_is_hidden_from_one(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a_hidden_module.py").write_text("value = 1")
    monkeypatch.syspath_prepend(tmp_path)
    hidden = token_id_client._Hidden("a_hidden_module", threading.get_ident())
    monkeypatch.setattr(sys, "meta_path", [hidden, *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="not imported for CTranslate2"):
        importlib.import_module("a_hidden_module")
    found = []
    thread = threading.Thread(target=lambda: found.append(importlib.import_module("a_hidden_module").value))
    thread.start()
    thread.join()
    assert found == [1]


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.environment.is_installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r'pip install ".+\[export\]"'):
        import_ctranslate2()
