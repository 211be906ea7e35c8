"""Parts shared by front ends: text input, slow calls, and the end of a conversation."""
