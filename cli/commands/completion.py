"""`ftc completion`: the script that makes a shell complete commands, flags and files."""

import click
from click.shell_completion import get_completion_class

from ftc.commands import COMMANDS


@click.command(name="completion", short_help=COMMANDS["completion"])
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash:  eval "$(ftc completion bash)"              in ~/.bashrc
    zsh:   eval "$(ftc completion zsh)"               in ~/.zshrc
    fish:  ftc completion fish > ~/.config/fish/completions/ftc.fish
    """  # noqa: D301 - click reads the control character
    completion = get_completion_class(shell)
    if completion is None:  # pragma: no cover - the three are click's own
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(completion(context.find_root().command, {}, "ftc", "_FTC_COMPLETE").source())
