"""Which column of the data holds what."""
