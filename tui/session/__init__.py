"""A session, which reads and answers messages, and the data that front ends show."""
