"""Marian's own models, as its trainer makes them in one update, with an end that never comes.

Our weights do not fit: its sines have other wavelengths, and learnt positions do not move on while it decodes. So its
output is cut at a share of the source's length, which makes it as long as ours on the whole.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

TRANSFORMER = """--type transformer --transformer-preprocess n --transformer-postprocess da
--transformer-postprocess-top n --transformer-ffn-activation relu --tied-embeddings-all"""
RNN = "--type s2s --enc-type bidirectional --enc-cell gru --dec-cell gru --enc-depth 1 --dec-depth 1 --tied-embeddings"
TRAINING = "--after 1u --mini-batch 2 --cpu-threads 1 --workspace 256 --seed 1 --overwrite --quiet"
BIASES = ("decoder_ff_logit_out_b", "decoder_ff_logit_l2_b")
"""Of the words that come out, in a Transformer and in a recurrent model; the end is the first of them."""
NEVER = -1e4


def sizes(kind: str, facts: dict[str, Any]) -> list[str]:
    if kind == "transformer":
        layers, dim = facts["layers"], facts["dim"]
        inner = f"--transformer-heads {facts['heads']} --transformer-dim-ffn {facts['feedforward']}"
        return f"{TRANSFORMER} --enc-depth {layers} --dec-depth {layers} --dim-emb {dim} {inner}".split()
    return f"{RNN} --dim-rnn {facts['hidden']} --dim-emb {facts['embedding']}".split()


def make(kind: str, facts: dict[str, Any], python: Path, task: Path) -> None:
    """Write `marian-KIND/model.npz` and its vocabulary, whose words are token numbers."""
    folder = task / f"marian-{kind}"
    folder.mkdir(exist_ok=True)
    words = ["</s>", "<unk>", *(str(number) for number in range(4, facts["vocab"]))]
    vocabulary, model = folder / "vocab.yml", folder / "model.npz"
    text = "".join(f"{json.dumps(word)}: {number}\n" for number, word in enumerate(words))
    vocabulary.write_text(text, encoding="utf-8")
    pairs = [folder / "pairs.src", folder / "pairs.tgt"]
    for path in pairs:
        path.write_text("4 5 6\n7 8\n", encoding="utf-8")
    command = [str(python.parent / "pymarian"), "train", "--train-sets", *map(str, pairs), "--model", str(model)]
    command += ["--vocabs", str(vocabulary), str(vocabulary), *TRAINING.split(), *sizes(kind, facts)]
    subprocess.run(command, check=True, capture_output=True)
    with np.load(model) as arrays:
        changed: dict[str, Any] = {name: arrays[name] for name in arrays.files}
    for name in BIASES:
        if name in changed:
            changed[name][:, 0] = NEVER
    np.savez(model, **changed)
