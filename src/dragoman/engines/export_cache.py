"""Cache exported models in the cache folder of the user, named by the digest of their bundle.

The parsers of CTranslate2 and ONNX Runtime are not safe for untrusted files, and the author of an export controls the
translations. Therefore exports that come with a bundle are not used: only this module writes to the cache, from bundles
that were verified, and a folder that another user could write to is not used (docs/decisions/0036).

    <cache>/exports/<kind>-<precision>-<key>/export/    a verified folder: files, export.json, manifest.json
    <cache>/exports/<kind>-<precision>-<key>/lock       held by the process that creates the export

If the cache cannot be written to, exports are in a temporary folder until the process ends.
"""

import atexit
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from dragoman.bundle import Bundle
from dragoman.bundle.verified_folder import (
    FileFacts,
    check_hashes,
    file_facts,
    is_sealed,
    read_manifest,
    recover,
    seal,
    verify,
    write_verified,
)
from dragoman.engines.select import default_precision
from dragoman.environment import package_version, require
from dragoman.errors import BundleError, ConfigError
from dragoman.files import CACHE, cache_folder, check_private, file_lock, write_json
from dragoman.version import __version__

Kind = Literal["ctranslate2", "onnx"]
Precision = Literal["float32", "int8"]
Make = Callable[[Path], None]
"""Writes the files of an export to an existing empty folder."""

_FACTS = "export.json"
_ENDINGS = (".onnx", ".bin", ".json")
_ENTRY = re.compile(r"(ctranslate2|onnx)-(float32|int8)-[0-9a-f]{32}")
_POLL_SECONDS = 0.05  # while another process creates the export
_UNUSED_SECONDS = 30 * 24 * 3600  # then an export is removed


@dataclass(frozen=True)
class Export:
    """Exported files by name, if read, with a `note`; `facts` are sizes and times from before the verification."""

    folder: Path
    files: Mapping[str, bytes]
    note: str
    is_new: bool
    manifest: Mapping[str, Any]
    facts: FileFacts

    def check_unchanged(self) -> None:
        """Raise a `BundleError` if a file changed since it was verified, for an engine that opened the files itself."""
        try:
            is_same = file_facts(self.folder, self.manifest) == self.facts
        except OSError:
            is_same = False
        if not is_same:
            raise BundleError(f"the export in {self.folder} changed while it was opened; run the command again")


def cached_export(
    bundle: Bundle,
    kind: Kind,
    precision: str,
    make: Make,
    *,
    format_number: int = 1,
    packages: Sequence[str] = (),
    read_files: bool = True,
) -> Export:
    """The export of a bundle from the cache if valid, by `format_number` and `packages`, otherwise created once."""
    facts = _facts(bundle, kind, precision, format_number, packages)
    try:
        return _cached(cache_folder(), facts, bundle, make, read_files=read_files)
    except OSError as error:
        reason = f"the cache cannot be used: {_described(error)}"
    try:
        return _cached(_temporary_cache(os.getpid()), facts, bundle, make, reason, read_files=read_files)
    except OSError as error:
        raise BundleError(
            f"{bundle.folder} cannot be exported to {kind}: {reason}; nor can a temporary folder: {_described(error)}; "
            f"free some space, or set {CACHE} to a folder that can be written to"
        ) from None


def write_export(
    bundle: Bundle,
    folder: Path,
    kind: Kind,
    precision: str,
    make: Make,
    *,
    format_number: int = 1,
    packages: Sequence[str] = (),
) -> Export:
    """Write an export to a given folder: a new or empty one, or an earlier export."""
    for path in (folder, folder.with_name(f"{folder.name}.tmp"), folder.with_name(f"{folder.name}.old")):
        if os.path.lexists(path) and not _is_replaceable(path):
            raise BundleError(
                f"{path} has other files than those of an export, which would be lost; name another folder"
            )
    facts = _facts(bundle, kind, precision, format_number, packages)
    return _create(folder, facts, make, "", read_files=False)


def _facts(bundle: Bundle, kind: Kind, precision: str, format_number: int, packages: Sequence[str]) -> dict[str, Any]:
    """Everything that decides the files of an export: the content of `export.json`."""
    return {
        "kind": kind,
        "precision": precision,
        "format": format_number,
        "bundle": bundle.digest,
        "versions": {"dragoman": __version__, **{name: package_version(name) for name in packages}},
    }


def _cached(
    cache: Path, facts: dict[str, Any], bundle: Bundle, make: Make, why: str = "", *, read_files: bool
) -> Export:
    """The export from a cache folder, where it is created if necessary; an `OSError` if that fails."""
    exports = cache / "exports"
    check_private(exports)
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
    entry = exports / f"{facts['kind']}-{facts['precision']}-{key}"
    found = _read(entry, facts, read_files=read_files)
    if not isinstance(found, Export):
        try:
            found = _create_once(entry, facts | {"path": str(bundle.folder.resolve())}, make, why, read_files)
        except OSError as error:
            error.add_note(str(found or ""))
            raise
    with suppress(OSError):
        os.utime(entry)
    return found


def _read(entry: Path, facts: Mapping[str, Any], *, read_files: bool) -> Export | str | None:
    """The verified export of an entry; what is wrong with it; or None if there is none."""
    folder = entry / "export"
    if not os.path.lexists(folder):
        return None
    try:
        manifest = verify(folder, hash_files=False)
        before = file_facts(folder, manifest)
        files = _read_files(folder, manifest) if read_files else {}
        if not read_files and not is_sealed(folder, manifest):
            check_hashes(folder, manifest)
            seal(folder, manifest, before)
    except (BundleError, OSError) as error:
        return f"it was damaged: {str(error).partition('; ')[0]}"  # without advice for bundles
    note = f"{facts['kind']} {facts['precision']} export in {folder}"
    return Export(folder, files, note, False, manifest, before)


