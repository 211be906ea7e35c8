"""The memory of one process, in bytes: what is stored, what each phase allocates, and the peak."""
