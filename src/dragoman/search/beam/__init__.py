"""Beam search: standard, diverse and lexically constrained."""

__all__: list[str] = []
