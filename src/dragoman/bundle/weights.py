"""Names, shapes and safetensors files of weights: float32, and for int8 models integers with a multiplier per row."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, load_file, save, save_file

from dragoman.config import ModelConfig, RnnConfig, TransformerConfig
from dragoman.config.attention_scores import score_rules
from dragoman.errors import BundleError
from dragoman.files import usual_permissions

Array = NDArray[np.float32]

_WEIGHTS, _INPUTS = "weights/", "inputs/"
_LEVELS = 127
_LEAST_ROW = 1e-30  # largest number of a row; smaller ones would need a multiplier that is not finite
_TOLERANCE = 1e-3  # of a step; rounding to float32 moves an integer up to 127 by less than 1e-5
_FIX_INT8 = "import the model again"
_INT8 = "I8"
_MAX_HEADER = 4 << 20
_MAX_DIMENSIONS = 8
_BLOCK = 1 << 18  # bytes: two blocks and their mask fit the cache of a core
_FIX = "write the bundle again with dragoman train"
_DIVERGED = "the training diverged: use an earlier checkpoint"


@dataclass(frozen=True)
class Quantization:
    """Multipliers by the name of a matrix, one per row. Shapes: each [rows].

    `weights`: row × multiplier are integers from −127 to 127. `inputs`: the multiplier of the input of the product with
    a row, fixed when the model was quantized; a matrix without an entry takes the range of each input. A model that was
    trained since has only `inputs`: its integers are made from its weights.
    """

    weights: Mapping[str, Array]
    inputs: Mapping[str, Array]

    @classmethod
    def from_bytes(cls, data: bytes, shapes: Mapping[str, tuple[int, ...]]) -> Self:
        """Parse and check the file of a bundle; `shapes` are those of its weights."""
        try:
            arrays = load(data)
        except (SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise BundleError(f"the quantization of a bundle must be safetensors, got: {error}; {_FIX_INT8}") from None
        found = cls(_with_prefix(arrays, _WEIGHTS), _with_prefix(arrays, _INPUTS))
        if len(found.weights) + len(found.inputs) != len(arrays) or (
            found.weights and not found.weights.keys() >= found.inputs.keys()
        ):
            raise BundleError(
                f"the quantization of the bundle holds other arrays than multipliers of weights; {_FIX_INT8}"
            )
        for name, multipliers in (*found.weights.items(), *found.inputs.items()):
            rows = shapes.get(name, ())
            if len(rows) != 2 or multipliers.dtype != np.float32 or multipliers.shape != rows[:1]:
                raise BundleError(
                    f"the quantization of {ascii(name)[1:-1][:80]} is not one float32 multiplier per row of a matrix "
                    f"of the model; {_FIX_INT8}"
                )
            if not (np.isfinite(multipliers) & (multipliers > 0)).all():
                raise BundleError(f"the multipliers of {name} are not all positive and finite; {_FIX_INT8}")
        return found

    @classmethod
    def of(cls, weights: Mapping[str, Array]) -> Self:
        """The multipliers with which the largest number of each row of each matrix becomes 127."""
        largest = {name: np.abs(array).max(1) for name, array in weights.items() if array.ndim == 2}
        return cls({name: np.float32(_LEVELS) / np.maximum(each, _LEAST_ROW) for name, each in largest.items()}, {})

    def rounded(self, weights: Mapping[str, Array]) -> dict[str, Array]:
        """The weights, those with multipliers rounded to the nearest numbers that integers represent."""
        found = dict(weights)
        for name, multipliers in self.weights.items():
            exact = np.rint(weights[name].astype(np.float64) * multipliers[:, np.newaxis])
            found[name] = self.dequantized(name, exact.clip(-_LEVELS, _LEVELS).astype(np.int8))
        return found

    def for_weights(self, shapes: Mapping[str, tuple[int, ...]]) -> Self | None:
        """The multipliers of inputs, for other weights of the same model; None if there is none."""
        inputs = {name: array for name, array in self.inputs.items() if shapes.get(name, ())[:1] == array.shape}
        return type(self)({}, inputs) if inputs else None

    def to_bytes(self) -> bytes:
        arrays = {_WEIGHTS + name: array for name, array in self.weights.items()}
        arrays |= {_INPUTS + name: array for name, array in self.inputs.items()}
        return bytes(save({name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}))

    def stored_integers(self, weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.int8]]:
        """The integers of the matrices that `dequantized` makes again from them, to the bit."""
        found = {}
        for name in self.weights.keys() & weights.keys():
            try:
                integers = self.integers(name, weights[name])
            except BundleError:
                continue
            again = self.dequantized(name, integers)
            if np.array_equal(again.view(np.uint32), np.ascontiguousarray(weights[name]).view(np.uint32)):
                found[name] = integers
        return found

    def dequantized(self, name: str, integers: NDArray[np.int8]) -> Array:
        """The float32 numbers of integers, as importers compute them. Shapes: [rows, columns] -> the same."""
        return integers.astype(np.float32) / self.weights[name][:, np.newaxis]

    def check_integers(self, names: Collection[str]) -> None:
        """Require multipliers for all matrices of integers, with which every number is finite."""
        if others := set(names) - self.weights.keys():
            raise BundleError(f"{ascii(min(others))[1:-1][:80]} is int8 and has no multipliers; {_FIX_INT8}")
        least = np.float32((_LEVELS + 1) / np.finfo(np.float32).max)
        for name in names:
            if (self.weights[name] <= least).any():
                raise BundleError(
                    f"the multipliers of {ascii(name)[1:-1][:80]} make numbers that are not finite; {_FIX_INT8}"
                )

    def integers(self, name: str, weight: Array) -> NDArray[np.int8]:
        """The stored integers of a matrix. Shapes: [rows, columns] -> the same."""
        exact = weight.astype(np.float64) * self.weights[name][:, np.newaxis]
        rounded = np.rint(exact)
        if np.abs(exact - rounded).max(initial=0.0) > _TOLERANCE or np.abs(rounded).max(initial=0.0) > _LEVELS + 1:
            raise BundleError(f"{name} does not hold integers divided by their multipliers; {_FIX_INT8}")
        return rounded.astype(np.int8)


def _with_prefix(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Convert safetensors errors about a full or broken disk to `OSError`."""
    try:
        yield
    except SafetensorError as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        number = int(found[1])
        raise OSError(number, os.strerror(number), str(path)) from None


