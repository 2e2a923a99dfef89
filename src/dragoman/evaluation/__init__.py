"""Evaluation of translations: metrics, significance tests, alignment error and quality flags.

Imports nothing, because only some modules need sacreBLEU.
"""
