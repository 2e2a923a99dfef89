"""Import CTranslate2 without importing torch.

If torch is installed, parts of CTranslate2 import it to convert torch tensors: `ctranslate2.specs`, and in older
versions the package itself. We pass numpy arrays, and torch takes seconds and hundreds of megabytes to load.
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from dragoman.environment import import_package

_lock = threading.Lock()


def import_ctranslate2(module: str = "ctranslate2") -> Any:
    """Import the package or one of its modules. Torch is not loaded for it, but used if already loaded."""
    what = "the CTranslate2 engine"
    if module in sys.modules:
        return import_package(module, "export", what)
    with _lock, _without_torch():
        return import_package(module, "export", what)


@contextmanager
def _without_torch() -> Iterator[None]:
    """Block the import of torch in this thread only."""
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
    """Raises ModuleNotFoundError for one module in one thread."""

    def __init__(self, name: str, thread: int) -> None:
        self.name = name
        self.thread = thread

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == self.name and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"{fullname} is not imported for CTranslate2", name=fullname)
        return None
