"""Checkpoints: save, restore, store on disk, and convert older versions."""

__all__: list[str] = []
