"""A package on the path of this process, as pip installs it: a module, its metadata and its entry points."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dragoman.plugins import forget_plugins


@contextmanager
def installed_package(folder: Path, name: str, entries: Mapping[str, str], code: str = "") -> Iterator[None]:
    """Install a package of one module; `entries` are "group name" -> "module:attribute"."""
    module = name.replace("-", "_")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[dragoman.{key.split()[0]}]\n{key.split()[1]} = {value}\n" for key, value in entries.items()]
    (metadata / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    with on_path(folder, module):
        yield


@contextmanager
def on_path(folder: Path, *modules: str) -> Iterator[None]:
    """Put a folder of packages on the path, and look for plug-ins in it; afterwards forget them and their modules."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    forget_plugins()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        forget_plugins()
        for name in list(sys.modules):
            if name.partition(".")[0] in modules:
                del sys.modules[name]
