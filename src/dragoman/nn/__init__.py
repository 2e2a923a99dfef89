"""Neural network layers and functions, each with its equation and paper in the docstring."""

from dragoman.nn.row_selection import Rows
from dragoman.nn.stateless_noise import Dropout, Noise

__all__ = ["Dropout", "Noise", "Rows"]
