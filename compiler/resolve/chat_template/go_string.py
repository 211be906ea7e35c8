"""Writes a text as an action of Go's text/template."""


def go_string(text: str) -> str:
    """Return an action that prints the text, in one line of ASCII that nothing in the text ends."""
    letters = []
    for letter in text:
        plain = letter.isascii() and letter.isprintable() and letter not in '"\\{}`'
        code = ord(letter)
        letters.append(letter if plain else f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}")
    return '{{ "' + "".join(letters) + '" }}'
