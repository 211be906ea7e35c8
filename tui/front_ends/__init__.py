"""The front ends: full screen, plain lines, and a browser."""
