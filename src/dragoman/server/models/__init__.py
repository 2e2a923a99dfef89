"""Served models: registry, routing of language pairs, languages."""
