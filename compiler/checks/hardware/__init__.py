"""Rules about machines, memory and launchers."""
