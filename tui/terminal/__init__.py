"""What front ends share: typing, slow calls, and the end of a conversation."""
