"""Read and write model bundles, and check ensembles. Opening an untrusted bundle runs no code from it."""

from __future__ import annotations

import functools
import hashlib
import mmap
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle.bundle_config import read_shared_config, shared_toml
from dragoman.bundle.confidence import Calibration, Calibrations
from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.bundle.shortlist import Shortlist
from dragoman.bundle.verified_folder import (
    MANIFEST,
    check_hashes,
    explain_checkpoint,
    file_facts,
    is_sealed,
    manifest_digest,
    seal,
    verify,
    write_verified,
)
from dragoman.bundle.weights import (
    Quantization,
    check_shapes,
    check_weights,
    count_parameters,
    read_integer_places,
    read_shapes,
    read_weights,
    refuse_non_finite,
    weight_shapes,
    write_weights,
)
from dragoman.config import Config, TokenizerConfig
from dragoman.config.search import InferenceConfig
from dragoman.errors import BundleError, ConfigError, TokenizerError
from dragoman.files import as_path
from dragoman.run_files import CARD, PROJECT
from dragoman.text import TOKENIZER_FILES, Tokenizer, sentencepiece_model, tokenizer_class, tokenizer_from_bytes
from dragoman.text.language_tokens import language_place

WEIGHTS = "weights.safetensors"
QUANTIZATION = "quantization.safetensors"
SHORTLIST = "shortlist.safetensors"
CONFIDENCE = "confidence.json"

_SIDES = ("source", "target")
_TOKENIZERS = (*TOKENIZER_FILES, *(f"{side}.{name}" for side in _SIDES for name in TOKENIZER_FILES))
_MAX_BYTES = {
    MANIFEST: 1 << 16,
    PROJECT: 1 << 18,
    CARD: 1 << 20,
    WEIGHTS: 1 << 38,
    QUANTIZATION: 1 << 26,
    SHORTLIST: 1 << 28,
    CONFIDENCE: 1 << 18,
    **dict.fromkeys(_TOKENIZERS, 1 << 24),
}
"""Every allowed file name, with the maximum size of the file."""


