"""Code shared by tests and benchmarks: generated models and corpora, untrusted files, fault injection."""
