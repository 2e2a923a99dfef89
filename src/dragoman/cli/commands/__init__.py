"""One module per command."""

__all__: list[str] = []
