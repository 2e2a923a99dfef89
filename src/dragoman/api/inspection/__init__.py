"""Inspect a translation: attention weights, candidate tokens, search tree and counterfactual translations."""
