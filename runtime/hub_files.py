"""Fetches the files of a data set on the Hub, at a commit."""

from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import hf_hub_download


def fetch(repository: str, revision: str, names: Sequence[str]) -> list[Path]:
    """Return the paths of files in the cache of huggingface_hub, downloading what is missing."""
    return [
        Path(hf_hub_download(repository, name, repo_type="dataset", revision=revision))
        for name in names
    ]
