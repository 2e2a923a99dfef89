"""Export a saved model (bundle) to CTranslate2 or ONNX."""

import functools
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.engines.export_cache import Export, Kind, cached_export, write_export
from dragoman.engines.select import default_precision
from dragoman.environment import require
from dragoman.errors import ConfigError

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
    """Export a bundle to ctranslate2 or onnx, in float32 or int8; auto is the precision that engines use by default.

    Without `output` the export is in the cache, where engines find it; an existing valid export is kept.
    """
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
    return write_export(bundle, output, kind, precision, make, **how)
