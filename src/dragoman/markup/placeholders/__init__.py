"""Kinds of placeholders, and texts taken apart so that translation cannot reach them."""
