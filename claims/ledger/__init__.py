"""Claims and records, and the statistics that decide on a claim."""
