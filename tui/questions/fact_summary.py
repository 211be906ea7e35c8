"""Summarizes the data, the model and the machine when the user names them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.objectives import compares_texts
from ftc.compiler.resolve.facts import DataFacts, HardwareFacts, Label, ModelFacts
from ftc.compiler.resolve.local_paths import at
from ftc.compiler.resolve.rows.reader import UnreadableError, read_table
from ftc.compiler.resolve.rows.table import TableFile
from ftc.tui.languages.translation import tell
from ftc.tui.languages.voice import Voice
from ftc.tui.state.draft import Draft
from ftc.tui.state.line import Line
from ftc.tui.state.situation import Situation

_ROWS: Final = 3
_WIDTH: Final = 72
_MOST_LABELS: Final = 6
_MOST_PROBLEMS: Final = 5
_MAIN_LANGUAGE: Final = 0.1  # languages with a smaller share of rows are not mentioned
_BILLION: Final = 1e9
#: A JSON file has to be read in full to show its first rows; larger files are not read.
_LARGEST_JSON_BYTES: Final = 32 * 1024**2
_DATA: Final = ("/data/source", "/data/sources")
_ROLES: Final = ("messages", "prompt", "completion", "instruction", "input", "output", "text")


def summarize_facts(
    before: Draft, after: Draft, situation: Situation, *, folder: Path, voice: Voice
) -> Iterator[Line]:
    """Yield summaries of the file, the model and the machine, if they are new in `after`."""
    if any(_is_new(place, before, after) for place in _DATA) and situation.data is not None:
        for part in situation.data.sources or (situation.data,):
            labels = answer_labels(part, after)
            yield Line(who="ftc", text="\n".join(_data(part, labels, folder, voice)))
        problems = [tell(finding, voice) for finding in situation.data_problems()]
        if problems:
            head = voice.say("look.problems")
            yield Line(who="ftc", text="\n".join((head, *problems[:_MOST_PROBLEMS])))
    if _is_new("/model/id", before, after) and situation.model is not None:
        yield Line(who="ftc", text=_model(situation.model, voice))
    if _is_new("/hardware/gpu", before, after) and situation.hardware is not None:
        machine = situation.hardware
        if machine.origin == "machine":
            yield Line(who="ftc", text=_machine(machine, voice))


def _is_new(pointer: str, before: Draft, after: Draft) -> bool:
    return after.get(pointer) is not None and before.get(pointer) != after.get(pointer)


def answer_labels(facts: DataFacts, draft: Draft) -> tuple[Label, ...]:
    """Return the labels of the answers; none if texts are compared or scored."""
    return () if compares_texts(draft.get("/objective/type") or "sft") else facts.labels


def _data(facts: DataFacts, labels: Sequence[Label], folder: Path, voice: Voice) -> Iterator[str]:
    """Yield the number of rows, the columns and format, the first rows, languages and labels."""
    roles = [(role, getattr(facts, role)) for role in _ROLES if getattr(facts, role)]
    told = ", ".join(f"{role} = {column}" for role, column in roles)
    yield voice.say(
        "look.data",
        source=facts.source,
        rows=facts.rows,
        columns=", ".join(facts.columns),
        form=facts.form,
        roles=f" ({told})" if told else "",
    )
    if facts.sampled_rows < facts.rows:
        yield "  " + voice.say("look.sampled", rows=facts.sampled_rows)
    if facts.streamed_rows is not None:
        yield "  " + voice.say("look.streamed", rows=facts.rows, all=facts.streamed_rows)
    for number, row in enumerate(first_rows(facts, folder), start=1):
        yield _cut("  " + voice.say("look.row", number=number, row=row))
    spoken = [code for code, share in facts.languages.items() if share >= _MAIN_LANGUAGE]
    if spoken:
        yield voice.say("look.languages", languages=", ".join(map(voice.name_language, spoken)))
    if labels:
        names = [label.name for label in labels]
        shown = ", ".join(names[:_MOST_LABELS]) + (", ..." if len(names) > _MOST_LABELS else "")
        yield voice.say("look.labels", count=len(names), labels=shown)


def first_rows(facts: DataFacts, folder: Path) -> Iterator[str]:
    """Yield the first rows of a local file as text."""
    too_large = facts.format == "json" and facts.size_bytes > _LARGEST_JSON_BYTES
    if facts.origin != "file" or too_large:
        return
    file = TableFile(
        path=at(facts.source, folder=folder),
        format=facts.format,
        size_bytes=facts.size_bytes,
        sha256=facts.sha256,
        encoding=facts.encoding,
        delimiter=facts.delimiter,
    )
    try:
        yield from (_text(row) for row in islice(read_table(file).rows, _ROWS) if row is not None)
    except (OSError, UnreadableError, ImportError):
        return


def _text(row: Mapping[str, Any]) -> str:
    cells = (value if isinstance(value, str) else _json(value) for value in row.values())
    return " | ".join(" ".join(cell.split()) for cell in cells)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str) -> str:
    """Return the text without control characters, cut to one line of a narrow screen."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain if len(plain) <= _WIDTH else plain[: _WIDTH - 3] + "..."


def _model(facts: ModelFacts, voice: Voice) -> str:
    return voice.say(
        "look.model_gated" if facts.gated else "look.model",
        id=facts.id,
        size=round(facts.parameters / _BILLION, 2),
        licence=facts.licence or voice.say("look.no_licence"),
        context=facts.context_tokens,
    )


def _machine(facts: HardwareFacts, voice: Voice) -> str:
    if facts.kind == "cpu":
        return voice.say("look.cpu")
    memory = voice.size(facts.memory_bytes)
    return voice.say("look.hardware", count=facts.count, gpu=facts.name, memory=memory)
