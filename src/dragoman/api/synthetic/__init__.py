"""Write synthetic corpora: back-translations, and translations of a teacher for a student."""

__all__: list[str] = []
