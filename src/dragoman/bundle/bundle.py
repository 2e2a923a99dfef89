"""Read and write model bundles (saved models). Opening an untrusted bundle runs no code from it."""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle.bundle_config import read_shared_config, shared_config
from dragoman.bundle.locate import explain_checkpoint
from dragoman.bundle.quantization import Quantization
from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.bundle.shortlist import Shortlist
from dragoman.bundle.verified_folder import MANIFEST, check_hashes, manifest_digest, verify, write_verified
from dragoman.bundle.weight_shapes import weight_shapes
from dragoman.bundle.weights import (
    check_shapes,
    check_weights,
    count_parameters,
    read_shapes,
    read_weights,
    refuse_non_finite,
    write_weights,
)
from dragoman.bundle.zip_archive import unpack
from dragoman.config import Config, TokenizerConfig, to_toml
from dragoman.errors import BundleError, TokenizerError
from dragoman.text import (
    TOKENIZER_FILES,
    Tokenizer,
    sentencepiece_model,
    tokenizer_class,
    tokenizer_from_bytes,
)

CONFIG = "dragoman.toml"
WEIGHTS = "weights.safetensors"
CARD = "card.md"
QUANTIZATION = "quantization.safetensors"
SHORTLIST = "shortlist.safetensors"

_SIDES = ("source", "target")
_TOKENIZERS = (*TOKENIZER_FILES, *(f"{side}.{name}" for side in _SIDES for name in TOKENIZER_FILES))
_MAX_BYTES = {
    MANIFEST: 1 << 16,
    CONFIG: 1 << 18,
    CARD: 1 << 20,
    WEIGHTS: 1 << 38,
    QUANTIZATION: 1 << 26,
    SHORTLIST: 1 << 28,
    **dict.fromkeys(_TOKENIZERS, 1 << 24),
}
"""Every allowed file name, with the maximum size of the file."""


@dataclass(frozen=True)
class Bundle:
    """A saved model, verified. A zip archive is unpacked to a temporary folder, which exists as long as the bundle.

    `path` is the folder or archive that was opened. `manifest` lists every file with its size and its SHA-256.
    """

    folder: Path
    path: Path
    config: Config = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)

    @classmethod
    def open(cls, folder: Path | str, *, trusted: bool = False) -> Self:
        """Verify and read a folder or a zip archive; raise a `BundleError` if anything is wrong.

        The tokenizer of a bundle that is not `trusted` (not written by this process) is first parsed in a sandbox.
        """
        path = Path(folder)
        try:
            if not path.is_file():
                if explained := explain_checkpoint(path):
                    raise BundleError(explained)
                return cls._open(path, path, trusted)
            return cls._open_archive(path, trusted)
        except OSError as error:
            raise BundleError(f"{path} must be a readable bundle, got: {error}; check its permissions") from None
        except ValueError as error:  # a name that no file can have
            raise BundleError(f"a bundle must be a folder, got {ascii(str(folder))[:80]}: {error}") from None

    @classmethod
    def _open_archive(cls, archive: Path, trusted: bool) -> Self:
        unpacked = Path(tempfile.mkdtemp(prefix="dragoman-bundle-"))
        try:
            unpack(archive, unpacked, lambda name: _MAX_BYTES.get(name, 0))
            bundle = cls._open(unpacked, archive, trusted)
        except BaseException:
            shutil.rmtree(unpacked, ignore_errors=True)
            raise
        weakref.finalize(bundle, shutil.rmtree, unpacked, ignore_errors=True)
        return bundle

    @classmethod
    def _open(cls, folder: Path, path: Path, trusted: bool) -> Self:
        manifest = verify(folder, allowed=_MAX_BYTES.__contains__, hash_files=False)
        for name, facts in manifest["files"].items():
            if facts["size"] > _MAX_BYTES[name]:
                raise BundleError(
                    f"{folder / name} must have at most {_MAX_BYTES[name]:,} bytes, got {facts['size']:,}; it is "
                    "not a file of a bundle"
                )
        check_hashes(folder, manifest)
        config = _check_names(folder, set(manifest["files"]), manifest["version"])
        check_weights(folder / WEIGHTS)
        bundle = cls(folder, path, config, manifest)
        bundle.card()
        if not trusted:
            bundle._check_subword_models()
        sizes = [tokenizer.size for tokenizer in bundle.tokenizers().values()]
        check_shapes(folder, read_shapes(folder / WEIGHTS), weight_shapes(config.model, *sizes))
        refuse_non_finite(folder / WEIGHTS)
        bundle.quantization()
        bundle.shortlist()
        return bundle

    @property
    def digest(self) -> str:
        """The SHA-256 of the manifest. It identifies the bundle: it changes with any bit of any file."""
        return manifest_digest(self.manifest)

    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers of "source" and "target"; a joint one is the same object."""
        return dict(self._tokenizers)

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights by parameter name, in float32; their hash is checked again."""
        check_hashes(self.folder, {"files": {WEIGHTS: self.manifest["files"][WEIGHTS]}})
        return read_weights(self.folder / WEIGHTS)

    def quantization(self) -> Quantization | None:
        """The int8 form of the weights, if the model was imported with int8 weights and not trained since."""
        return self._quantization

    def shortlist(self) -> Shortlist | None:
        """The lexical shortlist, if the model has one."""
        return self._shortlist

    def parameter_count(self) -> int:
        """Return the number of weights."""
        return count_parameters(self.folder / WEIGHTS)

    def card(self) -> str:
        """The model card, in Markdown."""
        try:
            return self._verified(CARD).decode("utf-8")
        except UnicodeDecodeError:
            raise BundleError(f"{self.folder / CARD} must be UTF-8 text, got something else; write it again") from None

    def _check_subword_models(self) -> None:
        """Parse the SentencePiece models of the tokenizers in a sandbox."""
        file_name = tokenizer_class(self.config.tokenizer.kind).file_name
        for name in _tokenizer_names(self.config.tokenizer):
            try:
                model = sentencepiece_model(file_name, self._verified(name))
            except TokenizerError as error:
                raise BundleError(f"{self.folder / name} must be a tokenizer, got an error: {error}") from None
            if model is not None:
                check_sentencepiece(model)

    @functools.cached_property
    def _quantization(self) -> Quantization | None:
        if QUANTIZATION not in self.manifest["files"]:
            return None
        return Quantization.from_bytes(self._verified(QUANTIZATION), read_shapes(self.folder / WEIGHTS))

    @functools.cached_property
    def _shortlist(self) -> Shortlist | None:
        if SHORTLIST not in self.manifest["files"]:
            return None
        sizes = [tokenizer.size for tokenizer in self.tokenizers().values()]
        return Shortlist.from_bytes(self._verified(SHORTLIST), *sizes)

    @functools.cached_property
    def _tokenizers(self) -> dict[str, Tokenizer]:
        names = _tokenizer_names(self.config.tokenizer)
        loaded = {name: self._tokenizer(name) for name in names}
        return dict(zip(_SIDES, (loaded[names[0]], loaded[names[-1]]), strict=True))

    def _tokenizer(self, name: str) -> Tokenizer:
        settings = self.config.tokenizer
        try:
            tokenizer = tokenizer_from_bytes(tokenizer_class(settings.kind).file_name, self._verified(name))
        except (TokenizerError, RuntimeError, ValueError) as error:
            raise BundleError(f"{self.folder / name} must be a tokenizer, got an error: {error}") from None
        if tokenizer.kind != settings.kind:
            raise BundleError(
                f"{self.folder / name} must be of the kind {settings.kind}, as in {CONFIG}, got {tokenizer.kind}; "
                "write the bundle again"
            )
        return tokenizer

    def _verified(self, name: str) -> bytes:
        """Read a small file and check its hash again, so that the content used is the content verified."""
        data = (self.folder / name).read_bytes()
        if hashlib.sha256(data).hexdigest() != self.manifest["files"][name]["sha256"]:
            raise BundleError(
                f"{self.folder / name} must not change while it is open, got other content; open it again"
            )
        return data


