"""Markdown documents."""
