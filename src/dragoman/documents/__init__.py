"""Document formats: extract the text of a file and write translations back into its layout."""

from dragoman.documents.formats import FORMATS, MAX_BYTES, read_document

__all__ = ["FORMATS", "MAX_BYTES", "read_document"]
