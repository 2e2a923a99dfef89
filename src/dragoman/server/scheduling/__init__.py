"""Scheduling: admission control, and batching of sentences across requests."""

__all__: list[str] = []
