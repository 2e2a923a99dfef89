"""HTTP server: serves several models with Dragoman's own API, LibreTranslate's and DeepL's, and a web page."""
