"""The width of generated Python: a comment that makes its line too long moves above the line."""

import io
import textwrap
import tokenize

_WIDTH = 100


def lay_out(text: str) -> str:
    """Return the source with the comments of over-long lines wrapped above them.

    Only comments move: what is a comment is the tokenizer's word, so a `#` inside a literal stays.
    """
    lines = text.splitlines(keepends=True)
    if all(len(line) <= _WIDTH + 1 for line in lines):
        return text
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = {token.start: token.string for token in tokens if token.type == tokenize.COMMENT}
    for (row, column), comment in comments.items():
        line = lines[row - 1]
        if len(line) > _WIDTH + 1:
            code = line[:column].rstrip()
            indent = line[: len(line) - len(line.lstrip())]
            above = textwrap.wrap(
                comment.removeprefix("#").strip(),
                _WIDTH - len(indent) - 2,
                break_on_hyphens=False,
            )
            wrapped = "".join(f"{indent}# {part}\n" for part in above)
            lines[row - 1] = wrapped + (f"{code}\n" if code else "")
    return "".join(lines)
