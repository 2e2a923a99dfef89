"""Scheduling: admission control, and batching of sentences across requests."""
