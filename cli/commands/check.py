"""`ftc check`: all findings about a spec, and the certain repairs."""

import json
import sys
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, make_subject, set_option, spec_argument, wants_colour
from ftc.compiler.pipeline import Outcome, check, mask_rows
from ftc.fix_patches import write_fixes
from ftc.repair import Edit
from ftc.report import REPORTERS
from ftc.spec.findings.finding import Finding
from ftc.spec.patch import replaces_all

_MOST_ROUNDS: Final = 20
#: The first code of a spec that can be read.
_OF_SCHEMA: Final = "FTC030"


@click.command(name="check", short_help=COMMANDS["check"])
@spec_argument
@click.option(
    "--format",
    "report",
    type=click.Choice(list(REPORTERS)),
    default="text",
    show_default=True,
    help="How to print the findings.",
)
@click.option("--fix", is_flag=True, help="Apply the safe fixes.")
@click.option(
    "--unsafe",
    is_flag=True,
    help="With --fix: also fixes that change the trained model, drop an output or guess a name.",
)
@set_option
@click.option("--strict", is_flag=True, help="Exit with code 1 on warnings too.")
@click.option(
    "--show-mask",
    "rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the first N rows as the model reads them, and mark the tokens that are learned.",
)
@click.pass_context
def command(
    context: click.Context,
    *,
    source: str,
    report: str,
    fix: bool,
    unsafe: bool,
    overrides: Mapping[str, str],
    strict: bool,
    rows: int | None,
) -> None:
    """Report everything that is wrong with a spec.

    SPEC is a file in JSON or YAML, or - for standard input.
    """
    editable = source != "-"
    if fix and not editable:
        raise click.UsageError("--fix needs a spec in a file.")
    if unsafe and not fix:
        raise click.UsageError("--unsafe goes with --fix.")
    if fix and overrides:
        raise click.UsageError("--fix edits the file, and --set only tries a value: use one.")
    if rows is not None and report != "text":
        raise click.UsageError("--show-mask goes with --format text.")
    outcome = check(source, overrides=overrides)
    if fix:
        outcome = _repair(source, outcome, unsafe=unsafe)
    subject = make_subject(source, outcome.document)
    colour = wants_colour(sys.stdout.isatty())
    findings = write_fixes(outcome.findings, outcome.document)
    text = REPORTERS[report](findings, subject=subject, colour=colour)
    if not outcome.findings and report == "text":
        text = f"{subject.name}: nothing is wrong"
    if text:
        click.echo(text)
    if (
        report == "text"
        and editable
        and not overrides
        and (offer := _offer(findings, readable=outcome.document is not None))
    ):
        click.echo(offer)
    if rows is not None and (shown := _show_masks(outcome, rows)):
        click.echo(f"\n{shown}")
    severe = {"error", "warning"} if strict else {"error"}
    if any(finding.severity in severe for finding in outcome.findings):
        context.exit(FAILED)


def _show_masks(outcome: Outcome, rows: int) -> str:
    """Return the first rows with their marks; "" if a finding explains why there are none."""
    from ftc.report.mask import report_masks  # noqa: PLC0415 - for --show-mask only

    masked = mask_rows(outcome, rows)
    if masked is None:
        return ""
    limit = outcome.plan.decisions.rows.max_length.value if outcome.plan is not None else None
    return report_masks(masked, max_tokens=limit, colour=wants_colour(sys.stdout.isatty()))


def _repair(source: str, outcome: Outcome, *, unsafe: bool) -> Outcome:
    """Apply fixes until none is left or a text repeats, and report them on stderr.

    A fix that conflicts with another one waits for the next round, in which it may no longer apply.
    """
    from ftc.compiler.resolve.resolver import Resolver  # noqa: PLC0415 - for --fix only
    from ftc.repair import repair  # noqa: PLC0415 - for --fix only

    path, seen, faithful = Path(source), set[str](), True
    edit, resolver = _editor(path), Resolver()
    before: str | None = None
    for _ in range(_MOST_ROUNDS):
        findings = write_fixes(outcome.findings, outcome.document)
        readable = outcome.document is not None
        wanted = [each for each in findings if _is_wanted(each, unsafe=unsafe, readable=readable)]
        if not wanted:
            break
        # the bytes of the file, to keep the line endings
        text = path.read_bytes().decode("utf-8")
        before = text if before is None else before
        repaired = repair(text, wanted, edit)
        if not repaired.fixed or repaired.text in seen:
            break
        seen |= {text, repaired.text}
        repaired.save(path)
        faithful = faithful and repaired.faithful
        for finding in repaired.fixed:
            done = "; ".join(_say(step, path) for step in finding.fix)
            click.echo(f"{source}: {finding.code}: {finding.message}: {done}", err=True)
        outcome = check(source, resolver=resolver)
    _show(source, before, faithful=faithful)
    return outcome


def _editor(path: Path) -> Edit | None:
    """Return the editor for a file with this name; None for JSON."""
    if path.suffix.lower() not in {".yaml", ".yml"}:
        return None
    from ftc.yaml_text import edit_yaml  # noqa: PLC0415 - for a YAML spec only

    return edit_yaml


def _show(source: str, before: str | None, *, faithful: bool) -> None:
    """Print the changes of the file as a unified diff."""
    after = Path(source).read_bytes().decode("utf-8") if before is not None else None
    if before is None or after is None or before == after:
        click.echo("nothing can be repaired for certain", err=True)
        return
    if not faithful:
        click.echo(f"{source}: reformatted", err=True)
    old, new = before.splitlines(), after.splitlines()
    for line in unified_diff(old, new, source, source, "before", "after", lineterm=""):
        click.echo(line, err=True)


def _is_wanted(finding: Finding, *, unsafe: bool, readable: bool) -> bool:
    """Return whether a finding is repaired; a guess never repairs an info.

    An unreadable text is not edited; only the whole text is replaced.
    """
    if not finding.fix or not (readable or replaces_all(finding.fix)):
        return False
    return finding.fix_safety == "safe" or (unsafe and finding.severity != "info")


def _offer(findings: tuple[Finding, ...], *, readable: bool) -> str:
    """Return how many findings the two kinds of repair would fix; "" for none.

    The one fix of an unreadable text is that of all its mistakes of grammar.
    """

    def count(*, unsafe: bool) -> int:
        wanted = [each for each in findings if _is_wanted(each, unsafe=unsafe, readable=readable)]
        if readable or not wanted:
            return len(wanted)
        return sum(each.code < _OF_SCHEMA for each in findings)

    safe = count(unsafe=False)
    unsafe = count(unsafe=True) - safe
    offers = [
        *([f"`--fix` repairs {safe}"] if safe else []),
        *([f"`--fix --unsafe` {'repairs' if not safe else 'also'} {unsafe}"] if unsafe else []),
    ]
    return ", ".join(offers)


def _say(operation: Mapping[str, Any], path: Path) -> str:
    """Return a repair in words, such as "set /method/rank to 8"."""
    if replaces_all([operation]):
        return f"wrote the same as {'JSON' if _editor(path) is None else 'YAML'}"
    match operation["op"]:
        case "move":
            return f"renamed {operation['from']} to {operation['path']}"
        case "remove":
            return f"removed {operation['path']}"
    return f"set {operation['path']} to {json.dumps(operation.get('value'), ensure_ascii=False)}"
