"""Hugging Face folders of M2M100 and NLLB with random weights that are the same on every machine."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from testkit.random_models.random_marian import Arrays, layer_shapes, random_array, random_sentences, scramble_int

TEXTS = {
    "en": """The committee will publish its report on Tuesday morning. Why did nobody tell us about the new timetable?
Heavy rain is expected in the mountains, and roads may be closed. She bought 250 g of flour, two eggs and some butter.
Please restart the computer before you install the update. "It works," he said, "but I don't know why."
The museum opens at 9:30 and closes at 18:00. Our neighbours' dog barks whenever the postman comes.""",
    "de": """Der Ausschuss veröffentlicht seinen Bericht am Dienstagmorgen. Warum hat uns niemand etwas gesagt?
In den Bergen wird starker Regen erwartet, und Straßen könnten gesperrt werden. Sie kaufte 250 g Mehl und zwei Eier.
Bitte starten Sie den Rechner neu, bevor Sie die Aktualisierung installieren. „Es geht“, sagte er, „aber warum?“
Das Museum öffnet um 9:30 Uhr und schließt um 18:00 Uhr. Der Hund unserer Nachbarn bellt, wenn jemand kommt.""",
    "fr": """Le comité publiera son rapport mardi matin. Pourquoi personne ne nous a-t-il parlé du nouvel horaire ?
De fortes pluies sont attendues en montagne, et des routes pourraient être fermées. Elle a acheté 250 g de farine.
Veuillez redémarrer l'ordinateur avant d'installer la mise à jour. « Ça marche », dit-il, « mais j'ignore pourquoi. »
Le musée ouvre à 9 h 30 et ferme à 18 h. Le chien de nos voisins aboie dès que le facteur arrive.""",
    "pt": """A comissão publicará o seu relatório na terça-feira de manhã. Por que ninguém nos falou do novo horário?
Espera-se chuva forte nas montanhas, e as estradas podem ser fechadas. Ela comprou 250 g de farinha e dois ovos.
Reinicie o computador antes de instalar a atualização. "Funciona", disse ele, "mas não sei porquê."
O museu abre às 9h30 e fecha às 18h. O cão dos nossos vizinhos ladra sempre que chega o carteiro.""",
    "zh": """委员会将于星期二上午公布报告。为什么没有人告诉我们新的时间表？
山区预计有大雨，道路可能关闭。她买了250克面粉、两个鸡蛋和一些黄油。
安装更新之前，请重新启动电脑。“能用，”他说，“但我不知道为什么。”
博物馆九点半开门，十八点关门。邮递员一来，邻居家的狗就叫。""",
}
"""A few lines per language; the subword models are trained with them."""

_M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy "
    "id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru "
    "sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
_NLLB = "als_Latn arb_Arab deu_Latn eng_Latn fra_Latn kas_Arab kas_Deva por_Latn yue_Hant zho_Hans zho_Hant"
M2M100_CODES = _M2M100.split()
NLLB_CODES = _NLLB.split()
"""Some of its 202 codes."""


@dataclass(frozen=True)
class Shape:
    """Entries of config.json that differ between the models."""

    is_nllb: bool
    dim: int
    heads: int
    feedforward: int
    layers: tuple[int, int]
    activation: str
    scaled: bool
    end: float
    """Logit of the end, so that many outputs end."""
    subword_file: bytes = b""
    """A SentencePiece model; one of a few hundred tokens is trained if it is empty."""

    @property
    def languages(self) -> list[str]:
        """Language tokens."""
        return list(NLLB_CODES) if self.is_nllb else [f"__{code}__" for code in M2M100_CODES]

    @property
    def subwords(self) -> int:
        """Ids below those of languages."""
        return len(self.tokens())

    @property
    def vocab(self) -> int:
        """Rows of the embedding: two more than NLLB has tokens, and the 8 words of M2M100 that fill it up."""
        return self.subwords + len(self.languages) + (3 if self.is_nllb else 8)

    @property
    def hidden(self) -> list[int]:
        """Ids that no translation contains: ``<s>``, padding, ``<mask>`` and rows without a token."""
        return [0, 1, *range(self.subwords + len(self.languages), self.vocab)]

    def tokens(self) -> list[str]:
        """Tokens by id, without those of languages."""
        processor = SentencePieceProcessor(model_proto=self.subword_file or subword_model(self.is_nllb))
        return ["<s>", "<pad>", "</s>", "<unk>", *processor.id_to_piece(list(range(3, len(processor))))]

    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        encoder, decoder = self.layers
        return {
            "model_type": "m2m_100",
            "architectures": ["M2M100ForConditionalGeneration"],
            "d_model": self.dim,
            "encoder_layers": encoder,
            "decoder_layers": decoder,
            "encoder_attention_heads": self.heads,
            "decoder_attention_heads": self.heads,
            "encoder_ffn_dim": self.feedforward,
            "decoder_ffn_dim": self.feedforward,
            "encoder_layerdrop": 0.0,
            "decoder_layerdrop": 0.0,
            "activation_function": self.activation,
            "scale_embedding": self.scaled,
            "vocab_size": self.vocab,
            "max_position_embeddings": 64,
            "bos_token_id": 0,
            "pad_token_id": 1,
            "eos_token_id": 2,
            "decoder_start_token_id": 2,
            "dropout": 0.1,
        }


