"""What damages a text that is one."""

from ftc.compiler.resolve.rows.example import Example, read_example
from ftc.compiler.resolve.rows.roles import Roles, make_reader


def test_control_characters() -> None:
    """Tabs and line ends are text; other control characters and a byte order mark are damage."""
    read = make_reader(Roles(form="text", text="text"))
    for text, damage in (
        ("one\ttwo\r\nthree café", ()),
        ("a\x00b", ("control",)),
        ("\x1b[31m", ("control",)),
        ("\ufeffstart", ("control",)),
        ("cafÃ©", ("misencoded",)),
        ("caf\ufffd", ("misencoded", "lost")),
    ):
        example = read_example({"text": text}, read, repair=True)
        assert isinstance(example, Example)
        assert example.damage == damage, text
