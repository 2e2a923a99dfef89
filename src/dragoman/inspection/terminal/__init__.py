"""Render inspections as terminal text."""

__all__: list[str] = []
