"""Compute m2m100_reference.json with transformers: ``python -m tests.unit.importing.make_m2m100_reference``.

transformers is not a dependency of the project: install it in a separate environment to run this; version 4 has the
tokenizers that call SentencePiece. Tokens that no translation contains are excluded before the softmax. The folder that
`save_pretrained` writes must give the same bundle as that of the tests.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from dragoman.importing.import_model import import_model
from testkit.random_models.random_m2m100 import SHAPES, TEXTS, Shape, language_ids, random_pairs, write_folder

LINES = 120
SCORED = 20
LIMIT = 24
STRANGE = ["Where is  the old\tdog?", "ﬁne １０ o’clock…", "日本 🐈 log", "", "</s> <unk> <pad> <s>", "▁ under_score"]


def main() -> None:
    """Write the file next to this module."""
    transformers = importlib.import_module("transformers")
    found = {name: reference(transformers, shape) for name, shape in SHAPES.items()}
    document = {"transformers": transformers.__version__, "torch": torch.__version__, "models": found}
    path = Path(__file__).with_name("m2m100_reference.json")
    path.write_text(json.dumps(document, separators=(",", ":")).replace('{"subwords"', '\n{"subwords"') + "\n")


def reference(transformers: Any, shape: Shape) -> dict[str, Any]:
    """Ids of texts, log p of given targets, greedy and beam output of one model."""
    with TemporaryDirectory() as temporary:
        folder = write_folder(Path(temporary) / "model", shape)
        model = transformers.M2M100ForConditionalGeneration.from_pretrained(folder).eval()
        kind = transformers.NllbTokenizer if shape.is_nllb else transformers.M2M100Tokenizer
        tokenizer = kind.from_pretrained(folder)
        assert {token: tokenizer.convert_tokens_to_ids(token) for token in shape.languages} == language_ids(shape)
        ids = {code: encode(tokenizer, shape, code, text.splitlines()) for code, text in TEXTS.items()}
        ids["strange"] = encode(tokenizer, shape, "en", STRANGE)
        compare_saved(folder, model, tokenizer)
        digest = hashlib.sha256((folder / "sentencepiece.bpe.model").read_bytes()).hexdigest()
    pairs = random_pairs(shape, LINES)
    targets = [
        [first, *ids[1:], 2] for (ids, _), (_, first) in zip(random_pairs(shape, SCORED, 2), pairs, strict=False)
    ]
    return {
        "subwords": digest,
        "ids": ids,
        "log_probs": [
            log_prob(model, shape, [*pair[0], 2], target) for pair, target in zip(pairs, targets, strict=False)
        ],
        "greedy": [generate(model, shape, *pair, 1) for pair in pairs],
        "beam": [generate(model, shape, *pair, 4) for pair in pairs],
    }


def encode(tokenizer: Any, shape: Shape, code: str, texts: list[str]) -> list[list[int]]:
    """Ids of sources in a language."""
    names = {"en": "eng_Latn", "de": "deu_Latn", "fr": "fra_Latn", "pt": "por_Latn", "zh": "zho_Hans"}
    tokenizer.src_lang = names[code] if shape.is_nllb else code
    return [tokenizer(text).input_ids for text in texts]


def compare_saved(folder: Path, model: Any, tokenizer: Any) -> None:
    """Require that the folder written by transformers gives the same bundle."""
    saved = folder.parent / "saved"
    model.save_pretrained(saved)
    tokenizer.save_pretrained(saved)
    first, other = (import_model(each, folder.parent / f"{each.name}-bundle").bundle for each in (folder, saved))
    assert first.tokenizers()["source"] == other.tokenizers()["source"]
    assert first.config.data == other.config.data
    assert first.weights().keys() == other.weights().keys()
    assert all(np.array_equal(array, other.weights()[name]) for name, array in first.weights().items())


@torch.no_grad()
def log_prob(model: Any, shape: Shape, source: list[int], target: list[int]) -> list[float]:
    """log p of every target token."""
    inputs = torch.tensor([[model.config.decoder_start_token_id, *target[:-1]]])
    logits = model(input_ids=torch.tensor([source]), decoder_input_ids=inputs).logits[0].double()
    logits[:, shape.hidden] = -torch.inf
    chosen = logits.log_softmax(-1)[torch.arange(len(target)), target]
    return [round(float(value), 7) for value in chosen]


@torch.no_grad()
def generate(model: Any, shape: Shape, source: list[int], language: int, beams: int) -> list[int]:
    """The best output of a sentence, without the language and the end."""
    written = model.generate(
        torch.tensor([[*source, 2]]),
        num_beams=beams,
        do_sample=False,
        max_new_tokens=LIMIT,
        early_stopping=False,
        length_penalty=0.0,
        renormalize_logits=True,
        bad_words_ids=[[number] for number in shape.hidden],
        forced_bos_token_id=language,
        forced_eos_token_id=None,
    )
    assert written[0, :2].tolist() == [2, language]
    row: list[int] = written[0, 2:].tolist()
    return row[: row.index(2)] if 2 in row else row


if __name__ == "__main__":
    main()
