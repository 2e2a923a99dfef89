"""Word alignment of sentence pairs by attention."""

__all__: list[str] = []
