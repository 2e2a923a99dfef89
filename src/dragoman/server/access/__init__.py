"""Access control: API keys, permissions, rate limits, allowed host names."""

__all__: list[str] = []
