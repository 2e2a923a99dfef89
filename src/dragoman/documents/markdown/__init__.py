"""Markdown documents."""

__all__: list[str] = []
