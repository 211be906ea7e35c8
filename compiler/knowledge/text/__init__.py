"""What is known of tokenizers and chat templates."""
