"""The command line: one file a command; arguments only, no logic."""

__all__: list[str] = []
