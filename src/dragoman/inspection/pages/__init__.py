"""Write attention maps and inspected translations as HTML pages and image files."""

__all__: list[str] = []
