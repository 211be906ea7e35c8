"""The training libraries: arguments, LoRA targets, metrics, evaluation tasks."""
