"""Shows the text between backticks in bold, without the backticks."""


def split_marked(text: str) -> tuple[tuple[str, str], ...]:
    """Return the parts of a sentence, each with its style."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick in a file's name or in data
        return ((text, ""),)
    return tuple((part, "bold" if n % 2 else "") for n, part in enumerate(parts))
