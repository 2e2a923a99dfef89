"""Neural network layers and functions; each docstring gives the equation and the paper."""
