"""The locked packages: the files that a bundle may install, by their hashes, and who needs whom.

The table is that of the package index on the day it was made (`.ci/lock.py`), for one platform.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

PLATFORM: Final = "linux x86_64"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPackage:
    """`hashes` are the SHA-256 of its wheels, of its source alone where it has no wheel."""

    name: str
    version: str
    hashes: tuple[str, ...]


def list_pythons() -> tuple[str, ...]:
    """Return the versions of Python that the lock was made for, oldest first."""
    return tuple(_table()["pythons"])


def find_closure(names: Iterable[str]) -> tuple[LockedPackage, ...]:
    """Return these packages and all that they need, by name; what is not locked is left out.

    Where one of them wants another version of something than the rest does, all get that one.
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
            left += packages[name]["needs"]
    return tuple(
        LockedPackage(
            name=name,
            version=packages[name]["version"],
            hashes=tuple(packages[name]["hashes"]),
        )
        for name in sorted(found)
    )


def hash_source(name: str) -> str:
    """Return the SHA-256 of a package that comes as its source alone."""
    (digest,) = _table()["packages"][name]["hashes"]
    return str(digest)


@functools.cache
def _table() -> Mapping[str, Any]:
    text = (files("ftc.compiler.knowledge") / "locked_packages.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table
