"""Beam search: standard, diverse and lexically constrained."""
