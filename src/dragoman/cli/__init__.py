"""Command line: one module per command, which parses its arguments and prints its results."""

__all__: list[str] = []
