"""Date-translation demo."""

__all__: list[str] = []
