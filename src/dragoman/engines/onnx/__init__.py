"""ONNX Runtime inference engine and export."""

__all__: list[str] = []
