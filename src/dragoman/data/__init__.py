"""From raw files to batches."""

from dragoman.data.batch import Batch

__all__ = ["Batch"]
