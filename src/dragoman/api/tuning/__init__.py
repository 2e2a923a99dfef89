"""Search hyper-parameters by successive halving; every trial is an ordinary run."""
