"""Students with their own weights: copies of one whose int8 numbers are changed."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from testkit.model_server import firefox_files

_INT8 = 0x4101
CHANGED = 0.001
"""Share of the int8 numbers that differ by 1: translations stay as long, so that speeds are comparable."""


def write_student(model: Path, folder: Path, seed: int = 0) -> None:
    """Write the files of a student without compression; with a seed, some int8 numbers are changed.

    The files of two seeds share no memory, neither as files nor, once read, as matrices.
    """
    folder.mkdir(parents=True)
    names = {path.name.partition(".")[0]: path.name.removesuffix(".gz") for path in model.iterdir()}
    for kind, content in firefox_files(model).items():
        data = change_weights(content, seed) if kind == "model" and seed else content
        (folder / names[kind]).write_bytes(data)


def change_weights(content: bytes, seed: int) -> bytes:
    """Add 1 to random int8 numbers of a model file, except to those at the end of the range."""
    data = np.frombuffer(content, np.uint8).copy()
    draw = np.random.default_rng(seed)
    for place, size in int8_places(content):
        chosen = place + draw.choice(size, int(CHANGED * size), replace=False)
        numbers = data[chosen].view(np.int8)
        data[chosen] = np.where(numbers < 127, numbers + 1, numbers).astype(np.int8).view(np.uint8)
    return data.tobytes()


def int8_places(content: bytes) -> list[tuple[int, int]]:
    """Return the position and the number of elements of every int8 matrix of a model file.

    Version and count of arrays; per array the length of its name, its type, dimensions and bytes; names, shapes,
    padding, and the arrays.
    """
    _, count = struct.unpack_from("<QQ", content)
    headers = [struct.unpack_from("<QQQQ", content, 16 + 32 * number) for number in range(count)]
    place = 16 + 32 * count + sum(header[0] for header in headers)
    elements = []
    for _, _, dimensions, _ in headers:
        elements.append(int(np.prod(struct.unpack_from(f"<{dimensions}i", content, place))))
        place += 4 * dimensions
    place += 8 + int(struct.unpack_from("<Q", content, place)[0])
    found = []
    for (_, kind, _, size), number in zip(headers, elements, strict=True):
        if kind == _INT8:
            found.append((place, number))
        place += size
    return found
