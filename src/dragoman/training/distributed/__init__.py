"""Distributed training: process group, parallel strategies, gradient accumulation."""
