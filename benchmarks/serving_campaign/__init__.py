"""Reliability campaign of the server: each guarantee is tried many times, and once with a planted fault."""
