"""Served models: registry, routing of language pairs, languages."""

__all__: list[str] = []
