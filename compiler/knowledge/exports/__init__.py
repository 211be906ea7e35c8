"""What llama.cpp, vLLM and quantized folders can hold."""
