"""Attention weights of claim C15: what the records of the pool lack, and a page with all figures."""
