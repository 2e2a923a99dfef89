"""Corpus check: measure corpora before training and report problems."""
