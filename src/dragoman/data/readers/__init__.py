"""Read parallel corpora: line pairs, TSV, JSONL, Parquet and TMX, compressed or not, local or by URL."""

from dragoman.data.readers.corpus_reader import open_corpus

__all__ = ["open_corpus"]
