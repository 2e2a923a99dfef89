"""Inference engines: torch, CTranslate2 and ONNX Runtime. Each is imported only when it is used."""
