"""Examines the rows: labels, languages, markers, copies, personal data, calls of tools."""
