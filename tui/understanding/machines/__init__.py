"""GPUs, instances of clouds, memory, prices and limits of a run."""
