"""Callbacks of the training loop: events, run record, log file, TensorBoard."""

__all__: list[str] = []
