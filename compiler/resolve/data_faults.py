"""The findings of data that could not be read: one sentence each, and what to do."""

from collections.abc import Sequence
from difflib import get_close_matches

from ftc.compiler.resolve import pages
from ftc.compiler.resolve.roles import Unassigned
from ftc.compiler.resolve.scan import Scan
from ftc.spec.finding import Finding
from ftc.spec.sections import FileFormat
from ftc.spec.sources import WholeSource


def no_reader(source: WholeSource) -> Finding:
    """Say what reads parquet."""
    return pages.NO_PARQUET.finding(
        message=f"`{source.source}` is parquet, and pyarrow is not installed",
        help='run `pip install "ftc[data]"`, or save the table as csv or jsonl',
        pointer=source.at("source"),
    )


def unassigned(source: WholeSource, why: Unassigned, columns: Sequence[str]) -> Finding:
    """Say which column is missing, or that nothing shows which column is what."""
    listed = ", ".join(f"`{name}`" for name in columns[:20])
    if why.problem == "missing":
        role = why.roles[0]
        name = getattr(source.columns, role)
        near = get_close_matches(name.casefold(), [c.casefold() for c in columns], n=1)
        column = next((c for c in columns if near and c.casefold() == near[0]), None)
        instead = f"the columns are {listed}"
        patch = {"op": "replace", "path": source.at("columns", role), "value": column}
        return pages.NO_COLUMN.finding(
            message=f"`{source.source}` has no column `{name}`",
            help=f"did you mean `{column}`? {instead}" if column else instead,
            pointer=source.at("columns", role),
            fix=(patch,) if column else (),
        )
    needed = " and ".join(f"`{role}`" for role in why.roles)
    what = f" for the form `{why.form}`" if why.form is not None else ""
    example = '`"columns": {"prompt": ..., "completion": ...}`'
    return pages.NO_ROLES.finding(
        message=f"the columns of `{source.source}` ({listed}) are not recognised{what}",
        help=f"name the column of {needed} in `data.columns`"
        if needed
        else f"write which is which, such as {example}, in `data`",
        pointer=source.at("form" if why.form is not None else "source"),
    )


def unreadable(source: WholeSource, error: OSError) -> Finding:
    """Say that the file is there, and neither disk nor rights give it."""
    return pages.NO_FILE.finding(
        message=f"the data `{source.source}` cannot be read: "
        f"{(error.strerror or 'failure').lower()}",
        help="check the file's rights and its disk",
        pointer=source.at("source"),
    )


def broken(source: WholeSource, kind: FileFormat, what: str) -> Finding:
    """Say that the file is not what its format says."""
    return pages.BROKEN_DATA.finding(
        message=f"`{source.source}` is no readable {kind}: {what}",
        help="repair the file, or say what it is in `data.format`",
        pointer=source.at("source"),
    )


def binary(source: WholeSource) -> Finding:
    """Say that the file is no text."""
    return pages.NOT_TEXT.finding(
        message=f"`{source.source}` is no text file",
        help="export the table as CSV in UTF-8, or say what it is in `data.format`",
        pointer=source.at("source"),
    )


def ambiguous(source: WholeSource, column: str) -> Finding:
    """Say that the header has a needed name twice."""
    return pages.TWO_COLUMNS.finding(
        message=f"`{source.source}` has more than one column `{column}`",
        help="give each a name of its own in the header",
        pointer=source.at("source"),
    )


def empty(source: WholeSource, kind: FileFormat, rows: int) -> Finding:
    """Say why the file names no columns; `rows` is how many it has all the same."""
    if not rows:
        message = f"`{source.source}` is empty"
    elif kind == "csv":
        message = f"the first line of `{source.source}` is blank, and names no columns"
    else:
        message = f"none of the {rows:,} rows of `{source.source}` is a JSON object"
    return pages.NO_ROWS.finding(
        message=message,
        help="name a file with a header and rows, or with one JSON object per line",
        pointer=source.at("source"),
    )


def unusable(source: WholeSource, scan: Scan) -> Finding:
    """Say that every row is blank or malformed."""
    parts = [f"{scan.rows:,} rows", f"{scan.blank:,} blank", f"{scan.malformed:,} malformed"]
    return pages.NO_ROWS.finding(
        message=f"`{source.source}` has no usable row ({', '.join(parts)})",
        help="check with `data.columns` that each role has its column, with text in it",
        pointer=source.at("source"),
    )
