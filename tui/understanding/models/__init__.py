"""The model: its name, what is wished of it, its revision, and a teacher."""
