"""The conflict: files on disk that are not ftc's to replace, all of them at once."""

import os
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from shlex import quote

from ftc.compiler.write.disk import FOLDER, LINK, state, typed
from ftc.compiler.write.explanations import EDITED, IN_THE_WAY, LINKED
from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.message import Message


class Conflict(EnvironmentFailure):
    """Files that the user owns are in the way; `findings` names each, and nothing was changed.

    The exit code is 1, as for any finding that is an error.
    """

    exit_code = 1

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        count = len(findings)
        one = ".one" if count == 1 else ""
        super().__init__(
            message=Message(f"failure.conflict.message{one}", {"count": count}),
            help=Message("failure.conflict.help"),
        )
        self.findings = findings


def find_conflict(
    folder: Path, name: str, *, owned: Collection[str], removes: bool, force: bool
) -> Finding | None:
    """Return why the file `name` may not be replaced or removed, or None if it may.

    `owned` are the states (see `disk.state`) in which ftc may have left the file, none when it
    never wrote it; `removes` says that the bundle no longer has a file of this name.
    """
    for parent in reversed(PurePosixPath(name).parents[:-1]):
        match state(folder / parent):
            case None | "folder":
                continue
            case "link":
                return LINKED.finding(message="parent", help="parent", file=str(parent), name=name)
            case _:
                return IN_THE_WAY.finding(message="parent", help="parent", file=str(parent))
    now = state(folder / name)
    if now is None or now in owned:
        return None
    if now == FOLDER:
        return IN_THE_WAY.finding(message="folder", help="folder", file=name)
    if force:
        return None
    if now == LINK:
        return LINKED.finding(file=name)
    if not owned:
        return IN_THE_WAY.finding(file=name)
    if removes:
        return EDITED.finding(message="removed", help="removed", file=name)
    return EDITED.finding(
        file=name,
        folder=quote(beside := _beside(folder)),
        mine=quote(f"{typed(folder)}/{name}"),
        other=quote(f"{beside}/{name}"),
    )


def _beside(folder: Path) -> str:
    """Return the folder beside the bundle to compile into, to compare the two."""
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 - `.` and `..` have no name of their own
    return typed(whole.parent / f"{whole.name}.new")
