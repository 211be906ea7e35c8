"""GGUF files before they are written: their tensors, sizes, importance matrix and bounds."""
