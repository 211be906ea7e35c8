"""The error message for files of the Hub that can be neither fetched nor found in the cache.

Standard library only: errors are recognized by the names of their classes.
"""

import re
from collections.abc import Iterator, Sequence

_OUT_OF_REACH = {"LocalEntryNotFoundError", "OfflineModeIsEnabled", "TransportError"}
# An address of the Hub's client: the server, and the repository of a model or a data set.
_ADDRESS = re.compile(
    r"(https?://[^/\s']+)/(?:api/)?(?:models/|datasets/)?([^\s']+?)/(?:resolve|revision|tree)/"
)
_SERVER = re.compile(r"https?://[^/\s']+")


def describe(error: BaseException, wanted: Sequence[str] = ()) -> str | None:
    """Return a sentence about what could not be fetched and what to do; None for other errors.

    `wanted` are the repositories to name if the error names none.
    """
    errors = list(_follow(error))
    names = {kind.__name__ for item in errors for kind in type(item).__mro__}
    if not names & _OUT_OF_REACH:
        return None
    told = "\n".join(f"{_address(item)} {item}" for item in errors)
    if address := _ADDRESS.search(told):
        server, what = address.groups()
    else:
        found = _SERVER.search(told)
        server = found[0] if found else "the Hub"
        what = " or ".join(dict.fromkeys(wanted)) or "a file"
    return (
        f"{what} could not be fetched from {server} and is not in the cache: connect this machine"
        " to the network and run again, or set HF_HOME to a folder that has it in its cache"
    )


def _follow(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _address(error: BaseException) -> str:
    """Return the address of a failed request, or an empty text."""
    return str(getattr(getattr(error, "_request", None), "url", ""))
