"""Word-alignment formats, symmetrization and error rate."""

__all__: list[str] = []
