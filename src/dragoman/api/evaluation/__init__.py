"""Evaluate and compare translation systems."""

__all__: list[str] = []
