"""A session reads each message and answers it; what a front end shows of that."""
