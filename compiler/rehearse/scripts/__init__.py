"""Scripts that a rehearsal runs in processes of their own; they need what bundles need."""
