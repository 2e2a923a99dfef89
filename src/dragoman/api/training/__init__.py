"""Prepare corpora and train models."""

__all__: list[str] = []
