"""Decoding speed, compared with other toolkits and the bare engine."""
