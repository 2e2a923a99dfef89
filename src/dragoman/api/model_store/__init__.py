"""Get, update, verify and mirror the models of the store."""