def _read_files(folder: Path, manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Read the files of an export; their hashes are those of the bytes that are used."""
    listed = manifest["files"]
    files = {name: (folder / name).read_bytes() for name in listed}
    for name, data in files.items():
        if hashlib.sha256(data).hexdigest() != listed[name]["sha256"]:
            raise BundleError(f"{folder / name} has other content than when it was written")
    files.pop(_FACTS, None)
    return files


def _create_once(entry: Path, facts: Mapping[str, Any], make: Make, why: str, read_files: bool) -> Export:
    """Create an export, or wait for the process or thread that is creating it."""
    for folder in (entry.parent.parent, entry.parent, entry):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with file_lock(entry / "lock") as is_ours:
            if is_ours:
                recover(entry / "export")
                found = _read(entry, facts, read_files=read_files)
                if isinstance(found, Export):
                    return found
                reason = "; ".join(filter(None, (found, why)))
                export = _create(entry / "export", facts, make, reason, read_files=read_files)
                _tidy(entry, facts)
                return export
        time.sleep(_POLL_SECONDS)


def _tidy(entry: Path, facts: Mapping[str, Any]) -> None:
    """Remove the exports of a bundle that was replaced by that of an entry, and those not used for long."""
    for path in entry.parent.iterdir():
        if not _ENTRY.fullmatch(path.name) or path == entry:
            continue
        try:
            other = json.loads((path / "export" / _FACTS).read_bytes())
        except (OSError, ValueError):
            other = None
        is_known = isinstance(other, dict) and other.get("path") == facts["path"]
        is_replaced = is_known and other.get("bundle") != facts["bundle"]
        with suppress(BundleError, OSError):
            if is_replaced or path.stat().st_mtime < time.time() - _UNUSED_SECONDS:
                with file_lock(path / "lock") as is_free:
                    if is_free:
                        shutil.rmtree(path)


def _create(folder: Path, facts: Mapping[str, Any], make: Make, reason: str, *, read_files: bool) -> Export:
    with write_verified(folder) as draft:
        make(draft)
        files = {path.name: path.read_bytes() for path in sorted(draft.iterdir())} if read_files else {}
        write_json(draft / _FACTS, facts)
    manifest = read_manifest(folder)
    before = file_facts(folder, manifest)
    if not read_files:
        check_hashes(folder, manifest)
    note = f"{facts['kind']} {facts['precision']} export created in {folder}{f' ({reason})' if reason else ''}"
    return Export(folder, files, note, True, manifest, before)


def _is_replaceable(path: Path) -> bool:
    """Whether a folder is empty or an export."""
    try:
        if path.is_dir() and not any(path.iterdir()):
            return True
        names = verify(path)["files"].keys()
        return _FACTS in names and all(name.endswith(_ENDINGS) for name in names)
    except (BundleError, OSError):
        return False


@functools.cache
def _temporary_cache(process: int) -> Path:
    """A folder that ends with this process, and not with its forks."""
    folder = Path(tempfile.mkdtemp(prefix="dragoman-export-"))

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _described(error: OSError) -> str:
    """An error without its number, and with its notes."""
    place = f": {error.filename}" if error.filename else ""
    return "; ".join([f"{error.strerror or error}{place}", *filter(None, getattr(error, "__notes__", ()))])


_KINDS: tuple[Kind, ...] = ("ctranslate2", "onnx")
_PRECISIONS = ("float32", "int8")


@dataclass(frozen=True)
class ExportResult:
    """Location and kind of an export. `sizes` are the bytes of its files; `is_new` is False for an existing export."""

    kind: Kind
    precision: str
    folder: Path
    sizes: dict[str, int]
    bundle_bytes: int
    is_new: bool
    note: str

    @property
    def bytes(self) -> int:
        """Total size of all files."""
        return sum(self.sizes.values())


def export_bundle(
    bundle: Bundle | Path | str, to: str, *, precision: str = "auto", output: Path | None = None
) -> ExportResult:
    """Export a bundle to ctranslate2 or onnx, in int8 or float32; without `output` to the cache of the engines."""
    kind = next((kind for kind in _KINDS if kind == to), None)
    if kind is None:
        raise ConfigError(
            f"--to must be {' or '.join(_KINDS)}, got {to}; the first is for Transformers, the second for "
            "recurrent models and SSRU decoders"
        )
    if precision not in ("auto", *_PRECISIONS):
        raise ConfigError(f"--precision must be auto, {' or '.join(_PRECISIONS)} for an export, got {precision}")
    require(kind, "export", f"an export to {kind}")
    opened = bundle if isinstance(bundle, Bundle) else Bundle.open(bundle)
    precision = default_precision(opened, kind) if precision == "auto" else precision
    export = _export(opened, kind, precision, output)
    files = sorted(export.folder.iterdir())
    return ExportResult(
        kind=kind,
        precision=precision,
        folder=export.folder,
        sizes={path.name: path.stat().st_size for path in files},
        bundle_bytes=sum(facts["size"] for facts in opened.manifest["files"].values()),
        is_new=export.is_new,
        note=export.note,
    )


def _export(bundle: Bundle, kind: Kind, precision: str, output: Path | None) -> Export:
    exporter = import_module(f"dragoman.engines.{kind}.export")  # imports only the packages of this engine
    make = functools.partial(getattr(exporter, f"export_{kind}"), bundle, precision=precision)
    how = {"format_number": exporter.FORMAT, "packages": exporter.PACKAGES}
    if output is None:
        return cached_export(bundle, kind, precision, make, **how)
    alone = {"alone": True} if kind == "onnx" else {}
    return write_export(bundle, output, kind, precision, functools.partial(make, **alone), **how)
