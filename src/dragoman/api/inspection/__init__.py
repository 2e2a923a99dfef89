"""Inspect a translation: attention, candidates, search tree and counterfactuals."""

__all__: list[str] = []
