"""Words and phrases in English, Catalan and Spanish, as JSON."""
