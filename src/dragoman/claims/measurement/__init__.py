"""Measure trained models and single parts."""

__all__: list[str] = []
