"""Compare models: values, verdict, page."""

__all__: list[str] = []
