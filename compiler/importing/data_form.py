"""Finds the row format of a file in an imported config from its columns."""

from pathlib import Path

from ftc.compiler.resolve.rows.reader import UnreadableError, read_table
from ftc.compiler.resolve.rows.roles import Roles, assign_roles
from ftc.compiler.resolve.rows.table import FORMATS, inspect_file
from ftc.spec.sections import Columns


def find_form(folder: Path, source: str) -> str | None:
    """Return the row format that the columns of a file show, or None for any other data.

    A file is looked for beside the config and in the current folder.
    """
    suffix = Path(source).suffix.lower()
    paths = (start / source for start in (folder, Path()))
    path = next((path for path in paths if suffix in FORMATS and path.is_file()), None)
    if path is None:
        return None
    try:
        file = inspect_file(path, FORMATS[suffix])
        columns = () if isinstance(file, str) else read_table(file).columns
    except (OSError, UnreadableError, ImportError):
        return None
    roles = assign_roles(columns, named=Columns(), form="auto")
    return roles.form if isinstance(roles, Roles) else None
