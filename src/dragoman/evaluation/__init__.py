"""Evaluation of translations. Imports nothing, because only some modules need sacreBLEU."""
