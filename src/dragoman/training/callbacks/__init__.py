"""Callbacks of the training loop: events, run record, log file."""
