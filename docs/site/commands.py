"""The page of the commands: what `ftc COMMAND --help` prints."""

from typing import Final

import click

from ftc.__main__ import ftc

_INTRODUCTION: Final = """\
# Commands

What `ftc COMMAND --help` prints. A command writes its result to standard output and its findings to
standard error. Exit codes: 0 done, 1 findings with errors, 2 usage, 3 the environment failed.
"""


def commands_page() -> str:
    """Return the page, in the order of `ftc --help`."""
    lines = [_INTRODUCTION]
    with click.Context(ftc, info_name="ftc") as context:
        for name in ftc.list_commands(context):
            command = ftc.get_command(context, name)
            if command is None:
                continue
            with click.Context(command, info_name=name, parent=context) as inner:
                text = command.get_help(inner).strip()
            lines += [f"## ftc {name}", "", "```text", text, "```", ""]
    return "\n".join(lines)
