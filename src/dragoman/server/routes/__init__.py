"""HTTP routes: LibreTranslate, DeepL and native APIs, health, web page."""

__all__: list[str] = []
