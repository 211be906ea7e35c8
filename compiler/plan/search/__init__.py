"""The search for a layout: every way to divide a run over processes, and the fastest that fits."""
