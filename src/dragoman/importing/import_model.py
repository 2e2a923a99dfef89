"""Import a model: find its format from its files, read it and write a bundle with a model card."""

import logging
import lzma
import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, imported_model_card, write_bundle
from dragoman.bundle.locate import find_run
from dragoman.bundle.verified_folder import MANIFEST, explain_checkpoint
from dragoman.config import Config, parse_config
from dragoman.errors import BundleError, ConfigError, DragomanError, MissingExtraError
from dragoman.importing import (
    ctranslate2_folder,
    hugging_face_m2m100,
    hugging_face_marian,
    marian_folder,
)
from dragoman.importing.file_formats.model_archive import is_archive, unpacked
from dragoman.importing.imported_model import ImportedModel
from dragoman.importing.language_tokens import choose_target, find_pair
from dragoman.importing.source_files import SourceFolder, reason
from dragoman.language_codes import check_language, language_key, parse_pair
from dragoman.plugins import find_plugin, load_plugin, load_plugins, plugin_names
from dragoman.progress import NoProgress, Progress
from dragoman.run_files import BUNDLE, PROJECT, RECORD
from dragoman.version import __version__

_log = logging.getLogger("dragoman")
_OF_DRAGOMAN = (PROJECT, RECORD, f"{BUNDLE}/{MANIFEST}")
_MAX_README = 1 << 20
_MAX_SKIPPED = 30
_GROUPS = ("no", "sh")  # two-letter codes of several written languages: Norwegian, Serbo-Croatian
_DAMAGE = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError),
    *(lzma.LZMAError, zipfile.BadZipFile, zlib.error),
)
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_LICENCE = re.compile(r"^licen[sc]e:\s*[\"']?([A-Za-z0-9][\w.+ -]{0,80})", re.MULTILINE)


@dataclass(frozen=True)
class Format:
    """A format: its title, a test for a folder, and a reader."""

    title: str
    matches: Callable[[SourceFolder], bool]
    read: Callable[[SourceFolder], ImportedModel]


_FORMATS = {
    "hugging-face": Format("Hugging Face MarianMT (OPUS-MT)", hugging_face_marian.matches, hugging_face_marian.read),
    "m2m100": Format("Hugging Face M2M100 or NLLB", hugging_face_m2m100.matches, hugging_face_m2m100.read),
    "argos": Format("Argos package", ctranslate2_folder.matches_argos, ctranslate2_folder.read_argos),
    "ctranslate2": Format("CTranslate2", ctranslate2_folder.matches, ctranslate2_folder.read),
    "firefox": Format("Firefox Translations (Bergamot)", marian_folder.matches_firefox, marian_folder.read_firefox),
    "marian": Format("Marian", marian_folder.matches_marian, marian_folder.read_marian),
}
"""Formats by the value of ``--from``, without those of plug-ins."""


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
    """Convert the model in a folder or an archive to a bundle; `languages`, `only_languages` choose directions."""
    given = _GivenLanguages(
        languages[0] and check_language(languages[0]),
        languages[1] and check_language(languages[1]),
        languages[1],
        tuple(map(check_language, only_languages)),
    )
    check_source(source)
    if is_archive(source):
        with ExitStack() as opened:
            with _damage_refused(source):
                folder = opened.enter_context(unpacked(source))
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
def _damage_refused(source: Path, faults: tuple[type[Exception], ...] = _DAMAGE) -> Iterator[None]:
    """Report what damaged or hostile files raise in a reader as one line."""
    try:
        yield
    except DragomanError:
        raise
    except faults as error:
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
    name = format_name or _find(folder, source)
    if name not in _FORMATS and find_plugin("importers", name) is None:
        raise ConfigError(f"--from must be one of {', '.join(_names())}, got {name!r}; leave it out to find the format")
    form = _FORMATS[name] if name in _FORMATS else _plugin_format(name)
    progress.begin(f"reading {form.title}")
    with _damage_refused(source, _DAMAGE if name in _FORMATS else (Exception,)):
        model = form.read(folder)
    _compare_languages(model, languages)
    _choose_languages(model, languages)
    config = _config(model, _origin(folder, source), form.title, languages)
    notes = list(model.notes)
    if config.data is None:
        notes.append("the languages are not named in the files; --source-language and --target-language set them")
    licence = licence or _licence(folder)
    facts = {
        "format": form.title,
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


def check_source(source: Path) -> None:
    """Reject a source that does not exist; for the name of a model, name the command that downloads it."""
    if source.exists():
        return
    if command := _download_command(str(source)):
        raise BundleError(f"{source} does not exist here; get it with: {command}")
    raise BundleError(f"{source} does not exist; name the folder of the model")


def _download_command(source: str) -> str | None:
    """The command for two languages, such as en-pt, or for a name on the Hugging Face hub."""
    if pair := parse_pair(source):
        return f"dragoman get {'-'.join(pair)}"
    if not _HUB_NAME.fullmatch(source):
        return None
    pair = find_pair(source.rpartition("/")[2])
    languages = "-".join(pair) if all(pair) else "SOURCE-TARGET"
    is_opus_mt = source == f"Helsinki-NLP/opus-mt-{languages}"
    return f"dragoman get {languages} --kind {'opus-mt' if is_opus_mt else source}"


def _find(folder: SourceFolder, source: Path) -> str:
    if name := _format_of(folder):
        return name
    _refuse_bundle(source)
    raise BundleError(
        f"{source} must hold a model of a known format ({', '.join(_names())}), got {folder.listing()}; "
        "docs/importing.md lists the files of each"
    )


def _refuse_bundle(source: Path) -> None:
    """Reject a bundle, or a run or a project with one; for a checkpoint, name its run."""
    if explained := explain_checkpoint(source):
        raise BundleError(explained)
    bundle = None
    with suppress(BundleError):
        if any((source / name).is_file() for name in _OF_DRAGOMAN):
            bundle = source if (source / MANIFEST).is_file() else find_run(source)
    if bundle is not None:
        command = shlex.join(["dragoman", "translate", str(source)])
        raise BundleError(f"{bundle} is a model of Dragoman already, and need not be imported; use it: {command}")


def _format_of(folder: SourceFolder) -> str | None:
    for name, form in _FORMATS.items():
        if form.matches(folder):
            return name
    return next((name for name in load_plugins("importers") if _plugin_matches(name, folder)), None)


def _plugin_matches(name: str, folder: SourceFolder) -> bool:
    """Whether a folder holds a model of the format of a plug-in; a failure is logged, and other formats are tried."""
    try:
        return _plugin_format(name).matches(folder)
    except Exception as error:  # noqa: BLE001 -- any fault of another package
        _log.warning("%s failed: %s; it is not used", find_plugin("importers", name), reason(error))
        return False


def _plugin_format(name: str) -> Format:
    form = load_plugin("importers", name)
    if not isinstance(form, Format):
        raise MissingExtraError(f"{find_plugin('importers', name)} must be an importing Format, got {form!r}")
    return form


def _names() -> list[str]:
    return [*_FORMATS, *plugin_names("importers")]


def _compare_languages(model: ImportedModel, given: _GivenLanguages) -> None:
    """Reject languages that contradict the files; a code of three letters may be of a family, such as ``zle``."""
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
    if model.inference is not None:
        table["inference"] = model.inference.model_dump(exclude_none=True)
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
