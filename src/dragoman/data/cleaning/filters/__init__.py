"""Filters that drop sentence pairs, one module per property."""

__all__: list[str] = []
