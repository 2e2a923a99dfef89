"""Marian (.npz) and Firefox (.bin) models with random weights, and binary shortlists."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

Arrays = dict[str, NDArray[np.float32]]
DIM, HEADS, INNER = 16, 4, 24
OPTIONS = {
    "type": "transformer",
    "dim-emb": DIM,
    "transformer-heads": HEADS,
    "transformer-dim-ffn": INNER,
    "enc-depth": 2,
    "dec-depth": 1,
    "transformer-ffn-activation": "relu",
    "transformer-preprocess": '""',
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-no-projection": "false",
    "tied-embeddings-all": "true",
}
INPUT_MULTIPLIER = 25.0
SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}


def random_arrays(vocab: int, *, ssru: bool) -> Arrays:
    """Weights by the names of Marian, matrices [in, out]."""
    generator = np.random.default_rng(1)

    def normal(*shape: int) -> NDArray[np.float32]:
        return (0.3 * generator.standard_normal(shape)).astype(np.float32)

    def norm(name: str) -> Arrays:
        return {f"{name}_ln_scale": 1 + normal(1, DIM), f"{name}_ln_bias": normal(1, DIM)}

    def attention(name: str) -> Arrays:
        matrices = {f"{name}_W{part}": normal(DIM, DIM) for part in "qkvo"}
        return matrices | {f"{name}_b{part}": normal(1, DIM) for part in "qkvo"} | norm(f"{name}_Wo")

    def feed_forward(name: str) -> Arrays:
        matrices = {f"{name}_W1": normal(DIM, INNER), f"{name}_W2": normal(INNER, DIM)}
        return matrices | {f"{name}_b1": normal(1, INNER), f"{name}_b2": normal(1, DIM)} | norm(f"{name}_ffn")

    found = {"Wemb": normal(vocab, DIM), "decoder_ff_logit_out_b": normal(1, vocab)}
    for layer in ("encoder_l1", "encoder_l2"):
        found |= attention(f"{layer}_self") | feed_forward(f"{layer}_ffn")
    unit = {"decoder_l1_rnn_W": normal(DIM, DIM), "decoder_l1_rnn_Wf": normal(DIM, DIM)}
    unit |= {"decoder_l1_rnn_bf": normal(1, DIM)} | norm("decoder_l1_rnn_ffn")
    found |= unit if ssru else attention("decoder_l1_self")
    return found | attention("decoder_l1_context") | feed_forward("decoder_l1_ffn")


def options(**changes: object) -> bytes:
    table = OPTIONS | {name.replace("_", "-"): value for name, value in changes.items()}
    lines = [f"{name}: {value}" for name, value in table.items()]
    return "\n".join([*lines, "dim-vocabs:", "  - 47", "  - 47", "version: v1.9"]).encode() + b"\0"


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]], config: bytes) -> None:
    everything: dict[str, Any] = {**arrays, "special:model.yml": np.frombuffer(config, np.int8)}
    np.savez(path, **everything)


def write_bin(path: Path, arrays: Mapping[str, NDArray[np.float32]], config: bytes, *, int8: bool = False) -> None:
    """The layout that Marian writes; with int8, matrices are integers with their multiplier."""
    entries: list[tuple[str, int, tuple[int, ...], bytes]] = [("special:model.yml", 0x101, (len(config),), config)]
    for name, array in arrays.items():
        if int8 and 1 not in array.shape:
            factor = np.float32(127 / np.abs(array).max())
            numbers = np.rint((array if name == "Wemb" else array.T) * factor).astype(np.int8)
            entries.append((name, 0x4101, array.shape, numbers.tobytes() + factor.tobytes() + bytes(252)))
            if name == "Wemb":  # as in real files: no number, and the output layer has no name
                entries.append((f"{name}_QuantMultA", 0x4101, (1, 1), bytes(256)))
            multiplier = np.float32(INPUT_MULTIPLIER).tobytes() + bytes(252)
            entries.append((f"{'none' if name == 'Wemb' else name}_QuantMultA", 0x404, (1, 1), multiplier))
        else:
            entries.append((name, 0x404, array.shape, array.tobytes() + bytes(-array.nbytes % 256)))
    head = struct.pack("<QQ", 1, len(entries))
    for name, kind, shape, data in entries:
        head += struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(data))
    head += b"".join(name.encode() + b"\0" for name, *_ in entries)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in entries)
    padding = -(len(head) + 8) % 256
    path.write_bytes(head + struct.pack("<Q", padding) + bytes(padding) + b"".join(data for *_, data in entries))


def write_lexicon(path: Path, frequent: int, lists: Sequence[Sequence[int]]) -> None:
    """A binary shortlist: `frequent` tokens for every sentence, and one list per source token."""
    offsets = np.cumsum([0, *map(len, lists)])
    tokens = [token for each in lists for token in each]
    head = struct.pack("<6Q", 0xF11A48D5013417F5, 0, frequent, 3, len(offsets), len(tokens))
    path.write_bytes(head + offsets.astype("<u8").tobytes() + np.asarray(tokens, "<u4").tobytes())


def folder_with(path: Path, vocabulary: bytes, name: str = "vocab.enpt.spm") -> Path:
    path.mkdir()
    (path / name).write_bytes(vocabulary)
    return path


def tokens_of(vocabulary: bytes) -> int:
    return len(SentencePieceProcessor(model_proto=vocabulary))


def firefox_folder(path: Path, vocabulary: bytes, *, lexicon: bool = False) -> Path:
    """An int8 model with an SSRU decoder, as Firefox has it."""
    folder, size = folder_with(path, vocabulary), tokens_of(vocabulary)
    arrays = random_arrays(size, ssru=True)
    arrays["decoder_ff_logit_out_b"][0, 0] = 2.0  # many outputs end
    config = options(transformer_decoder_autoreg="rnn", dec_cell="ssru")
    write_bin(folder / "model.enpt.intgemm.alphas.bin", arrays, config, int8=True)
    if lexicon:
        lists = [[(3 * token + step) % size for step in range(token % 4)] for token in range(size)]
        write_lexicon(folder / "lex.50.50.enpt.s2t.bin", 6, lists)
    return folder
