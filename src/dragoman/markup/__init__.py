"""Text with something in it that is not text: tags and placeholders, which follow their words into the translation."""

__all__: list[str] = []
