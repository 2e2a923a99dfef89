"""Comparison report of several systems: data classes, verdict, HTML page."""
