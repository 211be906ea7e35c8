"""Mutations: valid inputs changed in bytes, in values, or with known troublemakers."""

import json
from typing import Any

from hypothesis import strategies as st

#: Snippets that often break readers of text.
SNIPPETS = (
    *(
        b"[" * 2000,
        b'{"a":' * 2000,
        b"((" * 3000,
        b"- " * 3000,
        b"&a [*a, *a]",
        b"*a",
        b"!!python/x",
    ),
    *(b"9" * 5000, b"1e999", b"-0", b"NaN", b"0x", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\x1a"),
    *(
        b'"',
        b"'",
        b"\\u",
        b"\\ud800",
        b"\n",
        b"\r",
        b"\t",
        b",",
        b":",
        b"{",
        b"}",
        b"]",
        b"//",
        b"#",
    ),
    *(
        "\u2028".encode(),
        "\ufeff".encode(),
        "\u202e".encode(),
        b"../../../etc/passwd",
        b"/dev/zero",
    ),
    *(b"(a+)+$", b"(.*)*x", b"__class__", b"true", b"null", b"{}", b"[]", b'""', b"-1", b"0"),
    *(
        b"{% for i in range(10**9) %}x{% endfor %}",
        b"{{ 'a' * 10**9 }}",
        b"{{ range(10**12)|list }}",
    ),
    *(
        b"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        b"{{ [[]] * 9999999 }}",
        b"{{ 9**9**9 }}",
    ),
    *(b"{{ ''.__class__.__mro__ }}", b"{% include '/etc/passwd' %}", b"{{ x.y.z }}", b"{{ self }}"),
    *(b"{{ '%999999999d' % 1 }}", b"{{ '{:999999999}'.format(1) }}", b"{{ 'a'.center(10**9) }}"),
    *(
        b"{{ 'a'|center(10**9) }}",
        b"{{ messages|tojson(indent=10**9) }}",
        b"{{ 'a'|indent(10**9) }}",
    ),
    *(b"{% set x = 'a' * 60000000 %}{{ x }}{{ x }}", b"{{ messages|batch(1, 'x')|list }}"),
    *(b"{% for a in 'x' * 5000 %}{% for b in 'x' * 5000 %}{{ 'y' * 99 }}{% endfor %}{% endfor %}",),
    *(b"{{ ('a' * 9999)|wordwrap(1) }}", b"{{ ('a,' * 99999).split(',')|join('b' * 9999) }}"),
    *(b"{{ ('a' * 99999).replace('a', 'b' * 9999) }}", b"{{ lipsum(99999) }}", b"{{ cycler }}"),
    *(b"{{ '' | urlize(10**9) }}", b"{% break %}", b"{% generation %}", b"{% endgeneration %}"),
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=True)
    | st.text(max_size=30)
    | st.sampled_from([snippet.decode("utf-8", "replace") for snippet in SNIPPETS])
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


@st.composite
def mutate(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """Return a seed with a few changes, and sometimes random bytes."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=4000))
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        content = draw(st.sampled_from((_bytes, _snippet, _value, _value, _value)))(draw, content)
    return content


def _bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Replace, remove or repeat a stretch of bytes."""
    start = draw(st.integers(0, len(content)))
    end = min(len(content), start + draw(st.integers(0, 40)))
    middle = draw(st.sampled_from((b"", content[start:end] * 3, draw(st.binary(max_size=12)))))
    return content[:start] + middle + content[end:]


def _snippet(draw: st.DrawFn, content: bytes) -> bytes:
    """Insert a snippet that has broken readers before."""
    at = draw(st.integers(0, len(content)))
    return content[:at] + draw(st.sampled_from(SNIPPETS)) + content[at:]


def _value(draw: st.DrawFn, content: bytes) -> bytes:
    """Replace one value of JSON, or of one of its lines, by another; else change bytes."""
    lines = content.split(b"\n")
    number = draw(st.integers(0, len(lines) - 1))
    skip = 8 if content[8:9] == b"{" else 0
    for head, body, tail in (
        (content[:skip], content[skip:], b""),
        (
            b"\n".join([*lines[:number], b""]),
            lines[number],
            b"\n".join([b"", *lines[number + 1 :]]),
        ),
    ):
        try:
            tree, end = json.JSONDecoder().raw_decode(body.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            continue
        if skip and number % 2:  # a safetensors header: update its length
            written = json.dumps(_replace(draw, tree)).encode()
            return len(written).to_bytes(8, "little") + written + bytes(60)
        rest = body.decode("utf-8", "surrogateescape")[end:].encode("utf-8", "surrogateescape")
        return head + json.dumps(_replace(draw, tree)).encode() + rest + tail
    return _bytes(draw, content)


def _replace(draw: st.DrawFn, tree: Any) -> Any:
    """Return a tree with a new value at one place in it, or without that place."""
    if not isinstance(tree, dict | list) or not tree or draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = draw(st.sampled_from(keys))
    copy: Any = tree.copy()
    how = draw(st.integers(0, 7))
    if how == 0:
        del copy[key]
    elif how == 1 and isinstance(copy, list):
        copy *= 3
    elif how == 1:
        copy[draw(st.text(max_size=8))] = draw(VALUES)
    else:
        copy[key] = _replace(draw, copy[key])
    return copy
