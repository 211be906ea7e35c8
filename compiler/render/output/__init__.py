"""From a template to a text: the types that may be printed, and the layout."""
