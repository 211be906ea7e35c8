"""Compares each Modelfile with the rows: Ollama must read what training has read.

TEMPLATE is rendered for every row as Ollama does it (go_template.py takes the place of Go), and the
tokens are compared, including those that llama.cpp adds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp

from .files import write_json
from .go_template import GoTemplateError, render_go
from .judged_rows import JudgedRows, Row
from .rows import before_answer
from .run import Run
from .same_tokens import Vocabulary
from .stages import Identity

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The Modelfiles of a bundle, and the rows that they are compared with.

    `system` is the system message of the spec. `has_tools` and `leave_out` are those of
    `tool_calls`, for rows with tools.
    """

    run: Run
    modelfiles: Sequence[Path]
    judged: JudgedRows
    system: str | None = None
    has_tools: Callable[[Row], bool] | None = None
    leave_out: Callable[[Any, Row], tuple[Sequence[Message], list[int]]] | None = None


def check_modelfiles(job: Job, identity: Identity) -> None:
    """Compare every Modelfile and write modelfile.json; ends the stage if one is wrong."""
    rows = job.run.read_rows(job.judged.path)
    if not rows:
        job.run.stop(f"{job.judged.path.name} has no row to compare a Modelfile with")
    found = {path.name: _judge(job, path, rows) for path in job.modelfiles}
    report = job.run.folder / "quantize" / "modelfile.json"
    judged = job.judged.path.stem
    write_json(report, {"version": 1, "judged": judged, "modelfiles": found})
    job.run.mark_done(identity, report)


# -----------------------------------------------------------------------------
# A Modelfile, as Ollama reads it: a value continues while its triple quotes are open


def _unquote(value: str) -> str | None:
    """Return a value without its quotes; None while they are open."""
    for quotes in ('"""', '"'):
        if value.startswith(quotes):
            is_closed = len(value) >= 2 * len(quotes) and value.endswith(quotes)
            return value[len(quotes) : -len(quotes)] if is_closed else None
    return value


def read(run: Run, path: Path) -> dict[str, Any]:
    """Return the values of a Modelfile by instruction; `stop` is a list."""
    said: dict[str, Any] = {"stop": []}
    lines = path.read_text(encoding="utf-8").split("\n")
    while lines:
        word, _, value = lines.pop(0).strip().partition(" ")
        if word.upper() == "PARAMETER":
            word, _, value = value.partition(" ")
        while (text := _unquote(value.strip())) is None:
            if not lines:
                run.stop(f"{path.name}: the quotes of {word} have no end")
            value += "\n" + lines.pop(0)
        if word.lower() == "stop":
            said["stop"].append(text)
        else:
            said[word.lower()] = text
    for needed in ("from", "template"):
        if needed not in said:
            run.stop(f"{path.name} has no {needed.upper()}: compile this bundle again")
    return said


def _render(run: Run, said: Mapping[str, Any], messages: Sequence[Message]) -> str:
    """Return the text that Ollama makes of a conversation that waits for an answer."""
    if "system" in said and messages[0]["role"] != "system":
        messages = [{"role": "system", "content": said["system"]}, *messages]
    joined: list[dict[str, str]] = []
    for message in messages:
        if joined and joined[-1]["Role"] == message["role"]:
            joined[-1]["Content"] += "\n\n" + message["content"]
        else:
            joined.append({"Role": message["role"], "Content": message["content"]})
    system = "\n\n".join(turn["content"] for turn in messages if turn["role"] == "system")
    try:
        return render_go(said["template"], {"System": system, "Messages": joined})
    except GoTemplateError as error:
        run.stop(f"the TEMPLATE of a Modelfile: {error}")


# -----------------------------------------------------------------------------
# Each row, as Ollama would ask it and as training did


def _judge(job: Job, path: Path, rows: Sequence[Row]) -> dict[str, int]:
    """End the stage unless Ollama, with this Modelfile, reads every row as training did."""
    run, said = job.run, read(job.run, path)
    gguf = run.bundle / said["from"]
    if not gguf.is_file():
        run.stop(f"{path.name} has FROM {said['from']}, and this file does not exist (see run.sh)")
    vocabulary = Vocabulary(run, job.judged, gguf)
    other, endless, called = [], [], 0
    for row in rows:
        is_called = job.has_tools is not None and job.has_tools(row)
        called += is_called
        asked, prompt_ids = list(before_answer(row["messages"])), row["prompt_ids"]
        if is_called and job.leave_out:
            found, prompt_ids = job.leave_out(vocabulary, row)
            asked = list(found)
        if "system" in said and asked[0] == {"role": "system", "content": job.system}:
            asked.pop(0)  # Ollama adds its own
        text = _render(run, said, asked)
        if vocabulary.encode(text, add_bos=True) != prompt_ids:
            other.append(text)
        if "answer" in row and not _ends(vocabulary.words, row, said["stop"]):
            endless.append(row)
    vocabulary.words.close()
    if other:
        run.stop(
            f"with {path.name} Ollama would read {len(other):,} of {len(rows):,} rows as other"
            f" tokens than training did; the first begins {other[0][:80]!r}: undo the change"
        )
    if cut := [stop for stop in said["stop"] if any(stop in row.get("answer", "") for row in rows)]:
        run.stop(f"the stop {cut[0]!r} of {path.name} would cut answers short")
    if endless:
        run.stop(f"no stop of {path.name} ends the answers of {len(endless):,} rows")
    whole = len(rows) - called
    if called:
        run.say(
            f"with {path.name} Ollama reads {whole:,} rows as training did, and of {called:,} rows"
            " with tools what is asked before their first call: its TEMPLATE has no place for"
            " tools, and Ollama refuses requests that have them"
        )
    else:
        run.say(f"with {path.name} Ollama reads all {whole:,} rows as training did")
    return {"whole_rows": whole, "rows_without_their_tools": called}


def _ends(words: Any, row: Row, stops: Sequence[str]) -> bool:
    """Return whether the last token of a row, or a stop behind its answer, ends the answer."""
    ids = row["input_ids"]
    if llama_cpp.llama_vocab_is_eog(words.vocab, ids[-1]):
        return True
    learned: bytes = words.detokenize(ids[len(row["prompt_ids"]) :], special=True)
    end = learned.decode(errors="replace").rpartition(row["answer"])[2]
    return any(stop in end for stop in stops)
