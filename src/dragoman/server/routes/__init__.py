"""HTTP routes: Dragoman's own API, LibreTranslate's and DeepL's, health, web page."""
