"""Format numbers, draw charts and render HTML for terminal output and report pages."""
