"""Evaluate and compare translation systems on a test set."""

__all__: list[str] = []
