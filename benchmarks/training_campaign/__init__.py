"""What Dragoman promises when training goes wrong, tried many times over: one row for each promise."""
