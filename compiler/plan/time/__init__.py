"""The time of a run, in seconds: what a device computes, what processes exchange, and all steps."""
