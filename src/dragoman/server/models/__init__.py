"""Served models: registry, routing, languages."""

__all__: list[str] = []
