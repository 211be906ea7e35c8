"""The steps after compiling: the commands that install a bundle's packages and start it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ftc.spec.sections import Launcher

_COMMANDS: Final[Mapping[Launcher, str]] = {
    "local": "./run.sh",
    "slurm": "sbatch slurm.sh",
    "kubernetes": "kubectl create -f k8s.yaml",
    "skypilot": "sky jobs launch sky.yaml",
}
#: The first block of commands of a bundle's README; `./run.sh` ends its installation.
_BLOCK: Final = re.compile(r"^```\n(.*?)^\./run\.sh$", re.MULTILINE | re.DOTALL)
_INSTALLED: Final = frozenset({"local", "slurm"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NextSteps:
    """Shell commands to run in the bundle's folder; with `is_local`, ftc can start the run."""

    install: tuple[str, ...]
    start: str
    is_local: bool


def find_next_steps(readme: str, launcher: Launcher) -> NextSteps:
    """Return the steps from a bundle's README, which depend on the machine and the packages."""
    found = _BLOCK.search(readme)
    lines = found[1].splitlines() if found and launcher in _INSTALLED else []
    return NextSteps(install=tuple(lines), start=_COMMANDS[launcher], is_local=launcher == "local")
