"""Compose the packages: translate, align, inspect, evaluate, prepare and train. `dragoman` has the public names."""

__all__: list[str] = []
