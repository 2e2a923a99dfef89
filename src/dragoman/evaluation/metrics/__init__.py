"""Translation metrics."""

__all__: list[str] = []
