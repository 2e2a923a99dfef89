"""HTTP layer: protocol limits, middleware, request bodies, error responses."""

__all__: list[str] = []
