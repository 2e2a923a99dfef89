"""Access control: API keys, permissions, rate limits, allowed host names."""
