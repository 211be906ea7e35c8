"""What the rows hold: labels, languages, markers, copies, personal data, calls of tools."""
