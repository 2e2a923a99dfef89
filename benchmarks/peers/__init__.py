"""Training speed and quality beside other toolkits, each installed from its package in an environment of its own."""