@dataclass(frozen=True)
class Bundle:
    """A saved model, verified. `manifest` lists every file with its size and its SHA-256."""

    folder: Path
    config: Config = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)

    @classmethod
    def open(cls, folder: Path | str, *, trusted: bool = False, verify_again: bool = False) -> Self:
        """Verify and read a folder; raise a `BundleError` if anything is wrong.

        The tokenizer of a bundle that is not `trusted` (not written by this process) is first parsed in a sandbox. A
        folder that this user checked before, and whose files did not change since by their size, inode and times, is
        not hashed, unless `verify_again`; its tokenizers are read when they are needed.
        """
        return cls._open_path(folder, trusted, verify_again)

    @classmethod
    def _open_path(cls, folder: Path | str, trusted: bool, verify_again: bool, outline: bool = False) -> Self:
        path = as_path(folder)
        try:
            if explained := explain_checkpoint(path):
                raise BundleError(explained)
            if path.is_file():
                raise BundleError(f"{path} is a file, and a bundle is a folder; unpack an archive and name the folder")
            return cls._open(path, trusted, verify_again, outline)
        except OSError as error:
            raise BundleError(f"{path} cannot be read: {error}; check its permissions") from None
        except ValueError as error:  # a name that no file can have
            raise BundleError(f"a bundle must be a folder, got {ascii(str(folder))[:80]}: {error}") from None

    @classmethod
    def _open(cls, folder: Path, trusted: bool, verify_again: bool, outline: bool = False) -> Self:
        manifest = verify(folder, allowed=_MAX_BYTES.__contains__, hash_files=False)
        for name, facts in manifest["files"].items():
            if facts["size"] > _MAX_BYTES[name]:
                raise BundleError(
                    f"{folder / name} must have at most {_MAX_BYTES[name]:,} bytes, got {facts['size']:,}; it is "
                    "not a file of a bundle"
                )
        before = file_facts(folder, manifest)
        is_read = outline or (not verify_again and is_sealed(folder, manifest))
        files = manifest["files"]
        check_hashes(folder, {"files": {name: files[name] for name in {PROJECT} & files.keys()} if is_read else files})
        bundle = cls(folder, _check_names(folder, set(files)), manifest)
        if is_read:
            return bundle
        check_weights(folder / WEIGHTS, allow_int8=True)
        bundle.card()
        if not trusted:
            bundle._check_subword_models()
        sizes = [tokenizer.size for tokenizer in bundle.tokenizers().values()]
        check_shapes(folder, read_shapes(folder / WEIGHTS), weight_shapes(bundle.config.model, *sizes))
        refuse_non_finite(folder / WEIGHTS)
        (bundle.quantization() or Quantization({}, {})).check_integers(read_integer_places(folder / WEIGHTS))
        bundle.shortlist()
        bundle.calibrations()
        if not trusted:
            seal(folder, manifest, before)
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
        stored, quantization = read_weights(self.folder / WEIGHTS), self.quantization()
        if quantization is not None:
            for name in [each for each, array in stored.items() if array.dtype == np.int8]:
                stored[name] = quantization.dequantized(name, stored[name])
        return stored

    def quantization(self) -> Quantization | None:
        """The multipliers of an int8 model; those of inputs only if it was trained since."""
        if QUANTIZATION not in self.manifest["files"]:
            return None
        return Quantization.from_bytes(self._verified(QUANTIZATION), read_shapes(self.folder / WEIGHTS))

    def stored_weights(self) -> mmap.mmap:
        """The content of the file of weights, in memory of its own; it is hashed unless the bundle is sealed."""
        content = mmap.mmap(-1, self.manifest["files"][WEIGHTS]["size"])
        with (self.folder / WEIGHTS).open("rb", buffering=0) as file:
            file.readinto(content)
        if not is_sealed(self.folder, self.manifest):
            self._check(WEIGHTS, content)
        return content

    def inference(self) -> InferenceConfig | None:
        """How the model was made to be used; a model with int8 weights is for int8."""
        own = self.config.inference
        if QUANTIZATION not in self.manifest["files"]:
            return own
        return (own or InferenceConfig()).model_copy(update={"precision": "int8"})

    def shortlist(self) -> Shortlist | None:
        """The lexical shortlist, if the model has one."""
        return self._shortlist

    def calibrations(self) -> dict[str, Calibration]:
        """What `dragoman calibrate` has found, by direction."""
        return dict(self._calibrations)

    def parameter_count(self) -> int:
        """Return the number of weights."""
        return count_parameters(self.folder / WEIGHTS)

    def card(self) -> str:
        """The model card, in Markdown."""
        try:
            return self._verified(CARD).decode("utf-8")
        except UnicodeDecodeError:
            raise BundleError(f"{self.folder / CARD} is not UTF-8 text; write it again") from None

    def _check_subword_models(self) -> None:
        """Parse the SentencePiece models of the tokenizers in a sandbox."""
        file_name = tokenizer_class(self.config.tokenizer.kind).file_name
        for name in tokenizer_names(self.config.tokenizer):
            try:
                model = sentencepiece_model(file_name, self._verified(name))
            except TokenizerError as error:
                raise BundleError(f"{self.folder / name} is not a valid tokenizer: {error}") from None
            if model is not None:
                check_sentencepiece(model)

    @functools.cached_property
    def _shortlist(self) -> Shortlist | None:
        if SHORTLIST not in self.manifest["files"]:
            return None
        rows = {name: shape[0] for name, shape in read_shapes(self.folder / WEIGHTS).items()}  # those of the tokenizers
        sizes = rows["encoder.embedding.weight"], rows["decoder.output.bias"]
        return Shortlist.from_bytes(self._verified(SHORTLIST), *sizes)

    @functools.cached_property
    def _calibrations(self) -> dict[str, Calibration]:
        if CONFIDENCE not in self.manifest["files"]:
            return {}
        return Calibrations.from_bytes(self._verified(CONFIDENCE), str(self.folder / CONFIDENCE)).directions

    @functools.cached_property
    def _tokenizers(self) -> dict[str, Tokenizer]:
        names = tokenizer_names(self.config.tokenizer)
        loaded = {name: self._tokenizer(name) for name in names}
        return dict(zip(_SIDES, (loaded[names[0]], loaded[names[-1]]), strict=True))

    def _tokenizer(self, name: str) -> Tokenizer:
        settings = self.config.tokenizer
        try:
            tokenizer = tokenizer_from_bytes(tokenizer_class(settings.kind).file_name, self._verified(name))
        except (TokenizerError, RuntimeError, ValueError) as error:
            raise BundleError(f"{self.folder / name} is not a valid tokenizer: {error}") from None
        if tokenizer.kind != settings.kind:
            raise BundleError(
                f"{self.folder / name} must be of the kind {settings.kind}, as in {PROJECT}, got {tokenizer.kind}; "
                "write the bundle again"
            )
        return tokenizer

    def _verified(self, name: str) -> bytes:
        """Read a small file and check its hash again, so that the content used is the content verified."""
        data = (self.folder / name).read_bytes()
        self._check(name, data)
        return data

    def _check(self, name: str, data: bytes | mmap.mmap) -> None:
        if hashlib.sha256(data).hexdigest() != self.manifest["files"][name]["sha256"]:
            raise BundleError(f"{self.folder / name} changed while the bundle was open; open it again")


