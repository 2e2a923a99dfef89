"""Command-line options that several commands share."""

__all__: list[str] = []
