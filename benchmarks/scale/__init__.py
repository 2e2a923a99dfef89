"""Cost of preparation and translation per unit, and a simulation of a cluster."""
