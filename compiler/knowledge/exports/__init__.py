"""Export formats: what llama.cpp, vLLM and quantized folders support."""
