"""Readers of weight files: sizes are checked before memory is allocated, and no code from a file is run."""
