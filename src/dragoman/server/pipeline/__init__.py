"""Request pipeline: from a parsed request to translations."""

__all__: list[str] = []
