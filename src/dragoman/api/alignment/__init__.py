"""Word alignment of sentence pairs by attention."""
