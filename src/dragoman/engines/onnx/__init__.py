"""ONNX Runtime engine."""

__all__: list[str] = []
