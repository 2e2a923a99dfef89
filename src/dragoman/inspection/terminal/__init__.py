"""Render inspected translations as text for terminals."""

__all__: list[str] = []
