"""Translate files and documents."""
