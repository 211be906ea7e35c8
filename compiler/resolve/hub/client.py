"""The Hugging Face Hub over HTTP: describes a repository at a commit, fetches files or their parts.

HF_ENDPOINT, HF_TOKEN and the stored login are honoured; a token is never printed or kept. What the
Hub said of a repository is kept in the cache beside its files, in the folder `ftc`, which the Hub's
own client does not use: a later compile has the same facts from the cache.
"""

import contextlib
import io
import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

import msgspec

from ftc.compiler.resolve.hub.cache import (
    COMMIT,
    Kind,
    cache_folder,
    is_offline,
    is_pinned,
    repository_folder,
    snapshot_folder,
    write_whole,
)
from ftc.compiler.resolve.licence import name_licence
from ftc.spec.message import Message

Reason = Literal["missing", "gated", "revision", "limited", "unreachable", "offline"]
#: Seconds before a silent Hub counts as unreachable, per request.
TIMEOUT_SECONDS: Final = 5.0
#: The bytes that a reader of a file requests at a time, by default.
BLOCK_BYTES: Final = 256 * 1024
_PARTIAL: Final = 206
_BEYOND: Final = 416
_FOLDER: Final = "ftc"
_WEIGHTS: Final = ".safetensors"
_READERS: Final = 8  # headers that are fetched at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """The reason why the Hub gave no answer; `detail` is its cause in a few words."""

    reason: Reason
    detail: str | Message

    @property
    def passes(self) -> bool:
        """Whether the same request may succeed at another time or place."""
        return self.reason in ("limited", "unreachable", "offline")


