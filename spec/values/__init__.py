"""What the value of a field may be, and what was meant by another one."""
