"""Inspect a translation: attention weights, candidate tokens, search tree and counterfactual translations."""

__all__: list[str] = []
