"""Stored glossaries: named terms that clients create once and use in many requests."""

__all__: list[str] = []
