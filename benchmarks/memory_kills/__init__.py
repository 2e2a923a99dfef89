"""Kills in the middle of writes."""
