"""Render inspected translations as text for terminals."""
