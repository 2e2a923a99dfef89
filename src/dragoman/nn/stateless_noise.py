"""Random numbers for dropout and sampling without generator state: functions of seed, step, module, row and counter.

Without state, a mask does not depend on the rest of the batch, on the rank or thread, or on a resume. Exact resume and
independence of the number of processes rely on this. On a CPU it is also several times faster than ``bernoulli_``,
whose generator runs on one thread.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor, nn

from dragoman.nn.batches import Rows

_WORD = 1 << 64
_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_LANES = 4  # 16-bit numbers in one 64-bit word


def _signed(value: int) -> int:
    """The same 64 bits as a signed integer."""
    return value - _WORD if value >= _WORD // 2 else value


def _shift_right(words: Tensor, by: int) -> Tensor:
    """Logical shift: torch's ``>>`` on int64 is arithmetic."""
    return (words >> by).bitwise_and_((1 << (64 - by)) - 1)


def scramble(words: Tensor) -> Tensor:
    """The finaliser of SplitMix64, in place. Paper: [steele2014] (`mix64variant13`). Shapes: [*] int64 -> [*] int64."""
    words.bitwise_xor_(_shift_right(words, 30)).mul_(_signed(_MIX_1))
    words.bitwise_xor_(_shift_right(words, 27)).mul_(_signed(_MIX_2))
    return words.bitwise_xor_(_shift_right(words, 31))


def scramble_int(word: int) -> int:
    """`scramble` for one Python integer."""
    word = ((word ^ (word >> 30)) * _MIX_1) % _WORD
    word = ((word ^ (word >> 27)) * _MIX_2) % _WORD
    return word ^ (word >> 31)


@dataclass(frozen=True)
class Noise(Rows):
    """The randomness of one training step, for the rows of one batch.

    A counter-based generator in the sense of [salmon2011]: the key is (seed, step, site, row, place), the counter runs
    along the last dimension. Giving a `Noise` to a model turns dropout and sampling on; ``None`` turns them off.

    Shapes: key [batch] int64, a hash of seed, step and the identity of the sentence.
    """

    key: Tensor

    @classmethod
    def of(cls, seed: int, step: int, rows: Tensor) -> Noise:
        """The noise of `step`; `rows` [batch] identifies each sentence, for instance by its position in the epoch."""
        key = scramble_int((scramble_int((seed + _GAMMA) % _WORD) + (step + 1) * _GAMMA) % _WORD)
        return cls(scramble(rows.to(torch.int64) * _signed(_GAMMA) + _signed(key)))

    def twice(self) -> Noise:
        """The noise of a batch that contains every row twice: its own, then another. Shapes: key -> [2 batch]."""
        return Noise(torch.cat([self.key, scramble(self.key + _signed(_GAMMA))]))

    def words(self, site: int, grid: Sequence[int], count: int) -> Tensor:
        """64-bit words that depend only on their coordinates. Shapes: -> [batch, *grid, count] int64."""
        words = scramble(self.key + _signed(scramble_int(site % _WORD)))  # [batch]
        for size in (*grid, count):
            counter = torch.arange(1, size + 1, device=words.device).mul_(_signed(_GAMMA))
            words = scramble(words.unsqueeze(-1) + counter)
        return words

    def uniform(self, site: int, places: Tensor) -> Tensor:
        """Numbers in the open interval (0, 1), one per position. Shapes: [batch, n] -> [batch, n] float64."""
        key = scramble(self.key + _signed(scramble_int(site % _WORD))).unsqueeze(1)  # [batch, 1]
        return _shift_right(scramble(key + (places + 1) * _signed(_GAMMA)), 11).double().add_(0.5).mul_(2.0**-53)

    def keep(self, site: int, shape: Sequence[int], rate: float, dtype: torch.dtype) -> Tensor:
        """A dropout mask: 0 with probability `rate` (to within 2^-17), else 1 / (1 - rate). Shapes: -> shape.

        An element depends only on its coordinates: more padding does not change the mask of real positions.
        """
        _, *grid, last = shape
        dropped = min(round(rate * 2**16), 2**16 - 1)
        lanes = self.words(site, grid, -(-last // _LANES)).view(torch.int16)  # [batch, *grid, >= last]
        mask = torch.empty(tuple(shape), dtype=dtype, device=lanes.device)
        torch.ge(lanes[..., :last], dropped - 2**15, out=mask)
        return mask.mul_(1.0 / (1.0 - dropped / 2**16))


@functools.cache
def exclude_noise_from_compilation() -> None:
    """Run the arithmetic of `Noise` uncompiled; call it before a model is compiled.

    Compiled integer arithmetic gives other numbers, and a mask must not depend on compilation. The methods are not
    decorated, because ``torch.compiler.disable`` imports the compiler, which takes two CPU seconds per process.
    """
    for name in ("words", "uniform"):
        setattr(Noise, name, torch.compiler.disable(getattr(Noise, name)))


class Dropout(nn.Module):
    """Dropout whose mask is a function of (seed, step, site, sentence, position). Shapes: [batch, *] -> [batch, *]."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.site: int | None = None

    def forward(self, x: Tensor, noise: Noise | None) -> Tensor:
        mask = self.mask(x.shape, noise, x.dtype)
        return x if mask is None else x * mask

    def mask(self, shape: Sequence[int], noise: Noise | None, dtype: torch.dtype) -> Tensor | None:
        """The factor that `forward` applies, or ``None`` if it is all ones. Shapes: -> shape."""
        if noise is None or self.rate == 0.0:
            return None
        assert self.site is not None, "number_sites() gives every Dropout its site when a model is built"
        return noise.keep(self.site, shape, self.rate, dtype)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def site_of(name: str) -> int:
    """A stable 64-bit hash of a module name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def number_sites(model: nn.Module) -> None:
    """Assign a site to each module that draws random numbers, from its name in the model."""
    for name, module in model.named_modules():
        if hasattr(module, "site"):
            module.site = site_of(name)
