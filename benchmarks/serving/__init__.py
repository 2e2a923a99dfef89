"""Server under load: requests per second, latency, and a comparison with LibreTranslate."""
