"""Beam search."""

__all__: list[str] = []