def write_bundle(
    folder: Path,
    config: Config,
    weights: Mapping[str, NDArray[Any]],
    tokenizers: Mapping[str, Tokenizer],
    card: str,
    *,
    quantization: Quantization | None = None,
    shortlist: Shortlist | None = None,
) -> Bundle:
    """Write a bundle atomically, replacing an earlier one. Its configuration has file names instead of paths.

    `tokenizers` has the keys "source" and "target"; with `tokenizer.joint` both are equal.
    """
    source, target = (tokenizers[side] for side in _SIDES)
    if config.tokenizer.joint and source is not target and source.to_bytes() != target.to_bytes():
        raise BundleError(
            "tokenizers must be equal where tokenizer.joint is true, got two; set tokenizer.joint to false"
        )
    if folder.exists() and not (folder / MANIFEST).is_file():
        raise BundleError(
            f"{folder} must be a new folder or an earlier bundle, got other files, which would be lost; name another"
        )
    shapes = {name: array.shape for name, array in weights.items()}
    check_shapes(folder, shapes, weight_shapes(config.model, source.size, target.size))
    with write_verified(folder) as draft:
        (draft / CONFIG).write_text(to_toml(shared_config(config)), encoding="utf-8")
        write_weights(draft / WEIGHTS, weights)
        names = _tokenizer_names(config.tokenizer)
        for name, tokenizer in dict(zip(names, (source, target), strict=False)).items():
            (draft / name).write_bytes(tokenizer.to_bytes())
        (draft / CARD).write_text(card, encoding="utf-8")
        if quantization is not None:
            (draft / QUANTIZATION).write_bytes(quantization.to_bytes())
        if shortlist is not None:
            (draft / SHORTLIST).write_bytes(shortlist.to_bytes())
    return Bundle.open(folder, trusted=True)


def _tokenizer_names(settings: TokenizerConfig) -> tuple[str, ...]:
    """The file names of the tokenizers: one for both sides, or one per side."""
    name = tokenizer_class(settings.kind).file_name
    return (name,) if settings.joint else tuple(f"{side}.{name}" for side in _SIDES)


def _check_names(folder: Path, names: set[str], version: int) -> Config:
    """Read the configuration, and require exactly the files that it implies."""
    if missing := {CONFIG, WEIGHTS, CARD} - names:
        raise BundleError(f"{folder} must hold {min(missing)}, got no such file; the bundle is incomplete")
    config = read_shared_config(str(folder / CONFIG), (folder / CONFIG).read_bytes(), version)
    expected = {CONFIG, WEIGHTS, CARD, *_tokenizer_names(config.tokenizer)}
    if missing := expected - names:
        raise BundleError(f"{folder} must hold {min(missing)}, as its {CONFIG} requires, got no such file")
    if others := names - expected - {QUANTIZATION, SHORTLIST}:
        raise BundleError(f"{folder} must hold only what its {CONFIG} requires, got {min(others)} as well; use another")
    return config
