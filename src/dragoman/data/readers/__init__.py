"""Reading parallel corpora: line pairs, TSV, JSONL, Parquet and TMX, plain or compressed, local or by URL."""

from dragoman.data.readers.open import open_corpus

__all__ = ["open_corpus"]
