"""CTranslate2 inference engine and export."""

__all__: list[str] = []
