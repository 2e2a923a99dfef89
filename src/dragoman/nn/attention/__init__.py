"""Attention: score functions, alignment functions, source memory, and multi-head attention."""

from dragoman.nn.attention.alignment import Alignment
from dragoman.nn.attention.memory import Memory
from dragoman.nn.attention.multihead import MultiHeadAttention
from dragoman.nn.attention.single_head import Attention
