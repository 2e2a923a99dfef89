"""Pruning: remove the tokens from a saved model that some languages do not need."""

__all__: list[str] = []
