"""Translate text: options, preprocessing, search, postprocessing."""

__all__: list[str] = []
