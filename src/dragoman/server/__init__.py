"""The HTTP service: several bundles behind the APIs of LibreTranslate and DeepL, and one of our own, and a page."""

__all__: list[str] = []
