"""Models of other toolkits with random weights."""
