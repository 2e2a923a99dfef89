"""Evaluation: how good translations are, in figures that others can compute again, and what looks wrong in them.

Only `metrics` needs sacreBLEU, so nothing is imported here.
"""

__all__: list[str] = []
