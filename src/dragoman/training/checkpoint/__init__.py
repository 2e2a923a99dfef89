"""Checkpoints: store, migration of older versions, saving and restoring."""

__all__: list[str] = []