def write_weights(
    path: Path, weights: Mapping[str, NDArray[Any]], integers: Mapping[str, NDArray[np.int8]] = MappingProxyType({})
) -> None:
    """Write arrays by name; they must be float32 and finite. `integers` are written instead of those of their names."""
    for name, array in weights.items():
        if array.dtype != np.float32:
            raise BundleError(
                f"{name} must be float32 in a bundle, got {array.dtype}; convert the weights before they are saved"
            )
        if not np.isfinite(array).all():
            raise BundleError(f"{name} must be finite in a bundle, got NaN or infinity; {_DIVERGED}")
    with disk_errors(path), usual_permissions(path):
        save_file({name: np.asarray(array, order="C") for name, array in {**weights, **integers}.items()}, path)


def read_weights(path: Path) -> dict[str, NDArray[Any]]:
    """Read arrays by name, with the types of the file."""
    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise BundleError(f"{path} must hold float32 weights, got: {error}; {_FIX}") from None


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Read the shapes by name from the header of the file."""
    with safe_open(path, framework="numpy") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 -- not a mapping


def read_integer_places(path: Path) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Read the places in the file and the shapes of the int8 matrices by name; check the file first."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
    matrices = {name: facts for name, facts in header.items() if facts.get("dtype") == _INT8}
    return {name: (start + facts["data_offsets"][0], tuple(facts["shape"])) for name, facts in matrices.items()}


def count_parameters(path: Path) -> int:
    """Return the number of weights, read from the header of the file."""
    return sum(math.prod(shape) for shape in read_shapes(path).values())


def check_weights(path: Path, *, allow_int8: bool = False) -> None:
    """Check from the header that all tensors are float32, or int8 matrices, and that they cover the file."""
    with path.open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if header > _MAX_HEADER:
        raise BundleError(f"{path} must have a header of at most {_MAX_HEADER:,} bytes, got {header:,}; {_FIX}")
    try:
        with safe_open(path, framework="numpy") as file:
            faults = [
                fault
                for name in file.keys()  # noqa: SIM118 -- not a mapping
                if (fault := _fault(name, file.get_slice(name), allow_int8=allow_int8))
            ]
            empty = not file.keys()
    except (SafetensorError, OSError, ValueError, OverflowError) as error:
        raise BundleError(f"{path} must be a safetensors file, got: {error}; {_FIX}") from None
    if empty:
        raise BundleError(f"{path} holds no weights; {_FIX}")
    if faults:
        raise BundleError(f"{path} must hold float32 weights, got {faults[0]}; {_FIX}")


def check_shapes(folder: Path, found: Mapping[str, tuple[int, ...]], expected: Iterable[NamedShape]) -> None:
    """Compare the names and shapes of weights with those of a model, in steps limited by the weights found."""
    left = dict(found)
    for name, shape in expected:
        if (got := left.pop(name, None)) != shape:
            raise _other_model(folder, f"no {name}" if got is None else f"{name} of the shape {got} instead of {shape}")
    if left:
        raise _other_model(folder, f"{ascii(min(left))[1:-1][:80]} as well")


def _other_model(folder: Path, got: str) -> BundleError:
    return BundleError(
        f"the weights of {folder} are not those of the model that its configuration describes: {got}; copy it again"
    )


def refuse_non_finite(path: Path) -> None:
    """Raise a `BundleError` if a file of weights, checked with `check_weights`, has NaN or infinity."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        header.pop("__metadata__", None)
        start, block = file.tell(), bytearray(_BLOCK)
        for begin, end in _float_spans(header):
            file.seek(start + begin)
            done = begin
            while size := file.readinto(memoryview(block)[: end - done]):
                is_finite = np.isfinite(np.frombuffer(block, "<f4", size // 4))
                if not is_finite.all():
                    name = _name_at(header, done + 4 * int(is_finite.argmin()))
                    raise BundleError(f"{path} must hold finite weights, got NaN or infinity in {name}; {_DIVERGED}")
                done += size


def _float_spans(header: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield the parts of the data with float32 numbers; adjacent tensors are one part."""
    spans = sorted(tuple(facts["data_offsets"]) for facts in header.values() if facts["dtype"] == "F32")
    begin = end = 0
    for first, last in spans:
        if first != end:
            yield begin, end
            begin = first
        end = last
    yield begin, end


def _name_at(header: Mapping[str, Any], offset: int) -> str:
    """Return the name of the tensor at an offset in the data of a file."""
    for name, facts in header.items():
        begin, end = facts["data_offsets"]
        if begin <= offset < end:
            return ascii(name)[1:-1][:80]
    return "a tensor"


def _fault(name: str, entry: Any, *, allow_int8: bool) -> str | None:
    shape, kind = entry.get_shape(), entry.get_dtype()
    if kind != "F32" and not (allow_int8 and kind == _INT8 and len(shape) == 2):
        return f"{kind} in {ascii(name)[:80]}"
    if 0 in shape or len(shape) > _MAX_DIMENSIONS:
        return f"the shape {shape[: _MAX_DIMENSIONS + 1]} of {ascii(name)[:80]}"
    return None


NamedShape = tuple[str, tuple[int, ...]]

_GATES = {"rnn": 1, "lstm": 4, "gru-published": 3, "gru-fused": 3}


def weight_shapes(config: ModelConfig, source_vocab: int, target_vocab: int) -> Iterator[NamedShape]:
    """Yield the name and shape of each weight, tied ones once, one by one, so that a caller can stop early."""
    if isinstance(config, TransformerConfig):
        dim, features = config.dim, config.dim
    else:
        dim, features = config.embedding, config.features
    yield "encoder.embedding.weight", (source_vocab, dim)
    if config.tie != "all":
        yield "decoder.embedding.weight", (target_vocab, dim)
    if config.tie == "none":
        yield "decoder.output.weight", (target_vocab, features)
    yield "decoder.output.bias", (target_vocab,)
    yield from _transformer(config) if isinstance(config, TransformerConfig) else _rnn(config)


def _linear(name: str, out: int, size: int, *, bias: bool = True) -> Iterator[NamedShape]:
    yield f"{name}.weight", (out, size)
    if bias:
        yield f"{name}.bias", (out,)


def _norm(name: str, dim: int) -> Iterator[NamedShape]:
    yield f"{name}.weight", (dim,)
    yield f"{name}.bias", (dim,)


# ------------------------------------------------------------------------------------------------------- Transformer


def _transformer(config: TransformerConfig) -> Iterator[NamedShape]:
    sides = (
        ("encoder", config.encoder_layers, {"attention": "around_attention"}),
        ("decoder", config.decoder_layers, {"self_attention": "around_self", "source_attention": "around_source"}),
    )
    for side, layers, attentions in sides:
        if config.positions == "learned":
            yield f"{side}.positions.weight", (config.max_positions + config.position_offset, config.dim)
        if config.norm == "pre":
            yield from _norm(f"{side}.norm", config.dim)
        for layer in range(layers):
            yield from _transformer_layer(config, f"{side}.layers.{layer}", attentions)


def _transformer_layer(config: TransformerConfig, name: str, attentions: dict[str, str]) -> Iterator[NamedShape]:
    dim = config.dim
    for attention, residual in attentions.items():
        if attention == "self_attention" and config.decoder == "ssru":
            yield f"{name}.ssru.W", (dim, dim)
            yield f"{name}.ssru.W_f", (dim, dim)
            yield f"{name}.ssru.b_f", (dim,)
        else:
            yield f"{name}.{attention}.W_qkv", (3 * dim, dim)
            yield f"{name}.{attention}.W_o", (dim, dim)
            if config.attention_bias:
                yield f"{name}.{attention}.b_qkv", (3 * dim,)
                yield f"{name}.{attention}.b_o", (dim,)
        yield from _norm(f"{name}.{residual}.norm", dim)
    yield from _linear(f"{name}.feedforward.W_1", config.feedforward, dim)
    yield from _linear(f"{name}.feedforward.W_2", dim, config.feedforward)
    yield from _norm(f"{name}.around_feedforward.norm", dim)


# --------------------------------------------------------------------------------------------------------- recurrent


def _rnn(config: RnnConfig) -> Iterator[NamedShape]:
    yield from _rnn_encoder(config)
    yield from _rnn_decoder(config)
    if config.decoder.attend != "none":
        yield from _attention(config)


def _cell(name: str, cell: str, inputs: int, hidden: int) -> Iterator[NamedShape]:
    rows = _GATES[cell] * hidden
    yield f"{name}.W", (rows, inputs)
    yield f"{name}.U", (rows, hidden)
    yield f"{name}.b", (rows,)
    if cell == "gru-fused":
        yield f"{name}.b_U", (hidden,)


def _rnn_encoder(config: RnnConfig) -> Iterator[NamedShape]:
    encoder = config.encoder
    each = encoder.hidden // 2 if config.directions_halved else encoder.hidden
    for layer in range(encoder.layers):
        name = f"encoder.layers.{layer}"
        for side in ["left", "right"] if encoder.bidirectional else ["left"]:
            yield from _cell(f"{name}.{side}", encoder.cell, encoder.hidden if layer else config.embedding, each)
        if encoder.bidirectional and encoder.join == "linear":
            yield from _linear(f"{name}.join", encoder.hidden, 2 * encoder.hidden)
    if encoder.structured_rows:
        hidden = encoder.structured_hidden or encoder.hidden
        yield "encoder.structured.W_1", (hidden, encoder.hidden)
        yield "encoder.structured.W_2", (encoder.structured_rows, hidden)


def _rnn_decoder(config: RnnConfig) -> Iterator[NamedShape]:
    """Yield the cells, initial state and deep output of the decoder."""
    encoder, decoder = config.encoder, config.decoder
    attends, every_step = decoder.attend != "none", decoder.context == "every-step"
    context = config.value_size if attends else encoder.hidden
    enters = context if decoder.attend == "before" or every_step else decoder.hidden if decoder.input_feeding else 0
    for layer in range(decoder.layers):
        inputs = decoder.hidden if layer else config.embedding + enters
        yield from _cell(f"decoder.stack.cells.{layer}", decoder.cell, inputs, decoder.hidden)
    if decoder.start == "project":
        size = encoder.hidden // 2 if attends and config.directions_halved else encoder.hidden
        parts = 2 if decoder.cell == "lstm" else 1
        yield from _linear("decoder.begin.W_s", decoder.layers * parts * decoder.hidden, size)
    if every_step:
        yield from _linear("decoder.V", encoder.hidden, encoder.hidden)
    if decoder.output == "deep":
        out = 2 * config.features
        yield from _linear("decoder.deep.U_o", out, decoder.hidden)
        yield from _linear("decoder.deep.V_o", out, config.embedding, bias=False)
        yield from _linear("decoder.deep.C_o", out, context, bias=False)


def _attention(config: RnnConfig) -> Iterator[NamedShape]:
    attention, query, key = config.attention, config.query_size, config.value_size
    inner = attention.hidden or query
    name = "decoder.attention"
    if config.decoder.attend == "after":
        yield "decoder.W_c", (config.decoder.hidden, key + config.decoder.hidden)
    sizes = {"query": query, "key": key, "hidden": inner, "positions": attention.positions}
    for weight, shape in score_rules(attention.score).shapes(**sizes).items():
        yield f"{name}.score.{weight}", shape
    if attention.alignment == "local-p":
        yield f"{name}.aligner.W_p", (inner, query)
        yield f"{name}.aligner.v_p", (inner,)
