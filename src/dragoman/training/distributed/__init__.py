"""Distributed training: process group, parallel strategies, gradient accumulation."""

__all__: list[str] = []
