"""Programs and parsers that open documents, by the ending of a file."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path


def office(path: Path) -> None:
    """Convert a file with LibreOffice."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "pdf"]
        subprocess.run([*command, "--outdir", folder, str(path)], check=True, capture_output=True, timeout=300)
        assert next(Path(folder).glob("*.pdf")).stat().st_size > 0


def parsed(module: str, function: str, path: Path) -> None:
    """Open a file with a function of a package."""
    assert getattr(import_module(module), function)(str(path)) is not None


def notebook(path: Path) -> None:
    found = import_module("nbformat")
    found.validate(found.read(str(path), as_version=4))


def docutils(path: Path) -> None:
    """Parse reStructuredText; directives of other programs are unknown, other errors are findings."""
    settings = {"report_level": 5, "file_insertion_enabled": False, "raw_enabled": False}
    tree = import_module("docutils.core").publish_doctree(path.read_text(), settings_overrides=settings)
    messages = [each.astext() for each in tree.findall(import_module("docutils.nodes").system_message)]
    wrong = [each for each in messages if "(ERROR" in each or "(SEVERE" in each]
    wrong = [each for each in wrong if not re.search(r"Unknown |No (?:role|directive)|disabled|Error in \"", each)]
    assert not wrong, wrong[0]


OPENERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    **dict.fromkeys(("xlsx", "ods", "odp"), ("LibreOffice", office)),
    "epub": ("EbookLib", partial(parsed, "ebooklib.epub", "read_epub")),
    "ipynb": ("nbformat", notebook),
    "rst": ("docutils", docutils),
    "vtt": ("webvtt-py", partial(parsed, "webvtt", "read")),
    **dict.fromkeys(("ass", "srt"), ("pysubs2", partial(parsed, "pysubs2", "load"))),
}
