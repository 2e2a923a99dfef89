"""Train the models of the claims and run their probes, each once."""
