"""The contenders and their settings: R and T as closely as each toolkit supports them.

R: 2-layer bidirectional LSTM of 512 in all, 2-layer LSTM decoder of 512, Luong's general attention, input feeding,
embeddings of 512, dropout 0.2. T: 3 + 3 Transformer layers of width 256, 4 heads, feed-forward 1024, all embeddings
tied, dropout 0.1.

Some details differ: the place of dropout within a layer, the order of norm and sum, and the learning rate schedule are
those of each toolkit. OpenNMT-py and JoeyNMT also drop inside the feed-forward layers of T, which costs them some time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.running import ROOT, Job
from benchmarks.peers.windows import REPORT_EVERY, driver_window, joey_window, marian_window, opennmt_window

TOKENS = 4096
NEVER = 1_000_000
PEAK, WARMUP = 1e-3, 400


@dataclass(frozen=True)
class Place:
    """Where a contender finds its data, its Python, and room for its files."""

    data: Path
    scratch: Path
    python: Path
    threads: int


@dataclass(frozen=True)
class Contender:
    """One side of the comparison."""

    name: str
    model: str
    environment: str | None
    """The key of its environment; None is the one this runs in."""
    job: Callable[[Place, str], Job]
    note: str = ""

    @property
    def is_ours(self) -> bool:
        return self.environment is None


def driver(name: str, *options: str) -> Callable[[Place, str], Job]:
    """A script of `drivers`, run by the contender's Python."""

    def job(place: Place, model: str) -> Job:
        shared = ["--data", str(place.data), "--model", model, "--threads", str(place.threads)]
        command = [str(place.python), "-m", f"benchmarks.peers.drivers.{name}", *shared, *options]
        return Job(command, driver_window, place.threads, ROOT)

    return job


def opennmt_config(place: Place, model: str) -> dict[str, Any]:
    """What onmt_train reads; JSON is YAML."""
    vocabulary = str(place.data / "vocab.opennmt")
    corpus = {"path_src": str(place.data / "train.en"), "path_tgt": str(place.data / "train.de")}
    config: dict[str, Any] = {
        "data": {"train": {**corpus, "transforms": [], "weight": 1}},
        "src_vocab": vocabulary,
        "tgt_vocab": vocabulary,
        "src_vocab_size": 8000,
        "tgt_vocab_size": 8000,
        "share_vocab": True,
        "save_model": str(place.scratch / "opennmt"),
        "save_checkpoint_steps": NEVER,
        "valid_steps": NEVER,
        "train_steps": NEVER,
        "report_every": REPORT_EVERY,
        "bucket_size": 29_000,  # sorted by length within the whole corpus
        "num_workers": 0,
        "batch_type": "tokens",
        "batch_size": TOKENS,
        "normalization": "tokens",
        "optim": "adam",
        "learning_rate": PEAK,
        "max_grad_norm": 1,
        "seed": 1,
    }
    return config | (OPENNMT_T if model == "T" else OPENNMT_R)


OPENNMT_R: dict[str, Any] = {
    "encoder_type": "brnn",
    "decoder_type": "rnn",
    "rnn_type": "LSTM",
    "layers": 2,
    "hidden_size": 512,
    "word_vec_size": 512,
    "global_attention": "general",
    "input_feed": 1,
    "dropout": [0.2],
}
OPENNMT_T: dict[str, Any] = {
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "layers": 3,
    "hidden_size": 256,
    "word_vec_size": 256,
    "heads": 4,
    "transformer_ff": 1024,
    "position_encoding": True,
    "share_embeddings": True,
    "share_decoder_embeddings": True,
    "dropout": [0.1],
    "attention_dropout": [0.0],
    "param_init": 0,
    "param_init_glorot": True,
}
# torch 2.6 began to refuse other people's pickles by default; its own checkpoints are such.
OPENNMT_ENVIRONMENT = (("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1"),)


def opennmt(place: Place, model: str) -> Job:
    """Its own onmt_train."""
    path = write_config(place.scratch / f"opennmt-{model}.yaml", opennmt_config(place, model))
    command = [str(place.python), "-m", "onmt.bin.train", "-config", str(path)]
    return Job(command, opennmt_window, place.threads, place.scratch, OPENNMT_ENVIRONMENT)


