"""The commands, each imported when it is called: `ftc --help` and `ftc check` stay fast."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click

# name of the command -> what it does, as `ftc --help` lists it
COMMANDS: Final[Mapping[str, str]] = {
    "chat": "Plan a fine-tune in a conversation; write its spec and its bundle.",
    "new": "Write a starter spec from flags, without questions.",
    "import": "Turn a config of another trainer into a spec.",
    "check": "Report everything that is wrong with a spec.",
    "data": "Describe the rows of a spec: lengths, labels, copies, personal data.",
    "plan": "Show the memory, batch, time and disk of a run, and alternatives.",
    "compile": "Write the bundle: plain scripts that run without ftc.",
    "sweep": "Write one bundle for each combination of values, and scripts that run them.",
    "rehearse": "Run the whole bundle on this machine's CPU, with a tiny model.",
    "watch": "Show a running or finished run, from the files that it writes.",
    "compare": "Show where runs differ, and whether one is better than another.",
    "models": "List well-known models, with their memory, licence and languages.",
    "explain": "Explain the code of a finding, a field of the spec, or a term.",
    "doctor": "Show this machine's hardware as a `hardware` section for a spec.",
    "schema": "Print the JSON Schema of specs.",
    "mcp": "Serve the commands to an agent, by the Model Context Protocol.",
    "completion": "Print the completion script for a shell.",
}


class Commands(click.Group):
    """The group `ftc`: it knows its commands by name and imports `ftc.commands.NAME` on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of a run."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command; None for a name that is not one."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"ftc.commands.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, with a "did you mean" for a name that is not one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415 - for a mistyped name only

            near = get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean `{near[0]}`?" if near else ""
            ctx.fail(f"There is no command `{name}`.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
