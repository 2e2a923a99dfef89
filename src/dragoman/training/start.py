"""Training that begins with another model: its weights, rows for new pieces, and parameters that do not learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.bundle import Bundle
from dragoman.config import ModelConfig
from dragoman.errors import ConfigError
from dragoman.text import Tokenizer, piece_cutter

__all__ = ["StartReport", "check_same_model", "freeze", "start_weights"]

_ROWS_OF = {
    "encoder.embedding.weight": "source",
    "decoder.embedding.weight": "target",
    "decoder.output.weight": "target",
    "decoder.output.bias": "target",
}
"""Parameters with a row for each piece, and the side whose pieces they are."""

_RATES = {"dropout", "attention_dropout", "activation_dropout"}
_MEND = "take the [model] section of the bundle's dragoman.toml"


@dataclass(frozen=True)
class StartReport:
    """What a model took from another: how many numbers, and how many new pieces each side has."""

    copied: int
    new_pieces: dict[str, int]


def check_same_model(bundle: Bundle, model: ModelConfig) -> None:
    """See that a configuration describes the bundle's own model, dropout apart; else name each setting that differs."""
    wanted, got = _settings(bundle.config.model.model_dump()), _settings(model.model_dump())
    if wanted.get("family") != got.get("family"):
        wanted, got = ({"family": each["family"]} for each in (wanted, got))
    if differ := [name for name in sorted({*wanted, *got}) if wanted.get(name) != got.get(name)]:
        rules = " and ".join(f"model.{name} must be {_shown(wanted.get(name))}" for name in differ)
        values = " and ".join(_shown(got.get(name)) for name in differ)
        raise ConfigError(f"{rules}, as in {bundle.folder}, got {values}; {_MEND}")


def _settings(section: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Settings by their dotted names, without rates that no weight depends on."""
    found: dict[str, Any] = {}
    for name, value in section.items():
        if isinstance(value, Mapping):
            found |= _settings(value, f"{place}{name}.")
        elif name not in _RATES:
            found[place + name] = value
    return found


def _shown(value: Any) -> str:
    """A value as a configuration file has it."""
    return "left out" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def start_weights(
    bundle: Bundle, tokenizers: Mapping[str, Tokenizer], model: nn.Module, config: ModelConfig
) -> StartReport:
    """Copy the bundle's weights into a model that was built from `config` for these tokenizers.

    Rows of old pieces keep their numbers. The row of a new piece is the mean of the rows of the old pieces that the
    bundle's tokenizer cuts it into, so the model begins by reading and writing it about like them.
    """
    check_same_model(bundle, config)
    cuts = {side: _new_pieces(bundle, side, tokenizers[side]) for side in ("source", "target")}
    weights, parameters = bundle.weights(), _own(model)
    if differ := weights.keys() ^ parameters.keys():
        name = min(differ)
        raise ConfigError(
            f"the model must have the parameters of {bundle.folder}, got {'no' if name in weights else 'another,'} "
            f"{name}; {_MEND}"
        )
    for name, parameter in parameters.items():
        _copy(name, weights[name], parameter, cuts.get(_ROWS_OF.get(name, ""), []))
    new_pieces = {side: len(cut) for side, cut in cuts.items()}
    return StartReport(sum(array.size for array in weights.values()), new_pieces)


def _new_pieces(bundle: Bundle, side: str, tokenizer: Tokenizer) -> list[list[int]]:
    """How the bundle's tokenizer cuts each piece that it lacks; all others must be where they were."""
    old = bundle.tokenizers()[side]
    if old.kind != tokenizer.kind or old.size > tokenizer.size:
        raise _other_pieces(bundle, side, f"{tokenizer.size:,} of a {tokenizer.kind} tokenizer")
    for number in range(old.size):
        if old.id_to_piece(number) != tokenizer.id_to_piece(number):
            raise _other_pieces(bundle, side, f"{tokenizer.id_to_piece(number)!r} with the number {number}")
    cut = piece_cutter(old)
    return [cut(tokenizer.id_to_piece(number)) for number in range(old.size, tokenizer.size)]


def _other_pieces(bundle: Bundle, side: str, got: str) -> ConfigError:
    return ConfigError(
        f"the {side} pieces must begin with those of {bundle.folder}, got {got}; run dragoman prepare with this "
        "start.bundle"
    )


def _own(model: nn.Module) -> dict[str, Tensor]:
    """What is saved of a model: parameters, a tied one once, and buffers that are part of it."""
    saved = model.state_dict().keys()
    return {**dict(model.named_parameters()), **{name: each for name, each in model.named_buffers() if name in saved}}


@torch.no_grad()
def _copy(name: str, array: NDArray[np.float32], parameter: Tensor, new_pieces: Sequence[Sequence[int]]) -> None:
    old = torch.from_numpy(array)
    rows = old.size(0) if old.dim() else 0
    expected = (rows + len(new_pieces), *old.shape[1:]) if new_pieces else tuple(old.shape)
    if tuple(parameter.shape) != expected:
        raise ConfigError(
            f"the model's {name} must have the shape {expected} to take the bundle's weights, got "
            f"{tuple(parameter.shape)}; {_MEND}"
        )
    if not new_pieces:
        parameter.copy_(old)
        return
    parameter[:rows].copy_(old)
    parameter[rows:].copy_(torch.stack([old[list(ids)].mean(0) for ids in new_pieces]))


def freeze(model: nn.Module, patterns: Sequence[str]) -> list[str]:
    """Let parameters whose names match one of the patterns learn no more, and return their names.

    A tied parameter has several names; it is frozen if one of them matches, and appears under its first.
    """
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    for pattern in patterns:
        _check_pattern(pattern, [name for several in names.values() for name in several])
    frozen = [
        parameter
        for parameter, several in names.items()
        if any(fnmatchcase(name, pattern) for name in several for pattern in patterns)
    ]
    if len(frozen) == len(names):
        raise ConfigError(
            f"training.freeze must leave something to learn, got patterns that match all {len(names)} parameters: "
            f"{', '.join(patterns)}; leave one out"
        )
    for parameter in frozen:
        parameter.requires_grad_(False)
    return [names[parameter][0] for parameter in frozen]


def _check_pattern(pattern: str, names: Sequence[str]) -> None:
    if any(fnmatchcase(name, pattern) for name in names):
        return
    parts = {".".join(name.split(".")[:depth]) + ".*" for name in names for depth in range(1, name.count(".") + 1)}
    near = get_close_matches(pattern, sorted({*names, *parts}), n=3, cutoff=0.5) or sorted({*names})[:3]
    raise ConfigError(
        f"training.freeze must hold patterns that match a parameter's name, got {pattern!r}; there is for instance "
        f"{', '.join(near)}"
    )
