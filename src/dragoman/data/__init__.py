"""Training data: from raw corpora to batches.

Nothing is imported here because only `batch` and `loader` need torch.
"""
