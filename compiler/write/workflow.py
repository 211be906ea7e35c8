"""A GitHub workflow that compares a committed bundle with its spec.

It belongs to the repository, not to the bundle: GitHub reads only `.github/workflows` at the top.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from ftc.spec.findings.finding import EnvironmentFailure

_SOURCE: Final = re.compile(r"https://[\w.-]+(?:/[\w.~-]+)+@[0-9a-f]{7,40}")
_PYTHON: Final = "3.12"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """The file of a workflow, and its text."""

    path: Path
    text: str


def is_address(source: str) -> bool:
    """Return whether a text is a git address with a commit, from which ftc can be installed."""
    return _SOURCE.fullmatch(source) is not None


def make_workflow(*, name: str, spec: Path, bundle: Path, source: str) -> Workflow:
    """Return the workflow of a bundle that is in a git repository, or will be written there.

    `name` is that of the run, `source` the git address and commit that ftc is installed from.
    Raises EnvironmentFailure where there is no repository, where the spec or the bundle is outside
    of it, or where another file has the name.
    """
    top = _find_top(bundle.resolve())
    path = top / ".github" / "workflows" / f"ftc-{name}.yml"
    text = yaml.safe_dump(
        _workflow(name, _inside(spec, top), _inside(bundle, top), source), sort_keys=False
    )
    if path.exists() and path.read_bytes() != text.encode("utf-8"):
        raise EnvironmentFailure(
            message=f"{path.relative_to(top).as_posix()} is there with another content",
            help="remove it, or edit it by hand",
        )
    return Workflow(path=path, text=text)


def write_workflow(workflow: Workflow) -> Path:
    """Write a workflow and return its path; raises EnvironmentFailure where that is not possible.

    A file with this content stays as it is.
    """
    path = workflow.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(workflow.text)
    except OSError as error:
        raise EnvironmentFailure(
            message=f"{path} cannot be written: {(error.strerror or '').lower()}",
            help="make the repository's folder writable",
        ) from error
    return path


def _find_top(bundle: Path) -> Path:
    """Return the top folder of the git repository that a folder is in."""
    for folder in (bundle, *bundle.parents):
        if (folder / ".git").exists():
            return folder
    raise EnvironmentFailure(
        message=f"{bundle} is in no git repository",
        help="run `git init` at its top, and compile again",
    )


def _inside(path: Path, top: Path) -> str:
    """Return a path relative to the top of the repository."""
    relative = Path(os.path.relpath(path.resolve(), top)).as_posix()
    if relative.split("/")[0] == "..":
        raise EnvironmentFailure(
            message=f"{path} is outside of the repository {top}",
            help="keep the spec and the bundle in one repository",
        )
    return relative


def _workflow(name: str, spec: str, bundle: str, source: str) -> dict[str, Any]:
    """Return the workflow as data; commands get paths and addresses as variables."""
    paths = [spec, "**" if bundle == "." else f"{bundle}/**"]
    return {
        "name": f"ftc {name}",
        "on": {"push": {"paths": [*paths]}, "pull_request": {"paths": [*paths]}},
        "permissions": {"contents": "read"},
        "jobs": {
            "check": {
                "runs-on": "ubuntu-24.04",
                "steps": [
                    {"uses": "actions/checkout@v5"},
                    {"uses": "actions/setup-python@v6", "with": {"python-version": _PYTHON}},
                    {
                        "name": "Install ftc",
                        "run": 'python -m pip install "git+$FTC"',
                        "env": {"FTC": source},
                    },
                    {
                        "name": "Compare the bundle with its spec",
                        "run": 'ftc compile "$SPEC" --output "$BUNDLE" --check',
                        "env": {"SPEC": spec, "BUNDLE": bundle},
                    },
                ],
            }
        },
    }
