"""Import a model: find its format from its files, read it and write a bundle with a model card."""

from __future__ import annotations

import lzma
import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, imported_model_card, write_bundle
from dragoman.bundle.locate import explain_checkpoint, find_bundle
from dragoman.bundle.verified_folder import MANIFEST
from dragoman.config import Config, parse_config
from dragoman.errors import BundleError, ConfigError, DragomanError
from dragoman.importing import (
    argos_package,
    ctranslate2_folder,
    hugging_face_m2m100,
    hugging_face_marian,
    marian_folder,
)
from dragoman.importing.imported_model import ImportedModel
from dragoman.importing.source_files import SourceFolder, reason
from dragoman.importing.target_token import choose_target
from dragoman.language_codes import check_language, language_key
from dragoman.progress import NoProgress, Progress
from dragoman.version import __version__

__all__ = ["FORMATS", "ImportResult", "import_model"]

_BUNDLE_FILES = {MANIFEST, "weights.safetensors"}
_OF_DRAGOMAN = ("dragoman.toml", "run.json", f"bundle/{MANIFEST}")
_MAX_README = 1 << 20
_MAX_DEPTH, _MAX_SEARCHED, _MAX_FOUND = 2, 500, 5  # of the search for models below a folder: levels, entries, names
_MAX_SKIPPED = 30
_GROUPS = ("no", "sh")  # two-letter codes of several written languages: Norwegian, Serbo-Croatian
_DAMAGE = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError),
    *(lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)
_LICENCE = re.compile(r"^licen[sc]e:\s*[\"']?([A-Za-z0-9][\w.+ -]{0,80})", re.MULTILINE)


@dataclass(frozen=True)
class Format:
    """A format: its title, a test for a folder, and a reader."""

    title: str
    matches: Callable[[SourceFolder], bool]
    read: Callable[[SourceFolder], ImportedModel]


FORMATS = {
    "hugging-face": Format(
        "Hugging Face MarianMT (OPUS-MT)",
        hugging_face_marian.matches,
        hugging_face_marian.read,
    ),
    "m2m100": Format("Hugging Face M2M100 or NLLB", hugging_face_m2m100.matches, hugging_face_m2m100.read),
    "argos": Format("Argos package", argos_package.matches, argos_package.read),
    "ctranslate2": Format("CTranslate2", ctranslate2_folder.matches, ctranslate2_folder.read),
    "firefox": Format(
        "Firefox Translations (Bergamot)",
        marian_folder.matches_firefox,
        marian_folder.read_firefox,
    ),
    "marian": Format("Marian", marian_folder.matches_marian, marian_folder.read_marian),
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
    only_languages: Sequence[str] = (),
    licence: str | None = None,
    progress: Progress | None = None,
) -> ImportResult:
    """Convert the model in a folder, or in an Argos package, to a bundle.

    `format_name` is a key of `FORMATS`; by default the files determine it. `languages` are source and target, for
    models whose files do not name them; of a model with several directions, those from or to them are kept.
    `only_languages` keeps the directions between these languages.
    """
    given = _GivenLanguages(
        languages[0] and check_language(languages[0]),
        languages[1] and check_language(languages[1]),
        languages[1],
        tuple(map(check_language, only_languages)),
    )
    if source.is_file() and zipfile.is_zipfile(source):
        with ExitStack() as opened:
            with _damage_refused(source):
                folder = opened.enter_context(argos_package.unpacked(source))
            return _import(SourceFolder(folder), source, output, format_name, given, licence, progress)
    return _import(SourceFolder.open(source), source, output, format_name, given, licence, progress)


@dataclass(frozen=True)
class _GivenLanguages:
    """Languages of the command line. `target_code` is the target as the user wrote it."""

    source: str | None
    target: str | None
    target_code: str | None
    only: tuple[str, ...]


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
    languages: _GivenLanguages,
    licence: str | None,
    progress: Progress | None,
) -> ImportResult:
    progress = progress or NoProgress()
    name = format_name or _find(folder, source, output)
    if name not in FORMATS:
        raise ConfigError(f"--from must be one of {', '.join(FORMATS)}, got {name!r}; leave it out to find the format")
    progress.begin(f"reading {FORMATS[name].title}")
    with _damage_refused(source):
        model = FORMATS[name].read(folder)
    _compare_languages(model, languages)
    _choose_languages(model, languages)
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


def _find(folder: SourceFolder, source: Path, output: Path) -> str:
    if name := _format_of(folder):
        return name
    _refuse_bundle(source)
    if found := _importable_below(source):
        command = shlex.join(["dragoman", "import", str(found[0]), "-o", str(output)])
        names = [ascii(str(each.relative_to(source)))[1:-1] for each in found]
        shown = ", ".join([*names[:_MAX_FOUND], *(["…"] if len(names) > _MAX_FOUND else [])])
        raise BundleError(f"{source} must hold one model, got models below it: {shown}; import one of them: {command}")
    raise BundleError(
        f"{source} must hold a model of a known format ({', '.join(FORMATS)}), got {folder.listing()}; "
        "docs/importing.md lists the files of each"
    )


