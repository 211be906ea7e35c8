"""A page of the site: links that leave it, its language, and what its commands need."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final

_LINK: Final = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")
_NEED: Final = re.compile(r"^<!-- needs: (.+) -->\n", re.MULTILINE)
_NOTHING: Final = "nothing"
_VERBS: Final = {"ca": "Necessita", "es": "Necesita"}


def rewrite_links(text: str, page: str, find: Callable[[str], str | None]) -> str:
    """Return the text of a file of the repository with its links as links of the site.

    `find` returns the site's page for a path in the repository, None if the site has none: then the
    words of the link stay, without a link. `page` is the path of the file in the repository.
    """
    folder = PurePosixPath(page).parent

    def replace(found: re.Match[str]) -> str:
        target, _, anchor = found[2].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = find(normpath((folder / target).as_posix()))
        if path is None:
            return found[1] if "`" in found[1] else f"`{found[1]}`"
        return f"[{found[1]}]({path}{'#' + anchor if anchor else ''})"

    return _LINK.sub(replace, text)


def mark_language(text: str, folder: str) -> str:
    """Return the text of a page with its language, which `docs/theme` reads, in its front matter.

    The folder of a page names its language; a page in English has no front matter.
    """
    return f"---\nlanguage: {folder}\n---\n\n{text}" if folder in _VERBS else text


def show_needs(text: str, folder: str) -> str:
    """Return the text with every mark of a command's needs as a line that a reader sees.

    The folder of a page names its language.
    """
    verb = _VERBS.get(folder, "Needs")
    return _NEED.sub(
        lambda found: "" if found[1] == _NOTHING else f"*{verb} {found[1]}.*\n\n", text
    )
