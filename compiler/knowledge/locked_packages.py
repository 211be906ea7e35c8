"""The locked packages: file hashes and dependencies of everything a bundle may install.

from ftc.compiler.knowledge.tables import read_table

The table reflects the package index on the day it was made (`.ci/lock.py`), for one platform.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.tables import read_table

PLATFORM: Final = "linux x86_64"
#: Packages whose CPU build is on a different index from the locked build.
CPU_BUILDS: Final = ("torch", "torchvision")
#: The dependencies of torch's CPU build; the index's build needs the CUDA packages too.
CPU_TORCH_NEEDS: Final = (
    *("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPackage:
    """`hashes` are the SHA-256 of its wheels, or of its source if it has no wheel."""

    name: str
    version: str
    hashes: tuple[str, ...]


def list_pythons() -> tuple[str, ...]:
    """Return the Python versions of the lock, oldest first."""
    return tuple(_table()["pythons"])


def find_closure(names: Iterable[str], *, cpu: bool = False) -> tuple[LockedPackage, ...]:
    """Return these packages and their dependencies, by name, without packages that are not locked.

    If one of them needs a different version of a dependency, all get that version. With `cpu`,
    CPU_BUILDS are omitted, because the table does not have their CPU builds, and so are the CUDA
    libraries of the other builds.
    """
    wanted = tuple(names)
    packages: Mapping[str, Any] = _table()["packages"]
    for name, others in _table()["instead"].items():
        packages = {**packages, **others} if name in wanted else packages
    found: set[str] = set()
    left = [name for name in wanted if name in packages]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += CPU_TORCH_NEEDS if cpu and name == "torch" else packages[name]["needs"]
    if cpu:
        found -= set(CPU_BUILDS)
    return tuple(
        LockedPackage(
            name=name,
            version=packages[name]["version"],
            hashes=tuple(packages[name]["hashes"]),
        )
        for name in sorted(found)
    )


def hash_source(name: str) -> str:
    """Return the SHA-256 of a package that is only published as source."""
    (digest,) = _table()["packages"][name]["hashes"]
    return str(digest)


@functools.cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "locked_packages.json")
    return table
