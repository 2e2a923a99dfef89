"""Adapters that run commands on a Ray cluster. They contain no algorithms, and only they import Ray."""
