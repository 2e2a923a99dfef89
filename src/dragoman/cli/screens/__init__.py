"""Terminal output of the commands."""

__all__: list[str] = []
