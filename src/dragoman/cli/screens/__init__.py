"""Terminal output of the commands."""
