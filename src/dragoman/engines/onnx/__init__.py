"""ONNX Runtime inference engine and export."""
