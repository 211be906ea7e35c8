"""Classes with a language model and towers inside."""
