"""Untrusted bundles whose weights are not finite, or whose configuration has sizes that the weights do not have."""

import re
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from testkit.untrusted_bundles import Case, put, reseal

SIZE_CASES: dict[str, Case] = {}


def _value(value: float) -> Case:
    def change(folder: Path) -> None:
        weights = load_file(folder / "weights.safetensors")
        weights["decoder.output.bias"][-1] = value
        save_file(weights, folder / "weights.safetensors")
        reseal(folder)

    return change


for value in (np.nan, np.inf, -np.inf):
    SIZE_CASES[f"weights with {value}"] = _value(value)


def _size(table: str, name: str, value: int, **more: int) -> Case:
    """A size in the configuration that the weights do not have: the model would need terabytes."""

    def change(folder: Path) -> None:
        text = (folder / "dragoman.toml").read_text(encoding="utf-8")
        head, mark, rest = text.partition(f"[{table}]\n")
        assert mark
        for key, number in {name: value, **more}.items():
            rest, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {number}", rest, count=1)
            assert count
        put(folder, "dragoman.toml", (head + mark + rest).encode())

    return change


for table, key in (
    ("model", "embedding"),
    ("model.encoder", "layers"),
    ("model.encoder", "hidden"),
    ("model.decoder", "layers"),
    ("model.decoder", "hidden"),
    ("model.attention", "window"),
):
    SIZE_CASES[f"config with {table}.{key} of a billion"] = _size(table, key, 10**9)


def _all_sizes(key: str) -> Case:
    """The same size in the encoder and in the decoder, as the wiring may require."""

    def change(folder: Path) -> None:
        text = (folder / "dragoman.toml").read_text(encoding="utf-8")
        changed, count = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {10**9}", text)
        assert count >= 2
        put(folder, "dragoman.toml", changed.encode())

    return change


for key in ("layers", "hidden"):
    SIZE_CASES[f"config with all {key} of a billion"] = _all_sizes(key)


def _transformer(**sizes: int) -> Case:
    """The settings of a Transformer of enormous sizes with the weights of a small recurrent model."""

    def change(folder: Path) -> None:
        text = (folder / "dragoman.toml").read_text(encoding="utf-8")
        head, _, rest = text.partition("[model]\n")
        after = rest[rest.index("[training]") :]
        numbers = {"dim": 32, "heads": 2, "feedforward": 64, "encoder_layers": 1, "decoder_layers": 1} | sizes
        lines = ['family = "transformer"', 'tie = "none"', *(f"{name} = {size}" for name, size in numbers.items())]
        lines += ['positions = "learned"'] if "max_positions" in sizes else []
        put(folder, "dragoman.toml", (head + "[model]\n" + "\n".join(lines) + "\n\n" + after).encode())

    return change


for key in ("dim", "feedforward", "encoder_layers", "decoder_layers", "max_positions"):
    SIZE_CASES[f"config of a Transformer with {key} of a billion"] = _transformer(**{key: 10**9})
SIZE_CASES["config of a Transformer with 10^18 heads"] = _transformer(dim=10**18 + 9, heads=10**18)
