"""Filters that mark sentence pairs to drop, one module per property."""
