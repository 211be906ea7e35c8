"""The assistant: it asks questions, and calls the compiler like every other front end."""
