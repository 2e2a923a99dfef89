"""Command line: one module per command; it parses arguments and prints results."""

__all__: list[str] = []
