"""Fields by their names, in whatever form people give them."""
