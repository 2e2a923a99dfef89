"""Shared command-line options."""

__all__: list[str] = []
