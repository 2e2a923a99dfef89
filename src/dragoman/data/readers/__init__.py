"""Read parallel corpora: line pairs, TSV, JSONL, Parquet and TMX, compressed or not, local or by URL."""
