"""HTTP server: serves several models with the LibreTranslate, DeepL and native APIs, and a web page."""

__all__: list[str] = []
