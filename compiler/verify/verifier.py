"""The verifier: every rendered file is read back before a byte of it is written."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.verify.explanations import (
    CHANGED_DATA,
    CONTROL_CHARACTER,
    UNKNOWN_KEY,
    UNPARSABLE,
    UNSAFE_SHELL,
)
from ftc.compiler.verify.keys import find_unknown
from ftc.compiler.verify.modelfile import ModelfileError, read_modelfile
from ftc.compiler.verify.python import verify_python
from ftc.spec.findings.finding import Finding

_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_SETTINGS = {"accelerate.yaml": "accelerate", "deepspeed.json": "deepspeed"}


def verify_files(files: Sequence[RenderedFile]) -> tuple[Finding, ...]:
    """Return every defect of the files, file by file; none means that they may be written."""
    return tuple(finding for file in files for finding in _verify(file))


def _verify(file: RenderedFile) -> Iterator[Finding]:
    if file.language in {"copy", "runtime"}:
        return
    yield from _verify_characters(file)
    match file.language:
        case "python":
            yield from verify_python(file)
        case "shell":
            yield from _verify_shell(file)
        case "json" | "yaml":
            yield from _verify_data(file)
        case "modelfile":
            yield from _verify_modelfile(file)
        case "markdown" | "text":
            return


def _verify_characters(file: RenderedFile) -> Iterator[Finding]:
    if found := _UNPRINTABLE.search(file.text):
        line = file.text.count("\n", 0, found.start()) + 1
        yield CONTROL_CHARACTER.finding(
            file=file.name, line=line, character=f"U+{ord(found.group()):04X}"
        )


def _verify_shell(file: RenderedFile) -> Iterator[Finding]:
    for number, line in enumerate(file.text.split("\n"), start=1):
        if not line.isascii():
            yield UNSAFE_SHELL.finding(file=file.name, line=number)


def _verify_data(file: RenderedFile) -> Iterator[Finding]:
    """Compare the text with the data it was made from, and check the data with its library."""
    try:
        data = json.loads(file.text) if file.language == "json" else _load_yaml(file.text)
    except (ValueError, RecursionError) as error:
        why = ascii(str(error).partition("\n")[0])[1:-1]
        yield UNPARSABLE.finding(file=file.name, reason=why)
        return
    if (place := _difference(data, file.data)) is not None:
        yield CHANGED_DATA.finding(file=file.name, place=place or "/")
    if library := _SETTINGS.get(file.name):
        for key in find_unknown(library, data):
            yield UNKNOWN_KEY.finding(file=file.name, key=key, library=library)


def _verify_modelfile(file: RenderedFile) -> Iterator[Finding]:
    """Compare what Ollama will read with what was meant."""
    try:
        data = read_modelfile(file.text)
    except ModelfileError as error:
        why = ascii(str(error))[1:-1]
        yield UNPARSABLE.finding(file=file.name, reason=why)
        return
    if (place := _difference(data, file.data)) is not None:
        yield CHANGED_DATA.finding(file=file.name, place=place or "/")


def _load_yaml(text: str) -> Any:
    """Read YAML 1.1 as the libraries do; raises ValueError."""
    import yaml  # noqa: PLC0415 - needed only where a bundle has YAML

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _difference(found: Any, meant: Any, place: str = "") -> str | None:
    """Return the pointer of the first difference, types of numbers included; None when equal."""
    if isinstance(found, dict) and isinstance(meant, Mapping):
        if set(found) != set(meant):
            return f"{place}/{min(map(str, set(found) ^ set(meant)))}"
        pairs = [(f"{place}/{name}", found[name], meant[name]) for name in found]
    elif isinstance(found, list) and isinstance(meant, list | tuple):
        if len(found) != len(meant):
            return place
        pairs = [
            (f"{place}/{index}", *both) for index, both in enumerate(zip(found, meant, strict=True))
        ]
    else:
        return None if type(found) is type(meant) and found == meant else place
    places = (_difference(left, right, where) for where, left, right in pairs)
    return next((where for where in places if where is not None), None)
