"""The mechanisms: each a small module or a pure function, true to the equation its docstring names."""

from dragoman.nn.noise import Dropout, Noise
from dragoman.nn.rows import Rows

__all__ = ["Dropout", "Noise", "Rows"]
