"""The front ends: the screen, the plain lines, and the browser."""
