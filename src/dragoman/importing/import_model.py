"""Import a model: find its format from its files, read it and write a bundle with a model card."""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dragoman.bundle import Bundle, imported_model_card, write_bundle
from dragoman.config import Config, parse_config
from dragoman.errors import BundleError, ConfigError, DragomanError
from dragoman.importing import argos_package, ctranslate2_folder, hugging_face_marian, marian_folder
from dragoman.importing.imported_model import ImportedModel
from dragoman.importing.source_files import SourceFolder, reason
from dragoman.importing.target_token import choose_target
from dragoman.language_codes import check_language
from dragoman.progress import NoProgress, Progress
from dragoman.version import __version__

__all__ = ["FORMATS", "ImportResult", "import_model"]

_MAX_README = 1 << 20
_DAMAGE = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError),
    *(lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)
_LICENCE = re.compile(r"^licen[sc]e:\s*[\"']?([A-Za-z0-9][\w.+ -]{0,80})", re.MULTILINE)


@dataclass(frozen=True)
class Format:
    """A format: its title, the files it consists of, a test for a folder, and a reader."""

    title: str
    files: str
    matches: Callable[[SourceFolder], bool]
    read: Callable[[SourceFolder], ImportedModel]


FORMATS = {
    "hugging-face": Format(
        "Hugging Face MarianMT (OPUS-MT)",
        hugging_face_marian.FILES,
        hugging_face_marian.matches,
        hugging_face_marian.read,
    ),
    "argos": Format("Argos package", argos_package.FILES, argos_package.matches, argos_package.read),
    "ctranslate2": Format("CTranslate2", ctranslate2_folder.FILES, ctranslate2_folder.matches, ctranslate2_folder.read),
    "firefox": Format(
        "Firefox Translations (Bergamot)",
        marian_folder.FIREFOX_FILES,
        marian_folder.matches_firefox,
        marian_folder.read_firefox,
    ),
    "marian": Format("Marian", marian_folder.MARIAN_FILES, marian_folder.matches_marian, marian_folder.read_marian),
}
"""Formats by the value of ``--from``."""


@dataclass(frozen=True)
class ImportResult:
    """The bundle, the name of its format, and facts that a user should read."""

    bundle: Bundle
    format: str
    notes: tuple[str, ...]


def import_model(
    source: Path,
    output: Path,
    *,
    format_name: str | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    licence: str | None = None,
    progress: Progress | None = None,
) -> ImportResult:
    """Convert the model in a folder, or in an Argos package, to a bundle.

    `format_name` is a key of `FORMATS`; by default the files determine it. `languages` are source and target, for
    models whose files do not name them; of a model with several target languages, the target is chosen by them.
    """
    given = (languages[0] and check_language(languages[0]), languages[1] and check_language(languages[1]))
    if source.is_file() and zipfile.is_zipfile(source):
        with ExitStack() as opened:
            with _damage_refused(source):
                folder = opened.enter_context(argos_package.unpacked(source))
            return _import(SourceFolder(folder), source, output, format_name, given, languages[1], licence, progress)
    return _import(SourceFolder.open(source), source, output, format_name, given, languages[1], licence, progress)


@contextmanager
def _damage_refused(source: Path) -> Iterator[None]:
    """Report what damaged or hostile files raise in a reader as one line."""
    try:
        yield
    except DragomanError:
        raise
    except _DAMAGE as error:
        raise BundleError(f"{source} must be an undamaged model, got: {reason(error)}; get its files again") from error


def _import(
    folder: SourceFolder,
    source: Path,
    output: Path,
    format_name: str | None,
    languages: tuple[str | None, str | None],
    target_code: str | None,
    licence: str | None,
    progress: Progress | None,
) -> ImportResult:
    progress = progress or NoProgress()
    name = format_name or _find(folder)
    if name not in FORMATS:
        raise ConfigError(f"--from must be one of {', '.join(FORMATS)}, got {name!r}; leave it out to find the format")
    progress.begin(f"reading {FORMATS[name].title}")
    with _damage_refused(source):
        model = FORMATS[name].read(folder)
    if model.target_tokens:
        choose_target(model, languages[1], target_code)
    config = _config(model, _origin(folder, source), FORMATS[name].title, languages)
    notes = list(model.notes)
    if config.data is None:
        notes.append("the languages are not named in the files; --source-language and --target-language set them")
    licence = licence or _licence(folder)
    facts = {
        "format": FORMATS[name].title,
        "origin": _origin(folder, source),
        "files": [(each.name, each.size, each.sha256) for each in folder.used.values()],
        "parameters": sum(array.size for array in model.weights.values()),
        "notes": notes,
        "versions": {"dragoman": __version__},
        "licence": licence,
    }
    progress.begin("writing the bundle")
    bundle = write_bundle(
        output,
        config,
        model.weights,
        model.tokenizers,
        imported_model_card(config, facts),
        quantization=model.quantization,
        shortlist=model.shortlist,
    )
    if not licence:
        notes.append("the files state no licence; --licence records it in the model card")
    return ImportResult(bundle, name, tuple(notes))


def _find(folder: SourceFolder) -> str:
    for name, each in FORMATS.items():
        if each.matches(folder):
            return name
    known = "; ".join(f"{each.title}: {each.files}" for each in FORMATS.values())
    raise BundleError(
        f"{folder.path} must hold a model of a known format ({known}), got {folder.listing()}; "
        "docs/importing.md lists the formats"
    )


def _config(model: ImportedModel, origin: str, title: str, languages: tuple[str | None, str | None]) -> Config:
    source, target = (given or found for given, found in zip(languages, model.languages, strict=True))
    tokenizers = model.tokenizers
    joint = tokenizers["source"].to_bytes() == tokenizers["target"].to_bytes()
    table = {
        "description": f"Imported from {title}: {origin}",
        "tokenizer": {
            "kind": tokenizers["source"].kind,
            "joint": joint,
            "size": max(8, *(each.size for each in tokenizers.values())),
            "normal_form": "none",  # the tokenizer normalizes
        },
        "model": model.model,
    }
    return parse_config(table | ({"data": {"source": source, "target": target}} if source and target else {}))


def _origin(folder: SourceFolder, source: Path) -> str:
    """The name of the source folder, or of a model in the cache of Hugging Face, without the path."""
    for part in (source.resolve().name, *folder.path.resolve().parts[::-1]):
        if part.startswith("models--"):
            return "/".join(part.split("--")[1:])
    return source.resolve().name


def _licence(folder: SourceFolder) -> str:
    """The licence in the header of README.md, the model card of Hugging Face."""
    if not folder.has("README.md") or (folder.path / "README.md").stat().st_size > _MAX_README:
        return ""
    text = folder.read("README.md", max_bytes=_MAX_README).decode("utf-8", "replace")
    header = text.split("---", 2)[1] if text.startswith("---") and text.count("---") > 1 else ""
    found = _LICENCE.search(header)
    return found[1].strip() if found else ""
