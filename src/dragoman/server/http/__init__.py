"""HTTP layer: protocol limits, middleware, bodies, errors."""

__all__: list[str] = []
