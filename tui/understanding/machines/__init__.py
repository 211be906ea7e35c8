"""GPUs, cloud instances, memory, prices and limits of a run."""
