"""Display attention maps, inspected translations and comparison reports. Imports no torch."""

__all__: list[str] = []
