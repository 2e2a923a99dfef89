"""Document formats: extract the text of a file and write translations back into its layout."""

from dragoman.documents.formats import DocumentFormat, document_formats, read_document

__all__ = ["DocumentFormat", "document_formats", "read_document"]
