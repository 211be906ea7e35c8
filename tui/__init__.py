"""The assistant's floor: it asks, and calls the compiler like every other front end."""
