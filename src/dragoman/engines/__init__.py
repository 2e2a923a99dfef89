"""Engines: what computes a model's predictions. Each kind is imported only when it is used."""

__all__: list[str] = []
