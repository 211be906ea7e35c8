"""Imported configs: what the files of other trainers mean in ftc's terms."""
