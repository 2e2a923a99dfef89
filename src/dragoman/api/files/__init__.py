"""Translate files and documents."""

__all__: list[str] = []
