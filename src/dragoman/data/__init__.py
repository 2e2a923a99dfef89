"""Training data: from raw corpora to batches. Imports nothing: only `batch` and `loader` need torch."""
