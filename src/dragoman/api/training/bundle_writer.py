"""Average the weights of checkpoints and save the trained model as a model bundle (a folder)."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.bundle import Bundle, model_card, write_bundle
from dragoman.bundle.adapter import Adapter, base_hash, split_lora
from dragoman.bundle.bundle import inherit_inference
from dragoman.bundle.locate import find_bundle
from dragoman.bundle.model_card import card_section
from dragoman.config import Config, LoraConfig
from dragoman.environment import machine_info
from dragoman.errors import BundleError, ConfigError
from dragoman.evaluation.results import SetScore, format_score
from dragoman.files import read_json
from dragoman.run_files import BUNDLE, CHECKPOINTS, RECORD
from dragoman.text import Tokenizer
from dragoman.training.callbacks.events import TrainingEnded
from dragoman.training.checkpoint import Checkpoint, CheckpointStore
from dragoman.training.optimizer import mean_weights
from dragoman.training.train_state import TrainState
from dragoman.version import __version__


def average_checkpoints(run: Path, output: Path, *, last: int) -> Bundle:
    """Write a bundle with the mean weights of the newest checkpoints of a run, finished or not."""
    own = Bundle.open(find_bundle(run).path)
    if output.resolve() == own.folder.resolve():
        raise ConfigError(f"--output {output} is the run's own bundle; name a new folder")
    weights, steps = _mean_of_newest(CheckpointStore(run / CHECKPOINTS), own.config.training.lora, last)
    named = ", ".join(str(step) for step in steps)
    note = f"\n\nIts weights are the mean of those after {named} updates; the scores above are those of the run.\n"
    card = own.card().rstrip() + note
    return write_bundle(
        output,
        own.config,
        _arrays(weights),
        own.tokenizers(),
        card,
        quantization=own.quantization(),
        shortlist=own.shortlist(),
    )


def best_weights(
    checkpoints: CheckpointStore, config: Config, ended: TrainingEnded
) -> tuple[dict[str, Tensor], list[int]]:
    """Return the best weights of a run, or the mean of the newest, and the updates of their checkpoints."""
    if config.training.average_last:
        return _mean_of_newest(checkpoints, config.training.lora, config.training.average_last)
    step = ended.update if ended.best_update is None else ended.best_update
    return _weights(checkpoints.open(step), config.training.lora), [step]


def trained_adapter(checkpoints: CheckpointStore, lora: LoraConfig, step: int, base: Bundle) -> Adapter:
    """Return the adapter of a run after an update."""
    _, factors = split_lora(_validated(checkpoints.open(step)))
    return _adapter(factors, lora, base_hash(base))


def _mean_of_newest(
    checkpoints: CheckpointStore, lora: LoraConfig | None, last: int
) -> tuple[dict[str, Tensor], list[int]]:
    """Average the regular checkpoints, without the initial weights."""
    newest = checkpoints.open(checkpoints.steps()[-1])
    steps = [step for step in TrainState.from_json(newest.state["train_state"]).checkpoints if step > 0][-last:]
    if len(steps) < last:
        raise BundleError(
            f"{checkpoints.folder} has {len(steps)} checkpoints to average, not {last}: those of the start and of an "
            "interruption do not count; average fewer, or train with a higher training.keep_last or a lower "
            "training.checkpoint_every"
        )
    return mean_weights(_weights(checkpoints.open(step), lora) for step in steps), steps


def write_trained(
    config: Config,
    run: Path,
    weights: Mapping[str, Tensor],
    steps: Sequence[int],
    ended: TrainingEnded,
    tokenizers: Mapping[str, Tokenizer],
    scores: Sequence[SetScore],
    base: Bundle | None = None,
) -> Bundle:
    """Write the bundle of a run, with its model card; it is used as `base`, from which training started, is."""
    facts = _facts(run, weights, steps, ended, scores)
    shortlist = quantization = None
    if base is not None:
        facts["base"] = _base_facts(base, tokenizers, read_json(run / RECORD) or {})
        config, quantization, shortlist = inherit_inference(base, config, tokenizers)
    card = model_card(config, facts)
    return write_bundle(
        run / BUNDLE, config, _arrays(weights), tokenizers, card, quantization=quantization, shortlist=shortlist
    )


def inference_note(base: Bundle, trained: Bundle) -> str:
    """Describe how a fine-tuned model is used in int8 or with a shortlist as its base is; empty if the base is not."""
    own, parts = trained.inference(), []
    if own is not None and own.precision == "int8":
        parts.append("ONNX Runtime quantizes the new weights to int8, as those of the base are")
    if trained.shortlist() is not None:
        parts.append("the shortlist of the base is kept")
    elif base.shortlist() is not None:
        folder = shlex.quote(str(trained.folder))
        command = f"dragoman shortlist {folder} SOURCE TARGET --output {folder}-shortlist"
        parts.append(
            f"the shortlist of the base is not, since it lacks the new tokens: build one, or it is slower: {command}"
        )
    return "; ".join(parts)


def _weights(checkpoint: Checkpoint, lora: LoraConfig | None) -> dict[str, Tensor]:
    """Return the validated weights, with the factors of LoRA merged into them."""
    weights = _validated(checkpoint)
    if lora is None:
        return weights
    base, factors = split_lora(weights)
    merged = _adapter(factors, lora, "").merged(_arrays(base))
    return {name: torch.from_numpy(array) for name, array in merged.items()}


def _validated(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """Return the weights that were validated: the moving average if the run has one."""
    return checkpoint.average() or checkpoint.weights()


def _adapter(factors: Mapping[str, tuple[Tensor, Tensor]], lora: LoraConfig, base: str) -> Adapter:
    arrays = {name: (a.numpy(), b.numpy()) for name, (a, b) in factors.items()}
    return Adapter(base, lora.rank, lora.alpha, arrays)


def _arrays(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in weights.items()}


def _facts(
    run: Path, weights: Mapping[str, Tensor], steps: Sequence[int], ended: TrainingEnded, scores: Sequence[SetScore]
) -> dict[str, Any]:
    record = read_json(run / RECORD) or {}
    data, best = record.get("data", {}), record.get("best") or {}
    chosen = ", ".join(str(step) for step in steps)
    return {
        "parameters": sum(tensor.numel() for tensor in weights.values()),
        "updates": ended.update,
        "seconds": record.get("seconds"),
        "machine": machine_info().signature,
        "versions": {"dragoman": __version__, "torch": torch.__version__},
        "pairs": data.get("pairs", {}),
        "validation": f"loss {best['loss']:.3f} at best; weights after {chosen} updates" if best.get("loss") else "",
        "scores": [
            {"name": score.metric, "value": format_score(score), "signature": score.signature, "set": _named(each)}
            for each in scores
            for score in each.scores
        ],
        "start": data.get("start"),
    }


def _base_facts(base: Bundle, tokenizers: Mapping[str, Tokenizer], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about the base model, with the origin and the licence that its card states."""
    card = base.card()
    return {
        "digest": base.digest,
        "trained": record.get("trainable_parameters"),
        "parameters": record.get("parameters"),
        "new_tokens": sum(
            {id(new): new.size - base.tokenizers()[side].size for side, new in tokenizers.items()}.values()
        ),
        "origin": card_section(card, "Origin"),
        "licence": card_section(card, "Licence"),
    }


def _named(scored: SetScore) -> str:
    before = ", by the model it began with" if scored.model == "base" else ""
    return f"{scored.name}, {scored.sentences:,} sentences, greedy{before}"
