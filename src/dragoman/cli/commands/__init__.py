"""Subcommands of `dragoman`, one module per command."""
