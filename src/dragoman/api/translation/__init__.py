"""Translate text: options, preprocessing, search, postprocessing."""
