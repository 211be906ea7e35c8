"""Parts of a file on the Hub, by HTTP ranges: nothing else of it is fetched."""

import io
from typing import TYPE_CHECKING, Any, Final

from ftc.compiler.resolve.hub import TIMEOUT_SECONDS, find_endpoint

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: What a reader of a file asks for at once, unless it wants more.
BLOCK_BYTES: Final = 256 * 1024
_PARTIAL: Final = 206
_BEYOND: Final = 416


class HubFile(io.RawIOBase):
    """A file of a data set at a commit; `fetched_bytes` is what came over the network so far.

    Whatever the Hub's client raises goes through: `ftc.compiler.resolve.hub` sorts it.
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
        """Say yes."""
        return True

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the place, of which nothing is asked of the Hub."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size_bytes}[whence]
        self._place = base + offset
        return self._place

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fetch what the buffer holds."""
        view = memoryview(buffer).cast("B")
        stop = min(self._place + len(view), self.size_bytes)
        found = self.fetch(self._place, stop) if stop > self._place else b""
        view[: len(found)] = found
        self._place += len(found)
        return len(found)
