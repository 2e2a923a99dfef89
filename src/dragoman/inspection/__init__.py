"""Attention maps, inspected translations and comparison reports for display. Needs no torch."""

__all__: list[str] = []
