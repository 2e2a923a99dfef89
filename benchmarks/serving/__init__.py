"""The service under load: how many requests a second, how late answers come, and LibreTranslate beside it."""
