"""Recipe of the example models of everyday sentences."""
