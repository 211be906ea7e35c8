"""Files that a bundle has only on request; they stay until a request removes them."""

from collections.abc import Collection, Mapping
from typing import Final, Literal

Extra = Literal["notebook", "image", "readme_ca", "readme_es"]

#: The file that shows that a bundle has each.
FILES: Final[Mapping[Extra, str]] = {
    "image": "Dockerfile",
    "notebook": "notebook.ipynb",
    "readme_ca": "README.ca.md",
    "readme_es": "README.es.md",
}


def find_extras(asked: Mapping[Extra, bool], before: Collection[str]) -> frozenset[Extra]:
    """Return the extras of a bundle: the requested ones, and earlier ones that were not declined.

    `before` are the names of the files that its lock lists.
    """
    return frozenset(extra for extra, name in FILES.items() if asked.get(extra, name in before))
