"""Dragoman: trains, explains and serves neural translators."""

__all__ = ["__version__"]

__version__ = "0.1.0"
