"""Demo: train a small model that translates English dates to ISO dates."""
