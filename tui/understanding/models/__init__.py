"""The model: its name, wishes about it, its revision, and a teacher."""
