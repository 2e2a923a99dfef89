"""Align words."""

__all__: list[str] = []
