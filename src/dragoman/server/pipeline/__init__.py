"""From a parsed request to translations: language detection, markup, documents, models."""

__all__: list[str] = []
