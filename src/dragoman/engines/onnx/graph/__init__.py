"""Build a model as ONNX graphs from its weights: the encoder, and one step of the decoder."""
