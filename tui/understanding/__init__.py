"""Reading messages: from a message in English, Catalan or Spanish to changes of a spec."""
