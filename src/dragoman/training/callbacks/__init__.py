"""Callbacks of the trainer: events, run record, log, TensorBoard."""

__all__: list[str] = []
