"""Translation metrics."""
