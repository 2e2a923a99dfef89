"""Prepare corpora and train models."""