def joey_config(place: Place, model: str) -> dict[str, Any]:
    """What JoeyNMT reads."""
    side = {"level": "word", "lowercase": False, "voc_file": str(place.data / "vocab.joey"), "max_length": 200}
    return {
        "name": model,
        "joeynmt_version": "2.3.0",
        "model_dir": str(place.scratch / f"joey-{model}"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(place.data / "train"),
            "dev": str(place.data / "valid"),
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "testing": {"beam_size": 1},
        "training": {
            "optimizer": "adam",
            "learning_rate": PEAK,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_peak": PEAK,
            "learning_rate_warmup": WARMUP,
            "batch_size": TOKENS,
            "batch_type": "token",
            "normalization": "tokens",
            "clip_grad_norm": 1.0,
            "epochs": NEVER,
            "updates": NEVER,
            "validation_freq": NEVER,
            "logging_freq": REPORT_EVERY,
            "overwrite": True,
            "shuffle": True,
            "early_stopping_metric": "loss",
            "print_valid_sents": [0],
        },
        "model": joey_t() if model == "T" else joey_r(),
    }


def joey_r() -> dict[str, Any]:
    part = {"type": "recurrent", "rnn_type": "lstm", "num_layers": 2, "dropout": 0.2}
    part["embeddings"] = {"embedding_dim": 512, "dropout": 0.2}
    attends = {"attention": "luong", "input_feeding": True, "init_hidden": "last", "hidden_dropout": 0.2}
    return {
        "encoder": {**part, "hidden_size": 256, "bidirectional": True},
        "decoder": {**part, "hidden_size": 512, **attends},
    }


def joey_t() -> dict[str, Any]:
    part = {"type": "transformer", "num_layers": 3, "num_heads": 4, "hidden_size": 256, "ff_size": 1024, "dropout": 0.1}
    part |= {"embeddings": {"embedding_dim": 256, "scale": True, "dropout": 0.1}, "layer_norm": "pre"}
    start = {"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform"}
    return {**start, "tied_embeddings": True, "tied_softmax": True, "encoder": part, "decoder": part}


def joey(place: Place, model: str) -> Job:
    """Its own joeynmt train."""
    path = write_config(place.scratch / f"joey-{model}.yaml", joey_config(place, model))
    command = [str(place.python), "-m", "joeynmt", "train", str(path), "--skip-test"]
    return Job(command, joey_window, place.threads, place.scratch)


MARIAN_R = """--type s2s --enc-type bidirectional --enc-cell lstm --dec-cell lstm --enc-depth 2 --dec-depth 2
--dim-rnn 512 --dim-emb 512 --dropout-rnn 0.2"""
MARIAN_T = """--type transformer --enc-depth 3 --dec-depth 3 --dim-emb 256 --transformer-heads 4
--transformer-dim-ffn 1024 --transformer-dropout 0.1 --tied-embeddings-all"""
# --mini-batch bounds a batch too, so it is set out of the way.
MARIAN_TRAINING = """--mini-batch 1000 --mini-batch-words 4096 --mini-batch-round-up=false --maxi-batch 100
--max-length 200 --optimizer adam --learn-rate 0.001 --clip-norm 1 --sync-sgd --disp-freq 1u --workspace 2048 --seed 1
--overwrite --sigterm exit-immediately"""


def marian(place: Place, model: str) -> Job:
    """Its own trainer. A product of matrices takes one thread, so that there is a worker a thread."""
    vocabulary = str(place.data / "vocab.marian.yml")
    command = [str(place.python.parent / "pymarian"), "train"]
    command += ["--train-sets", str(place.data / "train.en"), str(place.data / "train.de")]
    command += ["--vocabs", vocabulary, vocabulary, "--model", str(place.scratch / f"marian-{model}.npz")]
    command += [*MARIAN_TRAINING.split(), *(MARIAN_T if model == "T" else MARIAN_R).split()]
    return Job([*command, "--cpu-threads", str(place.threads)], marian_window, 1, place.scratch)


def write_config(path: Path, config: dict[str, Any]) -> Path:
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return path


def ours(how: str, precision: str) -> Callable[[Place, str], Job]:
    """`train`: the command itself, loader, log and checkpoints on. `step`: its step alone, on the shared batches."""
    if how == "step":
        return driver("ours", "--precision", precision)

    def job(place: Place, model: str) -> Job:
        command = [sys.executable, "-m", "benchmarks.peers.drivers.dragoman_train", str(place.scratch), model]
        return Job([*command, precision], driver_window, place.threads, ROOT)

    return job


def contenders(models: list[str], how: str) -> list[Contender]:
    """All contenders, ours first."""
    found = []
    for model in models:
        found += [Contender(f"Dragoman, {p}", model, None, ours(how, p)) for p in ("fp32", "bf16")]
        if model == "T":
            plain = "the documented loop around its model, fused Adam, our batches"
            found += [
                Contender(f"Hugging Face, {p}", model, "huggingface", driver("huggingface", "--precision", p), plain)
                for p in ("fp32", "bf16")
            ]
        found.append(Contender("OpenNMT-py", model, "opennmt", opennmt))
        found.append(Contender("JoeyNMT", model, "joey", joey, "no batches of like length"))
        note = "conditional LSTM, twice the width in the encoder: the nearest it has" if model == "R" else ""
        found.append(Contender("Marian", model, "marian", marian, note))
    return found
