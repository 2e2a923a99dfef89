"""HTTP layer: protocol limits, middleware, request bodies, error responses."""
