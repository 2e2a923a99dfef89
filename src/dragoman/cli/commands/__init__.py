"""Subcommands of `dragoman`, one module per command."""

__all__: list[str] = []
