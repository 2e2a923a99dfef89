"""Claims ledger: statements about translation models, the experiments that test them, and their verdicts."""
