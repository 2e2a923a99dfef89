"""Word-alignment formats, symmetrization and error rate."""
