"""What a message mentions without requesting it."""
