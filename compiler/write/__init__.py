"""From rendered text to files on disk, whole or not at all."""
