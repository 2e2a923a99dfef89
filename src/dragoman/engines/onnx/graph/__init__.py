"""A recurrent model as two ONNX graphs, made from its weights: the reader, and one step of the writer."""

__all__: list[str] = []
