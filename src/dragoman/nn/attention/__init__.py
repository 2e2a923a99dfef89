"""Attention = score × alignment, over a memory; and its multi-head form."""

from dragoman.nn.attention.alignment import Alignment
from dragoman.nn.attention.attention import Attention
from dragoman.nn.attention.memory import Memory
from dragoman.nn.attention.multihead import MultiHeadAttention

__all__ = ["Alignment", "Attention", "Memory", "MultiHeadAttention"]
