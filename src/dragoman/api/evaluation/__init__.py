"""Evaluate and compare translation systems on a test set."""
