"""Command line: one module per command, which parses its arguments and prints its results."""
