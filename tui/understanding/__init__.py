"""What a person means: a message in English, Catalan or Spanish in, changes to a spec out."""
