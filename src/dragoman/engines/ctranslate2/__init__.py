"""CTranslate2 engine."""

__all__: list[str] = []
