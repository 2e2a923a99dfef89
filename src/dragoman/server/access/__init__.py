"""Access control: API keys, rights, rate limits, host names."""

__all__: list[str] = []
