"""Read Argos packages (.argosmodel, or their unpacked folder): a CTranslate2 model, SentencePiece and metadata.json."""

from __future__ import annotations

import shutil
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from dragoman.errors import BundleError
from dragoman.importing.ctranslate2_folder import read_network
from dragoman.importing.file_formats.zip_directory import check_directory
from dragoman.importing.imported_model import ImportedModel, setting
from dragoman.importing.language_tokens import LanguageTokens
from dragoman.importing.source_files import MAX_TEXT_BYTES, SourceFolder, max_expanded_bytes, reason
from dragoman.language_codes import parse_language
from dragoman.text import SPECIALS

__all__ = ["matches", "read", "unpacked"]

_SUBWORDS = "sentencepiece.model"
_MAX_ENTRIES = 2000
_MAX_DIRECTORY = 1 << 19
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # LZMA allocates as much memory as its header states
_MAX_MODEL = 4 << 30
_MODEL_FILES = (
    "model.bin",
    "config.json",
    *(f"{side}_vocabulary.{ending}" for side in ("source", "target", "shared") for ending in ("json", "txt")),
)
_TOP_FILES = ("metadata.json", _SUBWORDS, "bpe.model", "README.md")


def matches(folder: SourceFolder) -> bool:
    """Whether a folder holds an unpacked package."""
    return folder.has("metadata.json", "model/model.bin")


def read(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    metadata = folder.read_json("metadata.json")
    if not folder.has(_SUBWORDS):
        raise BundleError(
            f"{folder.path} must hold {_SUBWORDS}, got {folder.listing()}; packages with bpe.model are not supported"
        )
    subwords = [folder.read(_SUBWORDS)]
    inner = SourceFolder(folder.path / "model", folder.used, prefix="model/")
    imported = read_network(inner, subwords)
    codes = [str(setting(metadata, name, str, "", file="metadata.json"))[:20] for name in ("from_code", "to_code")]
    if all(codes):
        imported.languages = parse_language(codes[0]), parse_language(codes[1])
        imported.languages_file = "metadata.json"
    prefix = metadata.get("target_prefix") if isinstance(metadata, dict) else None
    if prefix:
        imported.language_tokens = _target_prefix(prefix, imported)
    return imported


def _target_prefix(prefix: object, imported: ImportedModel) -> LanguageTokens:
    """The token that begins every translation."""
    tokenizer, (source, target) = imported.tokenizers["target"], imported.languages
    if not isinstance(prefix, str) or tokenizer.token_to_id(prefix) < len(SPECIALS):
        raise BundleError(
            f"target_prefix in metadata.json must be a token of the target vocabulary, got {ascii(prefix)[:60]}; get "
            "the package again"
        )
    if not (source and target):
        raise BundleError("metadata.json must hold from_code and to_code, as it has a target_prefix, got none")
    return LanguageTokens("target", {target: prefix}, (source,), (target,))


@contextmanager
def unpacked(package: Path) -> Iterator[Path]:
    """Unpack the files that are read to a temporary folder: known names only, with limits on number and size."""
    with TemporaryDirectory(prefix="dragoman-import-") as folder:
        check_directory(package, _MAX_DIRECTORY)
        try:
            with zipfile.ZipFile(package) as archive:
                _unpack(package, archive, Path(folder))
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise BundleError(f"{package} must be a zip archive, got: {reason(error)}; get the package again") from None
        yield Path(folder)


def _unpack(package: Path, archive: zipfile.ZipFile, folder: Path) -> None:
    entries = archive.infolist()
    if len(entries) > _MAX_ENTRIES:
        raise BundleError(f"{package} must hold at most {_MAX_ENTRIES:,} files, got {len(entries):,}; get it again")
    (folder / "model").mkdir()
    left = max_expanded_bytes(package.stat().st_size)  # entries may share compressed data: all together
    for entry in entries:
        name = _known_name(entry.filename)
        if name is None or entry.is_dir():
            continue
        most = _MAX_MODEL if name == "model/model.bin" else MAX_TEXT_BYTES
        kind = stat.S_IFMT(entry.external_attr >> 16)
        is_plain = kind in (0, stat.S_IFREG) and entry.compress_type in _METHODS
        if not is_plain or entry.file_size > most or (folder / name).exists():
            raise BundleError(
                f"{package} must hold {name} once, as a plain file of at most {most:,} bytes, got another; get it again"
            )
        left -= entry.file_size
        if left < 0:
            raise BundleError(
                f"{package} must expand to at most {max_expanded_bytes(package.stat().st_size):,} bytes, got more; "
                "get it again"
            )
        with archive.open(entry) as source, (folder / name).open("xb") as target:
            shutil.copyfileobj(_Limited(source, entry.file_size), target)  # a header can state a smaller size


class _Limited:
    """A stream that ends with an error after a number of bytes."""

    def __init__(self, stream: object, most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        data: bytes = self._stream.read(size)  # type: ignore[attr-defined]
        self._left -= len(data)
        if self._left < 0:
            raise zipfile.BadZipFile("a file is larger than its header states")
        return data


def _known_name(name: str) -> str | None:
    """The name of a file inside the package, if it is one that is read. The package may be in a folder of its own."""
    parts = PurePosixPath(name).parts
    if parts and parts[-1] in _TOP_FILES and len(parts) <= 2:
        return parts[-1]
    if len(parts) in (2, 3) and parts[-2] == "model" and parts[-1] in _MODEL_FILES:
        return f"model/{parts[-1]}"
    return None