def open_outline(folder: Path) -> Bundle:
    """Open a folder whose configuration, names and sizes only are checked; open it again before it is used."""
    return Bundle._open_path(folder, trusted=False, verify_again=False, outline=True)  # noqa: SLF001


def free_parsed(bundle: Bundle) -> None:
    """Free the tokenizers and tables that a bundle has read; it reads them again when they are needed."""
    for name in ("_calibrations", "_quantization", "_shortlist", "_tokenizers"):
        vars(bundle).pop(name, None)


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
    """Write a bundle atomically, replacing an earlier one; `tokenizers` of "source" and "target" may be one."""
    source, target = (tokenizers[side] for side in _SIDES)
    if config.tokenizer.joint and source is not target and source.to_bytes() != target.to_bytes():
        raise BundleError("tokenizer.joint is true, but the two tokenizers differ; set tokenizer.joint to false")
    if folder.exists() and not (folder / MANIFEST).is_file():
        raise BundleError(f"{folder} has other files than those of a bundle, which would be lost; name another folder")
    shapes = {name: array.shape for name, array in weights.items()}
    check_shapes(folder, shapes, weight_shapes(config.model, source.size, target.size))
    with write_verified(folder) as draft:
        (draft / PROJECT).write_text(shared_toml(config), encoding="utf-8")
        write_weights(draft / WEIGHTS, weights, {} if quantization is None else quantization.stored_integers(weights))
        names = tokenizer_names(config.tokenizer)
        for name, tokenizer in dict(zip(names, (source, target), strict=False)).items():
            (draft / name).write_bytes(tokenizer.to_bytes())
        (draft / CARD).write_text(card, encoding="utf-8")
        if quantization is not None:
            (draft / QUANTIZATION).write_bytes(quantization.to_bytes())
        if shortlist is not None:
            (draft / SHORTLIST).write_bytes(shortlist.to_bytes())
    return Bundle.open(folder, trusted=True)


def quantize_bundle(bundle: Bundle, output: Path) -> Bundle:
    """Write a copy with int8 matrices, one scale per row; a calibration is not kept, since scores change a little."""
    if bundle.quantization() is not None:
        raise BundleError(f"{bundle.folder} is int8 already; name a float32 bundle")
    weights = bundle.weights()
    stored = Quantization.of(weights)
    title, found, sections = bundle.card().partition("\n## ")
    note = f"Matrices are int8, with one scale per row, rounded from the float32 bundle {bundle.digest[:16]}."
    card = f"{title.rstrip()}\n\n{note} Scores are those of that bundle.\n{found}{sections}"
    return write_bundle(
        output,
        bundle.config,
        stored.rounded(weights),
        bundle.tokenizers(),
        card,
        quantization=stored,
        shortlist=bundle.shortlist(),
    )


