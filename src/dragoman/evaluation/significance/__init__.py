"""Confidence intervals and significance tests."""

__all__: list[str] = []
