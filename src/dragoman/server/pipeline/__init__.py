"""Request pipeline: from a parsed request to translations."""
