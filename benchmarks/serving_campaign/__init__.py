"""The service, disturbed: every promise of its reliability table, tried many times, with a planted fault each."""
