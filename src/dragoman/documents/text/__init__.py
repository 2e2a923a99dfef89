"""Text formats: plain text, SubRip subtitles, gettext messages."""
