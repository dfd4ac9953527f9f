"""Build the shipped seed models: data sets in, ONNX files and ``index.toml`` out."""
