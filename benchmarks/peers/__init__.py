"""Training speed and quality, compared with other toolkits, each installed in its own environment."""
