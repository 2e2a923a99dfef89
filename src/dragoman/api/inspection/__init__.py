"""Inspect one translation."""

__all__: list[str] = []
