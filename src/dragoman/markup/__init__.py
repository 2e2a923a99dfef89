"""Markup in text: find tags and placeholders, and transfer them to the translation."""
