"""Formatting, charts and HTML rendering shared by terminal output and report pages."""

__all__: list[str] = []
