"""From a plan to the text of every file of the bundle."""
