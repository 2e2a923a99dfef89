"""Hugging Face MarianMT folders with random weights that are the same on every machine."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sentencepiece import SentencePieceTrainer

Arrays = dict[str, NDArray[np.float32]]
_WORD = 1 << 64


def scramble_int(word: int) -> int:
    """The finaliser of SplitMix64."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % _WORD
    return word ^ (word >> 31)


_TEXT = """The cat sat on the mat, and the dog sat on the log. Where is the train to the old town? It is 10 o'clock.
O gato sentou no tapete, e o cão sentou no tronco. Onde está o trem para a cidade velha? São 10 horas.
Die Katze saß auf der Matte, und der Hund saß auf dem Baumstamm. Wo ist der Zug in die alte Stadt? Es ist 10 Uhr."""


@dataclass(frozen=True)
class Shape:
    """Entries of config.json that differ between the models; `vocab` includes the padding, which is last."""

    dim: int
    heads: int
    feedforward: int
    layers: tuple[int, int]
    activation: str
    scaled: bool
    vocab: int
    target_vocab: int
    shared: bool
    end: float
    """Bias of the end, so that many outputs end."""

    def config(self) -> dict[str, Any]:
        encoder, decoder = self.layers
        return {
            "model_type": "marian",
            "architectures": ["MarianMTModel"],
            "d_model": self.dim,
            "encoder_layers": encoder,
            "decoder_layers": decoder,
            "encoder_attention_heads": self.heads,
            "decoder_attention_heads": self.heads,
            "encoder_ffn_dim": self.feedforward,
            "decoder_ffn_dim": self.feedforward,
            "activation_function": self.activation,
            "scale_embedding": self.scaled,
            "vocab_size": self.vocab,
            "decoder_vocab_size": self.target_vocab,
            "share_encoder_decoder_embeddings": self.shared,
            "tie_word_embeddings": True,
            "max_position_embeddings": 64,
            "pad_token_id": min(self.vocab, self.target_vocab) - 1,
            "eos_token_id": 0,
            "decoder_start_token_id": min(self.vocab, self.target_vocab) - 1,
            "static_position_embeddings": True,
            "dropout": 0.0,
        }


SHAPES = {
    "shared, swish": Shape(16, 4, 32, (2, 2), "swish", True, 50, 50, True, 3.6),
    "narrow and deep, relu, not scaled": Shape(12, 3, 20, (1, 3), "relu", False, 61, 61, True, 8.7),
    "two vocabularies, gelu": Shape(24, 2, 40, (3, 1), "gelu", True, 57, 57, False, 3.8),
}


def random_weights(shape: Shape, seed: int = 1) -> Arrays:
    """The arrays of a checkpoint by their names in transformers. Padding has a zero vector."""
    pad = shape.config()["pad_token_id"]
    weights = {name: random_array(name, size, seed) for name, size in _shapes(shape)}
    for name, array in weights.items():
        if name.endswith("layer_norm.weight"):
            array += 1.0
        if "embed_tokens" in name or "shared" in name:
            array[pad] = 0.0
    weights["final_logits_bias"] *= 2.0
    weights["final_logits_bias"][0, 0] = shape.end
    return weights


def _shapes(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    dim = shape.dim
    if shape.shared:
        yield "model.shared.weight", (shape.vocab, dim)
    else:
        yield "model.encoder.embed_tokens.weight", (shape.vocab, dim)
        yield "model.decoder.embed_tokens.weight", (shape.target_vocab, dim)
    yield "final_logits_bias", (1, shape.target_vocab)
    for side, layers in zip(("encoder", "decoder"), shape.layers, strict=True):
        yield from layer_shapes(side, layers, shape.dim, shape.feedforward)


def layer_shapes(side: str, layers: int, dim: int, inner: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the arrays of the layers of an encoder or a decoder, as MarianMT and M2M100 name them."""
    for number in range(layers):
        name = f"model.{side}.layers.{number}"
        for attention in ("self_attn", "encoder_attn") if side == "decoder" else ("self_attn",):
            for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                yield f"{name}.{attention}.{part}.weight", (dim, dim)
                yield f"{name}.{attention}.{part}.bias", (dim,)
            yield f"{name}.{attention}_layer_norm.weight", (dim,)
            yield f"{name}.{attention}_layer_norm.bias", (dim,)
        yield f"{name}.fc1.weight", (inner, dim)
        yield f"{name}.fc1.bias", (inner,)
        yield f"{name}.fc2.weight", (dim, inner)
        yield f"{name}.fc2.bias", (dim,)
        yield f"{name}.final_layer_norm.weight", (dim,)
        yield f"{name}.final_layer_norm.bias", (dim,)


def random_array(name: str, size: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    """Numbers with the variance of a trained matrix, from integers alone."""
    key = sum(ord(letter) * 31**place % 1_000_003 for place, letter in enumerate(name)) + seed * 7_919
    count = int(np.prod(size))
    numbers = [scramble_int((key * 1_000_003 + place) * 0x9E3779B97F4A7C15 % _WORD) for place in range(3 * count)]
    uniform = np.array([number >> 40 for number in numbers], np.float64).reshape(3, count) / 2**24 - 0.5
    scale = 2.0 / np.sqrt(size[-1]) if len(size) > 1 else 0.3
    found: NDArray[np.float32] = (uniform.sum(0) * 2.0 * scale).astype(np.float32).reshape(size)
    return found


def random_sentences(count: int, vocab: int, *, longest: int = 9, seed: int = 1) -> list[list[int]]:
    """Ids of transformers without the end (0), the unknown token (1) and padding (last)."""
    sentences = []
    for number in range(count):
        draws = [scramble_int((seed * 1_000 + number) * 1_000 + place) for place in range(longest + 1)]
        sentences.append([2 + draw % (vocab - 3) for draw in draws[1 : 2 + draws[0] % longest]])
    return sentences


def write_vocabularies(folder: Path, shape: Shape) -> None:
    """vocab.json with ``</s>``, ``<unk>``, tokens and ``<pad>``; two SentencePiece models that use the tokens."""
    words = _TEXT.splitlines()
    sizes = {"vocab.json": shape.vocab} | ({} if shape.shared else {"target_vocab.json": shape.target_vocab})
    sets = []
    for side, lines in (("source", words[0]), ("target", words[1])):
        written = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines.split(". ")),
            model_writer=written,
            vocab_size=44,
            hard_vocab_limit=False,
            normalization_rule_name="nmt_nfkc",
            unk_id=1,
            eos_id=0,
            bos_id=-1,
            pad_id=-1,
            minloglevel=2,
        )
        (folder / f"{side}.spm").write_bytes(written.getvalue())
        sets.append(_pieces(written.getvalue()))
    tokens = list(dict.fromkeys([*sets[0], *sets[1]]))
    for name, size in sizes.items():
        chosen = tokens if name == "vocab.json" else tokens[::-1]
        filled = [*chosen[: size - 3], *(f"token{number}" for number in range(size - 3 - len(chosen)))]
        table = ["</s>", "<unk>", *filled, "<pad>"]
        (folder / name).write_text(json.dumps({token: place for place, token in enumerate(table)}), "utf-8")


def _pieces(model: bytes) -> list[str]:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(number) for number in range(2, len(processor))]


def write_folder(folder: Path, shape: Shape, seed: int = 1) -> Path:
    """A complete folder as `save_pretrained` writes it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(shape.config()))
    save_file(random_weights(shape, seed), folder / "model.safetensors")
    write_vocabularies(folder, shape)
    return folder
