"""`ftc data`: describes the rows of a spec before training."""

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, make_subject, spec_argument, tell_findings
from ftc.compiler.pipeline import check
from ftc.report.data import data_html, data_text, describe_data, list_data_findings
from ftc.report.json_output import dump


@click.command(name="data", short_help=COMMANDS["data"])
@spec_argument
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    show_default=True,
    help="How to print it; text is Markdown, html a complete page.",
)
@click.pass_context
def command(context: click.Context, *, source: str, report: str) -> None:
    """Describe the rows of a spec: lengths, labels, copies, personal data.

    SPEC is a file in JSON or YAML, or - for standard input. Only findings about the data are
    shown. Of the text of rows, only labels are printed.
    """
    outcome = check(source)
    described = describe_data(outcome)
    findings = list_data_findings(outcome)
    if report == "json":
        click.echo(dump(described))
    else:
        if "rows" in described:
            click.echo((data_html if report == "html" else data_text)(described))
        tell_findings(findings, make_subject(source, outcome.document))
    if any(finding.severity == "error" for finding in findings):
        context.exit(FAILED)