def write_calibration(bundle: Bundle, direction: str, calibration: Calibration) -> Bundle:
    """Add the calibration of a direction to a folder, atomically; its other files are copied unchanged."""
    calibrations = Calibrations(directions=bundle.calibrations() | {direction: calibration})
    with write_verified(bundle.folder) as draft:
        kept = {name: facts for name, facts in bundle.manifest["files"].items() if name != CONFIDENCE}
        for name in kept:
            shutil.copyfile(bundle.folder / name, draft / name)
        check_hashes(draft, {"files": kept})
        (draft / CONFIDENCE).write_bytes(calibrations.to_bytes())
    return Bundle.open(bundle.folder)


def inherit_inference(
    base: Bundle, config: Config, tokenizers: Mapping[str, Tokenizer]
) -> tuple[Config, Quantization | None, Shortlist | None]:
    """Return what a model keeps of its base: beam, precision, int8 ranges, the shortlist if tokens are equal."""
    own = base.tokenizers()
    is_same = all(each.to_bytes() == own[side].to_bytes() for side, each in tokenizers.items())
    stored = base.quantization()
    shapes = weight_shapes(config.model, *(tokenizers[side].size for side in _SIDES))
    kept = config.model_copy(update={"inference": config.inference or base.inference()})
    return kept, stored and stored.for_weights(dict(shapes)), base.shortlist() if is_same else None


def tokenizer_names(settings: TokenizerConfig) -> tuple[str, ...]:
    """The file names of the tokenizers: one for both sides, or one per side."""
    name = tokenizer_class(settings.kind).file_name
    return (name,) if settings.joint else tuple(f"{side}.{name}" for side in _SIDES)


def _check_names(folder: Path, names: set[str]) -> Config:
    """Read the configuration, and require exactly the files that it implies."""
    if missing := {PROJECT, WEIGHTS, CARD} - names:
        raise BundleError(f"{folder} has no {min(missing)}: the bundle is incomplete; copy it again")
    config = read_shared_config(str(folder / PROJECT), (folder / PROJECT).read_bytes())
    expected = {PROJECT, WEIGHTS, CARD, *tokenizer_names(config.tokenizer)}
    if missing := expected - names:
        raise BundleError(
            f"{folder} has no {min(missing)}, which its {PROJECT} requires: the bundle is incomplete; copy it again"
        )
    if others := names - expected - {QUANTIZATION, SHORTLIST, CONFIDENCE}:
        raise BundleError(
            f"{folder} must hold only what its {PROJECT} requires, got {min(others)} as well; use another"
        )
    return config


def max_source_tokens(config: Config) -> int | None:
    """Return the maximum number of source tokens of a model, without the end; None if there is no limit."""
    model = config.model
    if model.family == "transformer" and model.positions == "learned":
        return max(1, model.max_positions - 1)
    return None


def check_compatible(bundles: Sequence[Bundle]) -> tuple[Config, dict[str, Tokenizer]]:
    """Return the common tokenizers, and the configuration of the bundle with the lowest limit of source tokens."""
    if not bundles:
        raise ConfigError("no bundle is given; name at least one")
    if len(bundles) == 1:
        return bundles[0].config, bundles[0].tokenizers()
    first, *others = (_spelling(bundle) for bundle in bundles)
    for bundle, other in zip(bundles[1:], others, strict=True):
        if other != first:
            raise ConfigError(
                f"{bundle.folder} and {bundles[0].folder} cannot be an ensemble: their tokenizers, normal forms or "
                "directions differ; train them on the same prepared data"
            )
    config = min((bundle.config for bundle in bundles), key=lambda each: max_source_tokens(each) or float("inf"))
    return config, bundles[0].tokenizers()


def _spelling(bundle: Bundle) -> tuple[Any, ...]:
    tokenizers, data = bundle.tokenizers(), bundle.config.data
    directions = None
    if data is not None and data.is_multilingual:
        directions = (language_place(data), sorted(data.all_directions()))
    texts = (tokenizers[side].to_bytes() for side in ("source", "target"))
    return bundle.config.tokenizer.normal_form, directions, *texts
