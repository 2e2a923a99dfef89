"""Decoding speed beside other toolkits and the bare engine."""
