"""Examines the turns of conversations: tools, calls, results, and messages that are not turns."""
