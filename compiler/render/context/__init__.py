"""The context of the templates."""