SHAPES = {
    "M2M100": Shape(False, 16, 4, 32, (2, 2), "relu", True, 5.0),
    "NLLB": Shape(True, 24, 3, 40, (1, 3), "relu", True, 9.0),
    "NLLB, gelu, not scaled": Shape(True, 12, 2, 20, (3, 1), "gelu", False, 4.0),
}


def subword_model(is_nllb: bool) -> bytes:
    """Train a SentencePiece model: BPE for NLLB, otherwise unigram."""
    if is_nllb not in _MODELS:
        written = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=iter("\n".join(TEXTS.values()).splitlines()),
            model_writer=written,
            vocab_size=400,
            model_type="bpe" if is_nllb else "unigram",
            hard_vocab_limit=is_nllb,
            character_coverage=0.995,
            normalization_rule_name="nmt_nfkc",
            num_threads=1,
            minloglevel=2,
        )
        _MODELS[is_nllb] = written.getvalue()
    return _MODELS[is_nllb]


_MODELS: dict[bool, bytes] = {}


def language_ids(shape: Shape) -> dict[str, int]:
    """Ids of language tokens in transformers."""
    return {token: shape.subwords + place for place, token in enumerate(shape.languages)}


def random_pairs(shape: Shape, count: int, seed: int = 1) -> list[tuple[list[int], int]]:
    """Ids of sources, which begin with a language token and have no end, and the language token of the target."""
    ids = list(language_ids(shape).values())
    sentences = random_sentences(count, shape.subwords - 1, seed=seed)
    draws = [scramble_int(seed * 7_000 + number) for number in range(2 * count)]
    return [
        ([ids[draws[2 * row] % len(ids)], *(number + 2 for number in sentence)], ids[draws[2 * row + 1] % len(ids)])
        for row, sentence in enumerate(sentences)
    ]


def random_weights(shape: Shape, seed: int = 1) -> Arrays:
    """The arrays of a checkpoint by their names in transformers. Padding has a zero vector."""
    weights = {name: random_array(name, size, seed) for name, size in weight_shapes(shape)}
    for name, array in weights.items():
        if name.endswith("layer_norm.weight"):
            array += 1.0
    shared, bias = weights["model.shared.weight"], weights["model.decoder.layer_norm.bias"]
    shared[1] = 0.0  # padding
    shared[2] += np.float32(shape.end / (bias @ bias)) * bias
    return weights


def weight_shapes(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the arrays of a checkpoint."""
    dim = shape.dim
    yield "model.shared.weight", (shape.vocab, dim)
    for side, layers in zip(("encoder", "decoder"), shape.layers, strict=True):
        yield from layer_shapes(side, layers, dim, shape.feedforward)
        yield f"model.{side}.layer_norm.weight", (dim,)
        yield f"model.{side}.layer_norm.bias", (dim,)


def write_folder(folder: Path, shape: Shape, seed: int = 1, weights: Arrays | None = None) -> Path:
    """A complete folder, with the files of the models that are published."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(shape.config()))
    (folder / "sentencepiece.bpe.model").write_bytes(shape.subword_file or subword_model(shape.is_nllb))
    save_file(weights or random_weights(shape, seed), folder / "model.safetensors", metadata={"format": "pt"})
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>", "pad_token": "<pad>"}
    settings: dict[str, Any] = {"tokenizer_class": "NllbTokenizer" if shape.is_nllb else "M2M100Tokenizer"}
    ids = language_ids(shape)
    if shape.is_nllb:
        special |= {"cls_token": "<s>", "mask_token": "<mask>"}
        ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | ids | {"<mask>": shape.subwords + len(ids)}
        settings["added_tokens_decoder"] = {
            str(number): {"content": token, "special": True} for token, number in ids.items()
        }
    else:
        table = {token: number for number, token in enumerate(shape.tokens())}
        (folder / "vocab.json").write_text(json.dumps(table), "utf-8")
    tokens = special | {"additional_special_tokens": shape.languages}
    (folder / "special_tokens_map.json").write_text(json.dumps(tokens))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | tokens))
    return folder
