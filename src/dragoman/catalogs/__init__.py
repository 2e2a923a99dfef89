"""Catalogs of translation models on other machines: read them, choose a model, download and verify its files."""
