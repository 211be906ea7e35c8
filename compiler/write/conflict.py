"""The conflict: files on disk that are not ftc's to replace, all of them at once."""

from collections.abc import Iterable
from pathlib import Path

from ftc.compiler.write.disk import FOLDER, LINK, state
from ftc.compiler.write.pages import EDITED, IN_THE_WAY, LINKED
from ftc.spec.finding import EnvironmentFailure, Finding


class Conflict(EnvironmentFailure):
    """Files that the user owns are in the way; `findings` names each, and nothing was changed."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        count = len(findings)
        what = "a file is" if count == 1 else f"{count} files are"
        super().__init__(
            message=f"{what} in the way of the bundle, and nothing was written",
            help="move them away, or pass `--force` to replace those that can be replaced",
        )
        self.findings = findings


def find_conflict(folder: Path, name: str, *, owned: str | None, force: bool) -> Finding | None:
    """Say why the file `name` may not be replaced or removed, or None when it may.

    `owned` is the state in which ftc left it (see `disk.state`), None when ftc never wrote it.
    """
    if parent := _blocked_parent(folder, name):
        return _parent_finding(folder, parent, name)
    now = state(folder / name)
    if now is None or now == owned:
        return None
    if now == FOLDER:
        return IN_THE_WAY.finding(
            message=f"`{name}` is a folder, and the bundle needs a file of that name",
            help="move the folder away, or compile into another folder with `-o`",
        )
    if force:
        return None
    if now == LINK:
        return LINKED.finding(
            message=f"`{name}` is a symbolic link",
            help="remove the link, or pass `--force` to put a real file in its place",
        )
    if owned is None:
        return IN_THE_WAY.finding(
            message=f"`{name}` is in the way and was not written by ftc",
            help="move it away, or pass `--force` to replace it",
        )
    return EDITED.finding(
        message=f"`{name}` was edited since ftc wrote it",
        help="move it away to keep it, or pass `--force` to give up the edit",
    )


def hold(findings: Iterable[Finding | None]) -> None:
    """Raise Conflict with every finding there is; return when there is none."""
    found = tuple(finding for finding in findings if finding is not None)
    if found:
        raise Conflict(found)


def _blocked_parent(folder: Path, name: str) -> str | None:
    """Return the first step on the way to `name` that is a link or a file."""
    parts = name.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        parent = "/".join(parts[:count])
        if state(folder / parent) not in {None, FOLDER}:
            return parent
    return None


def _parent_finding(folder: Path, parent: str, name: str) -> Finding:
    if (folder / parent).is_symlink():
        return LINKED.finding(
            message=f"`{parent}` is a symbolic link, and `{name}` lies behind it",
            help=f"remove the link `{parent}`",
        )
    return IN_THE_WAY.finding(
        message=f"`{parent}` is a file, and the bundle needs a folder of that name",
        help=f"move the file `{parent}` away, or compile into another folder with `-o`",
    )
