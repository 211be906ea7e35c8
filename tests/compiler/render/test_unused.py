"""Imports and constants that a script does not use are removed; the others stay."""

import pytest

from ftc.compiler.render.output.unused import remove_unused


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("import os\nimport sys\n\nprint(sys.argv)\n", "import sys\n\nprint(sys.argv)\n"),
        ("from a import b, c\n\nc()\n", "from a import c\n\nc()\n"),
        ("from a import (\n    b,\n    c,\n)\n\nb(c)\n", "from a import b, c\n\nb(c)\n"),
        ("import a.b as c\n\nc.d()\n", "import a.b as c\n\nc.d()\n"),
        ("import a.b\n\na.b.c()\n", "import a.b\n\na.b.c()\n"),
        ("import a\n\nimport b\n\nb()\n", "import b\n\nb()\n"),
        (
            "from a import b, c  # noqa: E402 - slow\n\nb()\n",
            "from a import b  # noqa: E402 - slow\n\nb()\n",
        ),
        (
            "def f():\n    from a import b, c\n    from d import e\n\n    return c\n\n\nf()\n",
            "def f():\n    from a import c\n\n    return c\n\n\nf()\n",
        ),
        ('"""Doc."""\n\nimport a\n\nprint("a")\n', '"""Doc."""\n\nprint("a")\n'),
        ("A = 1\nB = [\n    2,\n]  # why\nprint(A)\n", "A = 1\nprint(A)\n"),
        ("import a\n\nB = a.b\nC = B\nprint()\n", "print()\n"),
        (
            "a = 1\n\n\ndef f():\n    import b\n\n    return b\n\n\nprint(a)\n",
            "a = 1\n\nprint(a)\n",
        ),
        ("a = f(\n    1\n)\na = a.b  # why\na |= {}\nprint()\n", "print()\n"),
        ("a, b = f()\nc.d = 1\ne[0] = 1\n", "a, b = f()\nc.d = 1\ne[0] = 1\n"),
    ],
)
def test_names_that_are_never_read_are_removed(written: str, kept: str) -> None:
    """Partly used statements are written again; wholly used ones are unchanged."""
    assert remove_unused(written) == kept
    assert remove_unused(kept) == kept


def test_many_names_are_written_one_per_line() -> None:
    """As ruff formats a statement that is too long for a line."""
    names = [f"some_rather_long_name_{number}" for number in range(6)]
    listed = "".join(f"    {name},\n" for name in ["unused", *names])
    use = f"\nprint({names[0]}, {names[1]}, {names[2]}, {names[3]}, {names[4]}, {names[5]})\n"

    found = remove_unused(f"from a import (\n{listed})\n{use}")

    assert found == f"from a import (\n{listed.replace('    unused,' + chr(10), '')})\n{use}"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("f(x, rank=A)\n", "f(x)\n"),
        ("f(rank=A)\n", "f()\n"),
        ("f(x, rank=A, b=1, c=A)\n", "f(x, b=1)\n"),
        ("f(\n    rank=max(A, 1),  # a note\n    b=1,\n)\n", "f(\n    b=1,\n)\n"),
        ("f(\n    rank=dict(\n        [A]\n    ),\n    b=1,\n)\n", "f(\n    b=1,\n)\n"),
        ("f(g=partial(h, rank=A))\n", "f(g=partial(h))\n"),
        ("f(x, is_new=\u115fswitch)\n", "f(x)\n"),
        ('f("é", rank=A)\n', 'f("é")\n'),
        ("f(x, **\u115foptions)\n", "f(x)\n"),
        ("f(x, \u115fword, y)\n", "f(x, y)\n"),
        ("f(\u115fword, y)\n", "f(y)\n"),
        ("f([\n    x,\n    *\u115fwords(1),\n    a.\u115fword(2),\n])\n", "f([\n    x,\n])\n"),
        ("f(x)\n\u115fcall(\n    1, rank=A\n)  # why\ng()\n", "f(x)\ng()\n"),
        ("if x:\n    f()\n    a.\u115fcall()\n", "if x:\n    f()\n"),
        ("f(x, **a.\u115fcall())\n", "f(x)\n"),
    ],
)
def test_an_argument_without_a_value_is_left_out(written: str, kept: str) -> None:
    """The innermost argument goes, with its comment; the constant goes with its last use."""
    assert remove_unused(f"A = \u115frank  # \u115frank\n{written}") == kept


def test_a_value_that_is_needed_and_undefined_is_refused() -> None:
    """A constant without a value may be in a template, but not in a script."""
    assert remove_unused("A = \u115frank  # \u115frank\nprint(1)\n") == "print(1)\n"
    with pytest.raises(ValueError, match="a script uses rank, which this bundle does not have"):
        remove_unused("A = \u115frank\nprint(A)\n")