#: The reason for not querying the Hub if the user forbids it.
OFFLINE: Final = Trouble(reason="offline", detail=Message("hub.offline"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository at a commit: `files` maps each name to its bytes (None where not said).

    `parameters` and `dtype` (of most of them, as safetensors writes it) are the Hub's own counts.
    """

    commit: str
    files: Mapping[str, int | None]
    gated: bool
    licence: str | None
    parameters: int | None
    dtype: str | None


if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class HubFile(io.RawIOBase):
    """A file of a data set at a commit; `fetched_bytes` is what came over the network so far.

    What the Hub's client raises is not caught: `sort_trouble` is for the caller.
    """

    def __init__(self, repository: str, commit: str, name: str) -> None:
        from huggingface_hub import hf_hub_url  # noqa: PLC0415 - slow to import

        self.url = hf_hub_url(
            repository, name, repo_type="dataset", revision=commit, endpoint=find_endpoint()
        )
        self.fetched_bytes = 0
        self._place = 0
        self.size_bytes = 0
        self.fetch(0, 1)

    def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` to before `stop`, fewer at the end of the file."""
        from huggingface_hub import get_session, utils  # noqa: PLC0415 - slow to import

        client: Any = utils
        headers = {
            **client.build_hf_headers(library_name="ftc"),
            "Range": f"bytes={start}-{stop - 1}",
            "Accept-Encoding": "identity",
        }
        session: Any = get_session()
        with session.stream("GET", self.url, headers=headers, timeout=TIMEOUT_SECONDS) as answer:
            if answer.status_code == _BEYOND:  # an empty file has no part
                return b""
            if answer.status_code != _PARTIAL:
                client.hf_raise_for_status(answer)
                raise ConnectionError("the server gives whole files alone")
            found: bytes = answer.read()
            self.size_bytes = int(answer.headers["content-range"].rpartition("/")[2])
        self.fetched_bytes += len(found)
        return found

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position; nothing is fetched."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size_bytes}[whence]
        self._place = base + offset
        return self._place

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fetch as many bytes as the buffer has room for."""
        view = memoryview(buffer).cast("B")
        stop = min(self._place + len(view), self.size_bytes)
        found = self.fetch(self._place, stop) if stop > self._place else b""
        view[: len(found)] = found
        self._place += len(found)
        return len(found)


def describe(repository: str, revision: str | None, kind: Kind) -> Repository | Trouble:
    """Ask the Hub for the commit of a revision and the names of its files."""
    api = _api()
    ask = api.model_info if kind == "model" else api.dataset_info
    try:
        info = ask(repository, revision=revision, timeout=TIMEOUT_SECONDS, files_metadata=True)
    except Exception as error:  # noqa: BLE001 - sorted, or raised again, by `sort_trouble`
        return sort_trouble(error)
    card = info.card_data
    said = {} if card is None else {key: card.get(key) for key in ("license", "license_name")}
    counted = getattr(info, "safetensors", None)
    by_dtype = counted.parameters if counted is not None else {}
    return Repository(
        commit=str(info.sha),
        files={file.rfilename: file.size for file in info.siblings or ()},
        gated=bool(info.gated),
        licence=name_licence(said.get("license"), said.get("license_name")),
        parameters=counted.total if counted is not None else None,
        dtype=max(by_dtype, key=by_dtype.__getitem__) if by_dtype else None,
    )


def fetch_sides(repository: str, found: Repository) -> Mapping[str, tuple[int, ...]]:
    """Return the sides of each tensor of a described commit, from the headers of its files.

    They are kept in the cache, as descriptions are. Empty where the Hub does not give the headers.
    """
    kept = _path(repository, f"{found.commit}.tensors", "model")
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(kept.read_bytes(), type=dict[str, tuple[int, ...]])
    names = sorted(file for file in found.files if "/" not in file and file.endswith(_WEIGHTS))
    if is_offline() or not names:
        return {}
    from huggingface_hub import errors  # noqa: PLC0415 - slow to import

    api = _api()

    def read(name: str) -> Mapping[str, tuple[int, ...]]:
        said = api.parse_safetensors_file_metadata(
            repository, name, revision=found.commit, timeout=TIMEOUT_SECONDS
        )
        return {tensor: tuple(info.shape) for tensor, info in said.tensors.items()}

    try:
        with ThreadPoolExecutor(_READERS) as pool:
            sides = {name: side for part in pool.map(read, names) for name, side in part.items()}
    except (errors.SafetensorsParsingError, errors.NotASafetensorsRepoError):
        return {}
    except Exception as error:  # noqa: BLE001 - raised again if it is a defect
        sort_trouble(error)
        return {}
    with contextlib.suppress(OSError):
        write_whole(kept, msgspec.json.encode(sides))
    return sides


def download(repository: str, commit: str, names: Iterable[str], kind: Kind) -> Path | Trouble:
    """Download files of a commit into the cache; return their folder."""
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
    """Return the trouble behind an exception of the Hub's client; reraise any other exception."""
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
        return Trouble(reason="gated", detail=Message("hub.not_granted"))
    if isinstance(error, errors.RevisionNotFoundError):
        return Trouble(reason="revision", detail=Message("hub.no_revision"))
    if status == 429:  # noqa: PLR2004 - Too Many Requests
        return Trouble(reason="limited", detail=Message("hub.too_many_requests"))
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return Trouble(reason="missing", detail="no such repository, or a private one")
    if status in (401, 403):
        return Trouble(reason="gated", detail=Message("hub.status", {"status": status}))
    if status == 404:  # noqa: PLR2004 - Not Found
        return Trouble(reason="missing", detail="a file is not there")
    if isinstance(status, int):
        return Trouble(reason="unreachable", detail=Message("hub.status", {"status": status}))
    if isinstance(error, errors.OfflineModeIsEnabled):
        return OFFLINE
    if isinstance(error, OSError | TimeoutError) or type(error).__module__.startswith("httpx"):
        return Trouble(reason="unreachable", detail=_short(error))
    return None


def _short(error: BaseException) -> Message | str:
    """Return the kind of a failure in words without an address or token."""
    name = type(error).__name__
    key = {
        "ConnectError": "hub.no_connection",
        "ConnectTimeout": "hub.no_answer",
        "ReadTimeout": "hub.no_answer",
        "ProxyError": "hub.proxy_refused",
    }.get(name)
    return name if key is None else Message(key)


def fetch_described(
    repository: str, revision: str | None, found: Repository, names: Iterable[str], kind: Kind
) -> Path | Trouble:
    """Return the folder of these files of a described commit; missing ones are downloaded.

    The description is kept after an interrupted download too, as it lists what is missing.
    """
    place = snapshot_folder(repository, found.commit, kind)
    missing = [name for name in names if not (place / name).is_file()]
    if missing and is_offline():
        return OFFLINE
    try:
        return download(repository, found.commit, missing, kind) if missing else place
    finally:
        if place.is_dir():
            keep_description(repository, revision, found, kind)


def keep_description(repository: str, revision: str | None, found: Repository, kind: Kind) -> None:
    """Store a description under its commit, and under the branch or tag of the request.

    If the cache cannot be written, the Hub is asked again the next time.
    """
    content = json.dumps({**asdict(found), "files": dict(found.files)}, sort_keys=True).encode()
    names = {found.commit} if is_pinned(revision) else {found.commit, revision}
    with contextlib.suppress(OSError):
        for name in names:
            write_whole(_path(repository, name, kind), content)


def kept_description(repository: str, revision: str | None, kind: Kind) -> Repository | None:
    """Return the stored description of a commit, branch or tag; None without a valid one."""
    try:
        content = _path(repository, revision, kind).read_bytes()
        found = msgspec.json.decode(content, type=Repository)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None
    sound = found.commit == revision if is_pinned(revision) else COMMIT.fullmatch(found.commit)
    return found if sound else None


def _path(repository: str, revision: str | None, kind: Kind) -> Path:
    name = quote(revision or "main", safe="")
    return repository_folder(repository, kind) / _FOLDER / f"{name}.json"
