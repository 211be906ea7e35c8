"""What the templates are given."""