def _refuse_bundle(source: Path) -> None:
    """Reject a bundle, an archive of one, or a run or a project with one; for a checkpoint, name its run."""
    if source.is_file():
        with _damage_refused(source), zipfile.ZipFile(source) as archive:
            bundle = source if set(archive.namelist()) >= _BUNDLE_FILES else None
    else:
        if explained := explain_checkpoint(source):
            raise BundleError(explained)
        bundle = None
        with suppress(BundleError):
            bundle = find_bundle(source).path if any((source / name).is_file() for name in _OF_DRAGOMAN) else None
    if bundle is not None:
        command = shlex.join(["dragoman", "translate", str(source)])
        raise BundleError(
            f"the source must be a model of another toolkit, got {bundle}, which is already a bundle; use it: {command}"
        )


def _format_of(folder: SourceFolder) -> str | None:
    return next((name for name, each in FORMATS.items() if each.matches(folder)), None)


def _importable_below(source: Path) -> list[Path]:
    """Return folders and packages with a model, at most two levels below a folder; the search is bounded."""
    found: list[Path] = []
    level, left = [source] if source.is_dir() else [], _MAX_SEARCHED
    for _ in range(_MAX_DEPTH):
        below: list[Path] = []
        for parent in level:
            with suppress(OSError):
                below += sorted(islice(parent.iterdir(), left - len(below)))
        left -= len(below)
        models = [each for each in below if _is_importable(each)]
        found += models
        level = [each for each in below if each not in models and each.is_dir() and not each.name.startswith(".")]
    return found[: _MAX_FOUND + 1]


def _is_importable(path: Path) -> bool:
    try:
        if path.is_file():
            return path.suffix == ".argosmodel" and zipfile.is_zipfile(path)
        return path.is_dir() and _format_of(SourceFolder.open(path)) is not None
    except (*_DAMAGE, DragomanError):
        return False


def _compare_languages(model: ImportedModel, given: _GivenLanguages) -> None:
    """Reject languages other than those that the content of a file names; note those other than in names of files.

    A code of three letters may be that of a language family, from which one language may be chosen.
    """
    has_targets = bool(model.target_tokens) or model.language_tokens is not None  # then one of them is chosen
    for side, code, named in zip(("source", "target"), (given.source, given.target), model.languages, strict=True):
        if not code or not named or language_key(code).language == language_key(named).language:
            continue
        if side == "target" and has_targets:
            continue
        if model.languages_file and len(named.partition("-")[0]) == 2 and named not in _GROUPS:
            raise ConfigError(
                f"--{side}-language must be {named}, as in {model.languages_file} of the model, got {code}; leave it "
                "out"
            )
        place = model.languages_file or "the name of the model"
        model.notes.append(
            f"{place} gives {' → '.join(filter(None, model.languages))}; --{side}-language {code} is recorded instead"
        )


def _choose_languages(model: ImportedModel, given: _GivenLanguages) -> None:
    """Choose the directions, or the target language, of a model with several."""
    if model.target_tokens and given.target and not given.only:
        choose_target(model, given.target, given.target_code)
        model.language_tokens = None
    if model.language_tokens is None:
        if given.only:
            raise ConfigError(
                f"--languages must be left out for a model of one direction, got {', '.join(given.only)}; "
                "--source-language and --target-language name its languages"
            )
        return
    model.language_tokens = tokens = model.language_tokens.choose(given.only, given.source, given.target)
    count = len(tokens.directions())
    model.notes.append(
        f"{count:,} direction{'s' * (count != 1)} of {len({*tokens.sources, *tokens.targets})} languages"
    )
    if tokens.skipped:
        listed = ", ".join(ascii(code)[1:-1] for code in tokens.skipped[:_MAX_SKIPPED])
        more = f" and {len(tokens.skipped) - _MAX_SKIPPED} more" if len(tokens.skipped) > _MAX_SKIPPED else ""
        model.notes.append(f"language tokens without a code of their own are not used: {listed}{more}")


def _config(model: ImportedModel, origin: str, title: str, languages: _GivenLanguages) -> Config:
    given = (languages.source, languages.target)
    source, target = (mine or found for mine, found in zip(given, model.languages, strict=True))
    tokenizers = model.tokenizers
    joint = tokenizers["source"].to_bytes() == tokenizers["target"].to_bytes()
    table: dict[str, Any] = {
        "description": f"Imported from {title}: {origin}",
        "tokenizer": {
            "kind": tokenizers["source"].kind,
            "joint": joint,
            "size": max(8, *(each.size for each in tokenizers.values())),
            "normal_form": "none",  # the tokenizer normalizes
        },
        "model": model.model,
    }
    if model.language_tokens is not None:
        table["data"] = model.language_tokens.settings()
    elif source and target:
        table["data"] = {"source": source, "target": target}
    return parse_config(table)


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
