"""The rehearsal: the whole bundle of a spec, run for real on a miniature of its model."""
