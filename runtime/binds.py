"""Prints APPTAINER_BIND: the folders that a container needs besides the bundle and the home.

    python -m runtime.binds CALLER ARGUMENTS-OF-RUN.SH

They hold the paths in container.txt and in the arguments, the targets of links at these paths, and
the Hub's caches that environment variables name. Arguments are relative to the
folder CALLER. An APPTAINER_BIND that is set already comes first.

Standard library only. This runs outside of the container, so it supports Python 3.9.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

#: Environment variables that name folders and files of huggingface_hub and datasets.
CACHES = ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_TOKEN_PATH")
CONTAINER = "container.txt"  # the first line names the image; the others are paths


def find_binds(bundle: Path, caller: Path, arguments: Sequence[str]) -> str:
    """Return the value of APPTAINER_BIND; missing folders are left out."""
    lines = (bundle / CONTAINER).read_text(encoding="utf-8").splitlines()
    named = [*(bundle / line for line in lines[1:]), *(caller / word for word in arguments)]
    caches = (Path(os.environ[name]).expanduser() for name in CACHES if os.environ.get(name))
    for cache in caches:  # one that is still to be made is made in a folder that is there
        places = (cache, *cache.parents) if cache.is_absolute() else ()
        named += [place for place in places if place.exists()][:1]
    folders: list[str] = []
    for path in (Path(os.path.normpath(each)) for each in named if each.exists()):
        target = path.resolve()
        folders += [str(path.parent), str(target if target.is_dir() else target.parent)]
    found = [os.environ.get("APPTAINER_BIND", ""), *(each for each in folders if each != "/")]
    return ",".join(dict.fromkeys(filter(None, found)))


if __name__ == "__main__":
    print(find_binds(Path.cwd(), Path(sys.argv[1]), sys.argv[2:]))
