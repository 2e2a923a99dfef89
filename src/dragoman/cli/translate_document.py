"""Documents on the command line: ``dragoman translate BUNDLE report.docx -o report.de.docx``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError, DataError, MissingExtraError

if TYPE_CHECKING:
    from dragoman.api.translator import Translator

__all__ = ["DOCUMENTS", "translate_document"]

DOCUMENTS = frozenset({".docx", ".htm", ".html", ".md", ".odt", ".po", ".pptx", ".srt", ".tmx", ".xlf", ".xliff"})
"""Suffixes of inputs that are not lines of text. Plain text is: it may be large, and goes on after a crash."""

_ZIPPED = frozenset({".docx", ".odt", ".pptx"})


def translate_document(
    source: Path, output: Path | None, open_: Callable[[], Translator], *, force: bool, unfit: dict[str, bool]
) -> None:
    """Translate a document; all that can be said before a model is loaded is said before.

    `open_` loads it. `unfit` are options that mean nothing for a document, and whether they were given.
    """
    for option, is_given in unfit.items():
        if is_given:
            raise ConfigError(f"{option} must come with lines of text, got the document {source.name}; leave it out")
    _check_output(source, output, force=force)
    try:
        from dragoman.api.document_translation import read_bytes
        from dragoman.api.document_translation import translate_document as translated
        from dragoman.documents.formats import read_document
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"documents need the package {error.name}, got none; pip install 'dragoman[serve]'"
        ) from None
    from dragoman.cli.progress import ScreenProgress
    from dragoman.files import whole

    if not source.is_file():
        raise DataError(f"the input must be a file, got {source}; check the path")
    data = read_bytes(source)
    read_document(source.name, data)  # what is wrong with it is known now
    translator = open_()
    with ScreenProgress(unit="text") as screen:
        screen.begin(f"translating {source.name}", share=0.0)
        result = translated(
            translator, source.name, data, lambda done, total: screen.advance(done / max(total, 1), done)
        )
    if output is None:
        sys.stdout.buffer.write(result)
        sys.stdout.buffer.flush()
        return
    with whole(output) as draft:
        draft.write_bytes(result)


def _check_output(source: Path, output: Path | None, *, force: bool) -> None:
    suffix = source.suffix.lower()
    if output is None:
        if suffix in _ZIPPED:
            raise ConfigError(f"a {suffix[1:]} document must be written to a file, got no name for it; name it with -o")
        return
    if output.suffix.lower() != suffix:
        raise ConfigError(f"the output must end in {suffix} as the input does, got {output.name}; rename it")
    if not output.parent.is_dir():
        raise ConfigError(f"the output must be in a folder that is there, got {output}; make {output.parent} first")
    if output.exists() and not (output.is_file() and force):
        raise ConfigError(f"{output} must be new, got a file that is there; name another, or overwrite it with --force")
    if output.exists() and source.exists() and output.samefile(source):
        raise ConfigError(f"the input must not be what is written to, got {source}; give the output another name")
