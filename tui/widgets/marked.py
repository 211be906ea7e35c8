"""What a sentence puts between backticks is shown in bold, without them."""


def split_marked(text: str) -> tuple[tuple[str, str], ...]:
    """Return the parts of a sentence, each with its style."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick of a file's name or of data
        return ((text, ""),)
    return tuple((part, "bold" if n % 2 else "") for n, part in enumerate(parts))
