"""What the pinned training libraries know: arguments, targets, metrics, tasks."""
