"""Prose with the notation of a language for documents: reStructuredText and LaTeX."""
