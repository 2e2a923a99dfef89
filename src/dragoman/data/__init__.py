"""From raw files to batches: readers, cleaning, prepared shards, the plan of batches.

Only `batch` and `loader` need torch, so nothing is imported here.
"""

__all__: list[str] = []
