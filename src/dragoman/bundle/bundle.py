"""A bundle: the saved translator that people share. Opening one from a stranger runs no code of theirs."""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle.probe import check_sentencepiece
from dragoman.bundle.sealed import MANIFEST, check_contents, digest_of, sealed, verify
from dragoman.bundle.shared_config import read_shared_config, shared_config
from dragoman.bundle.weights import check_weights, read_weights, write_weights
from dragoman.bundle.zipped import unpack
from dragoman.config import Config, TokenizerConfig, to_toml
from dragoman.errors import BundleError, TokenizerError
from dragoman.text import TOKENIZER_FILES, SentencePieceTokenizer, Tokenizer, tokenizer_class, tokenizer_from_bytes

__all__ = ["Bundle", "CARD", "CONFIG", "WEIGHTS", "write_bundle"]

CONFIG = "dragoman.toml"
WEIGHTS = "weights.safetensors"
CARD = "card.md"

_SIDES = ("source", "target")
_TOKENIZERS = (*TOKENIZER_FILES, *(f"{side}.{name}" for side in _SIDES for name in TOKENIZER_FILES))
_MOST_BYTES = {
    MANIFEST: 1 << 16,
    CONFIG: 1 << 18,
    CARD: 1 << 20,
    WEIGHTS: 1 << 38,
    **dict.fromkeys(_TOKENIZERS, 1 << 24),
}
"""Every name there may be, and how large the file may be."""


@dataclass(frozen=True)
class Bundle:
    """A saved translator, verified. One that was read from a zip archive lives in a temporary folder while it is used.

    `path` is where it was opened from, the folder itself or the archive. `manifest` lists every file with its size and
    its SHA-256.
    """

    folder: Path
    path: Path
    config: Config
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path | str, *, trusted: bool = False) -> Self:
        """Verify a folder, or a zip archive of one, and read it; whatever is wrong is a `BundleError`.

        A bundle that is not `trusted`, because it was not written here, has its tokenizer read in a process of its own
        first.
        """
        path = Path(folder)
        try:
            if not path.is_file():
                return cls._open(path, path, trusted)
            return cls._open_archive(path, trusted)
        except OSError as error:
            raise BundleError(f"{path} must be a readable bundle, got: {error}; check its permissions") from None
        except ValueError as error:  # of a name that no file can have
            raise BundleError(f"a bundle must be a folder, got {ascii(str(folder))[:80]}: {error}") from None

    @classmethod
    def _open_archive(cls, archive: Path, trusted: bool) -> Self:
        unpacked = Path(tempfile.mkdtemp(prefix="dragoman-bundle-"))
        try:
            unpack(archive, unpacked, lambda name: _MOST_BYTES.get(name, 0))
            bundle = cls._open(unpacked, archive, trusted)
        except BaseException:
            shutil.rmtree(unpacked, ignore_errors=True)
            raise
        weakref.finalize(bundle, shutil.rmtree, unpacked, ignore_errors=True)
        return bundle

    @classmethod
    def _open(cls, folder: Path, path: Path, trusted: bool) -> Self:
        manifest = verify(folder, allowed=_MOST_BYTES.__contains__, hash_files=False)
        for name, facts in manifest["files"].items():
            if facts["size"] > _MOST_BYTES[name]:
                raise BundleError(
                    f"{folder / name} must have at most {_MOST_BYTES[name]:,} bytes, got {facts['size']:,}; it is no "
                    "file of a bundle"
                )
        check_contents(folder, manifest)
        config = _check_names(folder, set(manifest["files"]))
        check_weights(folder / WEIGHTS)
        bundle = cls(folder, path, config, manifest)
        bundle.card()
        if not trusted and config.tokenizer.kind == SentencePieceTokenizer.kind:
            for name in _tokenizer_names(config.tokenizer):
                check_sentencepiece(bundle._verified(name))
        bundle.tokenizers()
        return bundle

    @property
    def digest(self) -> str:
        """The SHA-256 of the manifest, which names the bundle: it changes with any bit of any file."""
        return digest_of(self.manifest)

    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers of "source" and "target"; a joint one is the same object."""
        return dict(self._tokenizers)

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights by the names of the model's parameters; float32, and verified once more."""
        check_contents(self.folder, {"files": {WEIGHTS: self.manifest["files"][WEIGHTS]}})
        return read_weights(self.folder / WEIGHTS)

    def card(self) -> str:
        """What there is to know about the model, in Markdown."""
        try:
            return self._verified(CARD).decode("utf-8")
        except UnicodeDecodeError:
            raise BundleError(f"{self.folder / CARD} must be UTF-8 text, got something else; write it again") from None

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
            raise BundleError(f"{self.folder / name} must be a tokenizer, got a fault: {error}") from None
        if tokenizer.kind != settings.kind:
            raise BundleError(
                f"{self.folder / name} must be of the kind {settings.kind}, as {CONFIG} says, got {tokenizer.kind}; "
                "write the bundle again"
            )
        return tokenizer

    def _verified(self, name: str) -> bytes:
        """The content of a small file, compared with the manifest once more: what is used is what was verified."""
        data = (self.folder / name).read_bytes()
        if hashlib.sha256(data).hexdigest() != self.manifest["files"][name]["sha256"]:
            raise BundleError(f"{self.folder / name} must stay as it was opened, got other content; open it again")
        return data


def write_bundle(
    folder: Path,
    config: Config,
    weights: Mapping[str, NDArray[Any]],
    tokenizers: Mapping[str, Tokenizer],
    card: str,
) -> Bundle:
    """Write a bundle, whole, in place of what was there. Its configuration keeps the names of files, not their paths.

    `tokenizers` are those of "source" and "target"; where the configuration says that they are joint, they are equal.
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
    with sealed(folder) as draft:
        (draft / CONFIG).write_text(to_toml(shared_config(config)), encoding="utf-8")
        write_weights(draft / WEIGHTS, weights)
        names = _tokenizer_names(config.tokenizer)
        for name, tokenizer in dict(zip(names, (source, target), strict=False)).items():
            (draft / name).write_bytes(tokenizer.to_bytes())
        (draft / CARD).write_text(card, encoding="utf-8")
    return Bundle.open(folder, trusted=True)


def _tokenizer_names(settings: TokenizerConfig) -> tuple[str, ...]:
    """The files of the tokenizers: one of both sides, or the source's and the target's."""
    name = tokenizer_class(settings.kind).file_name
    return (name,) if settings.joint else tuple(f"{side}.{name}" for side in _SIDES)


def _check_names(folder: Path, names: set[str]) -> Config:
    """The configuration, and with it whether all files are there that it asks for, and no others."""
    if missing := {CONFIG, WEIGHTS, CARD} - names:
        raise BundleError(f"{folder} must hold {min(missing)}, got no such file; it is no whole bundle")
    config = read_shared_config(str(folder / CONFIG), (folder / CONFIG).read_bytes())
    expected = {CONFIG, WEIGHTS, CARD, *_tokenizer_names(config.tokenizer)}
    if missing := expected - names:
        raise BundleError(f"{folder} must hold {min(missing)}, as its {CONFIG} says, got no such file")
    if others := names - expected:
        raise BundleError(f"{folder} must hold what its {CONFIG} asks for, got {min(others)} as well; remove it")
    return config
