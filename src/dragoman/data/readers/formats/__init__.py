"""Corpus readers, one module per format."""
