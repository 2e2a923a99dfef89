"""Text formats: plain text, SubRip subtitles, gettext messages."""

__all__: list[str] = []
