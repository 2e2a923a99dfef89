"""Read numbers, strings and arrays from a binary model file; every size is checked against the file first."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import BundleError

_MAX_DIMENSIONS = 8


@dataclass
class BinaryReader:
    """The content of a file, and the position in it."""

    path: Path
    data: bytes
    place: int = 0

    def number(self, form: str) -> int:
        """Read one number; `form` is a code of `struct`, in little-endian order."""
        return self.numbers(form, 1)[0]

    def numbers(self, form: str, count: int) -> tuple[int, ...]:
        pattern = f"<{count}{form}"
        return struct.unpack(pattern, self.bytes(struct.calcsize(pattern)))

    def bytes(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.place:
            raise BundleError(
                f"{self.path} ends at byte {len(self.data):,}, but must hold {count:,} bytes at {self.place:,}; "
                "get the file again"
            )
        self.place += count
        return self.data[self.place - count : self.place]

    def text(self, count: int) -> str:
        """Read a string that ends with a zero byte."""
        try:
            return self.bytes(count).rstrip(b"\0").decode("utf-8")
        except UnicodeDecodeError:
            raise BundleError(f"{self.path} must hold names in UTF-8; get the file again") from None

    def check_end(self) -> None:
        """Require that everything was read."""
        if self.place != len(self.data):
            raise BundleError(
                f"{self.path} must end at position {self.place:,}, got {len(self.data):,} bytes; get the file again"
            )


def check_shape(path: Path, name: str, shape: Sequence[int], item: int, size: int) -> None:
    """Require that an array of this shape, with `item` bytes per number, has this size."""
    count = 1
    for length in shape:
        count *= length
    if len(shape) > _MAX_DIMENSIONS or any(length < 0 for length in shape) or count * item != size:
        raise BundleError(
            f"{ascii(name)[1:-1][:80]} in {path} must have the size of its shape {ascii(tuple(shape))[:60]}, got "
            f"{size:,} bytes; get the file again"
        )
