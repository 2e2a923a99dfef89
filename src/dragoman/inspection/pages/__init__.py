"""Write attention maps and inspected translations as HTML pages and image files."""
