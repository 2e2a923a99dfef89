"""CTranslate2, imported without torch.

Where torch is installed, parts of CTranslate2 import it to convert torch tensors: `ctranslate2.specs`, and in older
versions the package itself. We hand over numpy arrays, and torch would take seconds and hundreds of megabytes to load.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from dragoman.environment import require

__all__ = ["import_ctranslate2"]

_lock = threading.Lock()


def import_ctranslate2(module: str = "ctranslate2") -> Any:
    """The package, or a module of it. Torch is not loaded for its sake, but used by it if it is there already."""
    require("ctranslate2", "export", "the CTranslate2 engine")
    if module in sys.modules:
        return importlib.import_module(module)
    with _lock, _without_torch():
        return importlib.import_module(module)


@contextmanager
def _without_torch() -> Iterator[None]:
    """In this thread torch cannot be imported for a while; other threads notice nothing."""
    if "torch" in sys.modules:
        yield
        return
    hidden = _Hidden("torch", threading.get_ident())
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)


class _Hidden(MetaPathFinder):
    """Says that a module is not installed, to one thread."""

    def __init__(self, name: str, thread: int) -> None:
        self.name = name
        self.thread = thread

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == self.name and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"{fullname} is not imported for CTranslate2", name=fullname)
        return None
