"""HTML pages and image files of attention maps and inspected translations."""

__all__: list[str] = []
