"""Parsing: from the text of a spec file to a document."""
