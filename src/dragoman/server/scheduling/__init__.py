"""Admission control and batching across requests."""

__all__: list[str] = []
