"""Office formats: docx, pptx and odt."""

__all__: list[str] = []
