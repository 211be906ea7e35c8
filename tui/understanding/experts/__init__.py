"""Lines of experts, whose abbreviations nobody explains."""
