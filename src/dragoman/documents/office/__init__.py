"""Office formats: docx, pptx and odt."""
