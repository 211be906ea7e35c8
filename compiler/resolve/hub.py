"""The Hugging Face Hub over HTTP: describes a repository at a commit and fetches small files.

HF_ENDPOINT, HF_TOKEN and the stored login are honoured; a token is never printed or kept.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ftc.compiler.resolve.hub_cache import Kind, cache_folder, snapshot_folder

Reason = Literal["missing", "gated", "revision", "limited", "unreachable", "offline"]

#: Seconds before a silent Hub counts as unreachable, per request.
TIMEOUT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why the Hub gave no answer; `detail` names the cause in a few words."""

    reason: Reason
    detail: str

    @property
    def passes(self) -> bool:
        """Whether the same request may succeed at another time or place."""
        return self.reason in ("limited", "unreachable", "offline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository at a commit: `files` maps each name to its bytes (None where not said)."""

    commit: str
    files: Mapping[str, int | None]
    gated: bool
    licence: str | None
    parameters: int | None


def describe(repository: str, revision: str | None, kind: Kind) -> Repository | Trouble:
    """Ask the Hub for the commit of a revision and the names of its files."""
    api = _api()
    ask = api.model_info if kind == "model" else api.dataset_info
    try:
        info = ask(repository, revision=revision, timeout=TIMEOUT_SECONDS, files_metadata=True)
    except Exception as error:  # noqa: BLE001 - sorted, or raised again, by `sort_trouble`
        return sort_trouble(error)
    card = info.card_data
    licence = card.get("license") if card is not None else None
    counted = getattr(info, "safetensors", None)
    return Repository(
        commit=str(info.sha),
        files={file.rfilename: file.size for file in info.siblings or ()},
        gated=bool(info.gated),
        licence=licence if isinstance(licence, str) else None,
        parameters=counted.total if counted is not None else None,
    )


def download(repository: str, commit: str, names: Iterable[str], kind: Kind) -> Path | Trouble:
    """Bring files of a commit into the cache, and return the folder that holds them there."""
    from huggingface_hub import hf_hub_download  # noqa: PLC0415 - slow to import
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415

    disable_progress_bars()
    try:
        for name in names:
            hf_hub_download(
                repository,
                name,
                repo_type=kind,
                revision=commit,
                cache_dir=cache_folder(),
                endpoint=find_endpoint(),
                etag_timeout=TIMEOUT_SECONDS,
            )
    except Exception as error:  # noqa: BLE001 - sorted, or raised again, by `sort_trouble`
        return sort_trouble(error)
    return snapshot_folder(repository, commit, kind)


def _api() -> Any:
    from huggingface_hub import HfApi  # noqa: PLC0415 - slow to import

    return HfApi(endpoint=find_endpoint(), library_name="ftc")


def find_endpoint() -> str | None:
    """Return the Hub's address where the user named one."""
    return os.environ.get("HF_ENDPOINT") or None


def sort_trouble(error: Exception) -> Trouble:
    """Sort what the Hub's client raises; anything that is no failure of the world goes on."""
    from huggingface_hub import errors  # noqa: PLC0415

    cause: BaseException | None = error
    while cause is not None:
        found = _sort(cause, errors)
        if found is not None:
            return found
        cause = cause.__cause__ or cause.__context__
    raise error


def _sort(error: BaseException, errors: Any) -> Trouble | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.GatedRepoError):
        return Trouble(reason="gated", detail="access has not been granted")
    if isinstance(error, errors.RevisionNotFoundError):
        return Trouble(reason="revision", detail="no such revision")
    if status == 429:  # noqa: PLR2004 - Too Many Requests
        return Trouble(reason="limited", detail="too many requests")
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return Trouble(reason="missing", detail="no such repository, or a private one")
    if status in (401, 403):
        return Trouble(reason="gated", detail=f"status {status}")
    if status == 404:  # noqa: PLR2004 - Not Found
        return Trouble(reason="missing", detail="a file is not there")
    if isinstance(status, int):
        return Trouble(reason="unreachable", detail=f"status {status}")
    if isinstance(error, errors.OfflineModeIsEnabled):
        return Trouble(reason="offline", detail="HF_HUB_OFFLINE is set")
    if isinstance(error, OSError | TimeoutError) or type(error).__module__.startswith("httpx"):
        return Trouble(reason="unreachable", detail=_short(error))
    return None


def _short(error: BaseException) -> str:
    """Return the kind of failure in words that hold no address and no token."""
    name = type(error).__name__
    return {
        "ConnectError": "no connection",
        "ConnectTimeout": "no answer in time",
        "ReadTimeout": "no answer in time",
        "ProxyError": "the proxy refused",
    }.get(name, name)
