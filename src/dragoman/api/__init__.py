"""Library functions behind the commands: translate, align, inspect, evaluate, prepare, train, export."""

__all__: list[str] = []
