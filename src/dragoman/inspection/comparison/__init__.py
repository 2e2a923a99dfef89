"""Comparison report of several systems: data classes, verdict, HTML page."""

__all__: list[str] = []
