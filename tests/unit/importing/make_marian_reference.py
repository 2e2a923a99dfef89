"""Compute marian_reference.json with transformers: ``python -m tests.unit.importing.make_marian_reference``.

transformers is not a dependency of the project: install it in a separate environment to run this. Padding is excluded
before the softmax, as Marian itself has no padding token; `generate` does the same with `renormalize_logits`.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import torch

from testkit.random_models.random_marian import SHAPES, Shape, random_sentences, random_weights

LINES = 200
SCORED = 20
LIMIT = 24
BATCH = 50


def main() -> None:
    """Write the file next to this module."""
    transformers = importlib.import_module("transformers")
    found = {name: reference(transformers, shape) for name, shape in SHAPES.items()}
    document = {"transformers": transformers.__version__, "torch": torch.__version__, "models": found}
    path = Path(__file__).with_name("marian_reference.json")
    path.write_text(json.dumps(document, separators=(",", ":")).replace('{"log_probs"', '\n{"log_probs"') + "\n")


def reference(transformers: Any, shape: Shape) -> dict[str, Any]:
    """log p of given targets, greedy and beam output of one model."""
    config = transformers.MarianConfig(**{k: v for k, v in shape.config().items() if k != "model_type"})
    model = transformers.MarianMTModel(config).eval()
    missing = model.load_state_dict({k: torch.from_numpy(v) for k, v in random_weights(shape).items()}, strict=False)
    assert not missing.unexpected_keys, missing
    model.tie_weights()
    sources = [[*ids, 0] for ids in random_sentences(LINES, shape.vocab)]
    targets = [[*ids, 0] for ids in random_sentences(SCORED, shape.target_vocab, seed=2)]
    log_probs = [log_prob(model, source, target) for source, target in zip(sources, targets, strict=False)]
    outputs = {
        name: [
            ids for first in range(0, LINES, BATCH) for ids in generate(model, sources[first : first + BATCH], beams)
        ]
        for name, beams in (("greedy", 1), ("beam", 4))
    }
    return {"log_probs": log_probs, **outputs}


@torch.no_grad()
def log_prob(model: Any, source: list[int], target: list[int]) -> list[float]:
    """log p of every target token."""
    pad = model.config.pad_token_id
    inputs = torch.tensor([[model.config.decoder_start_token_id, *target[:-1]]])
    logits = model(input_ids=torch.tensor([source]), decoder_input_ids=inputs).logits[0].double()
    logits[:, pad] = -torch.inf
    chosen = logits.log_softmax(-1)[torch.arange(len(target)), target]
    return [round(float(value), 7) for value in chosen]


@torch.no_grad()
def generate(model: Any, sources: list[list[int]], beams: int) -> list[list[int]]:
    """The best output of each sentence, without the start and the end."""
    rows, longest = len(sources), max(map(len, sources))
    tokens = torch.full((rows, longest), model.config.pad_token_id)
    mask = torch.zeros(rows, longest, dtype=torch.long)
    for row, source in enumerate(sources):
        tokens[row, : len(source)] = torch.tensor(source)
        mask[row, : len(source)] = 1
    written = model.generate(
        tokens,
        attention_mask=mask,
        num_beams=beams,
        do_sample=False,
        max_new_tokens=LIMIT,
        early_stopping=beams > 1,
        length_penalty=1.0,
        renormalize_logits=True,
        bad_words_ids=[[model.config.pad_token_id]],
        forced_eos_token_id=None,
    )
    return [row[: row.index(0)] if 0 in row else row for row in written[:, 1:].tolist()]


if __name__ == "__main__":
    main()
