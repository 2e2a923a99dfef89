"""Neural network layers and functions; each docstring gives the equation and the paper."""

from dragoman.nn.row_selection import Rows
from dragoman.nn.stateless_noise import Dropout, Noise

__all__ = ["Dropout", "Noise", "Rows"]
