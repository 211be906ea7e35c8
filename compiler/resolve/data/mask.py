"""The mask of learned and only read tokens in a row, as `prepare.py` makes it.

An answer is learned with what closes it. Its place is found by rendering the beginnings of the
conversation, since a chat template is free to write what it likes around a text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import count, groupby, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ftc.compiler.resolve.chat_template.rendering import ChatTemplateError, Message
from ftc.compiler.resolve.data.files import find_data_files
from ftc.compiler.resolve.data.images import open_rows, see_again, write_images
from ftc.compiler.resolve.facts import DataFacts, TokenizerFacts
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example, read_example
from ftc.compiler.resolve.rows.roles import Roles, make_reader
from ftc.compiler.resolve.rows.table import TableFile, inspect_file
from ftc.compiler.resolve.tokenizer.facts import reload_tokenizer
from ftc.runtime.read.image_rows import without_images
from ftc.runtime.read.reasoning import has_reasoning
from ftc.runtime.read.rows import Turns, Unlearned, add_system
from ftc.runtime.read.tool_rows import to_messages
from ftc.runtime.tokens.chat_labels import vary_answer
from ftc.runtime.tokens.earlier_answers import find_learned, find_varied
from ftc.runtime.tokens.encoding import count_shared
from ftc.runtime.tokens.plain_records import join_prompt
from ftc.runtime.vision.image_tokens import Rule
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Spec
from ftc.spec.sources import list_sources

if TYPE_CHECKING:  # slow to import, needed only where a tokenizer is there
    from tokenizers import Encoding

Flags = list[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedRow:
    """A row by number, counted from 1: its tokens, the learned ones, and its text in pieces.

    `pieces` are (text, whether it is learned); a piece may break inside of a letter's bytes.
    `reasons`: an answer has reasoning before it.
    """

    number: int
    tokens: int
    learned: int
    pieces: tuple[tuple[str, bool], ...]
    reasons: bool


def mask_rows(
    spec: Spec,
    *,
    folder: Path,
    tokenizer: TokenizerFacts,
    data: DataFacts,
    rows: int,
    rule: Rule | None = None,
) -> tuple[MaskedRow, ...] | None:
    """Return the first usable rows; None without a file of the tokenizer.

    Images have the tokens that their `rule` gives them.
    """
    loaded = reload_tokenizer(spec, tokenizer, folder=folder)
    if loaded is None:
        return None
    loaded = replace(loaded, reads_parts=rule is not None)
    system = None if tokenizer.accepts_system is False else spec.data.system
    masked = (
        _mask(number, example, loaded, spec=spec, system=system, facts=tokenizer, rule=rule)
        for number, example in read_examples(spec, folder, data)
    )
    return tuple(islice((row for row in masked if row is not None), rows))


def read_examples(spec: Spec, folder: Path, data: DataFacts) -> Iterator[tuple[int, Example]]:
    """Yield the rows that are not empty, numbered, in the order of the files."""
    numbers = count(1)
    for source, part in zip(list_sources(spec.data), data.sources or (data,), strict=True):
        found = find_data_files(spec, source, folder=folder)
        if isinstance(found, Finding):
            return
        files = (inspect_file(path, found.format) for path in found.paths)
        whole = [file for file in files if isinstance(file, TableFile)]
        roles = Roles(**{field.name: getattr(part, field.name) for field in fields(Roles)})
        seeing = see_again(spec, part, folder=found.paths[0].parent)
        read = make_reader(roles) if seeing is None else seeing.reader(roles)
        for row in open_rows(whole, roles, seeing=seeing):
            number = next(numbers)
            example = read_example(
                row,
                read,
                repair=spec.data.cleaning.repair_encoding,
                strip_reasoning=spec.data.reasoning == "strip",
            )
            if isinstance(example, Example):
                yield number, example


def _mask(
    number: int,
    example: Example,
    tokenizer: LoadedTokenizer,
    *,
    spec: Spec,
    system: str | None,
    facts: TokenizerFacts,
    rule: Rule | None,
) -> MaskedRow | None:
    """Mask one example; None where the chat template refuses it."""
    turns = add_system(example.turns, system)
    messages, tools = tokenizer.read_turns(turns)
    answered = not example.is_prompt
    if turns[0][0] == "text":
        pieces = _mask_text(turns[0][1], tokenizer)
    elif not answered:
        try:
            pieces = [_read_prompt(turns, tokenizer)]
        except ChatTemplateError:
            return None
    elif tokenizer.template is None:
        pieces = _mask_plain([text for _, text in turns], tokenizer)
    else:
        render = partial(tokenizer.template.render, tools=tools)
        if rule is not None:
            render = partial(_render_images, render, rule, example)
        last = spec.objective.loss_on == "last_turn" or len(example.turns) == 2  # noqa: PLR2004
        try:
            pieces = _mask_rendered(
                messages,
                tokenizer,
                render,
                learn="all" if spec.objective.loss_on == "all" else "last" if last else "answers",
                mask_reasoning=spec.data.reasoning == "mask",
                unlearned=_find_unlearned(turns),
            )
        except ChatTemplateError:
            return None
        if facts.closes_answer is False:
            pieces.append((tokenizer.eos, 1, True))
    whole = spec.objective.loss_on == "all" and spec.data.reasoning != "mask"
    if answered and whole and not _find_unlearned(turns):
        pieces = [(text, tokens, True) for text, tokens, _ in pieces]
    return MaskedRow(
        number=number,
        reasons=has_reasoning(turns),
        tokens=sum(tokens for _, tokens, _ in pieces),
        learned=sum(tokens for _, tokens, learned in pieces if learned),
        pieces=tuple(
            (_shorten("".join(text for text, _, _ in run), rule), learned)
            for learned, run in groupby(pieces, key=lambda piece: piece[2])
        ),
    )


Piece = tuple[str, int, bool]


def _render_images(
    render: Callable[..., str], rule: Rule, example: Example, messages: Any, **options: Any
) -> str:
    return write_images(rule, example, render(messages, **options))


def _shorten(text: str, rule: Rule | None) -> str:
    """Return a text with one image token for each run of them."""
    if rule is None:
        return text
    token = re.escape(rule.token)
    return re.sub(f"(?:{token}){{2,}}", lambda _: rule.token, text)


def _mask_text(text: str, tokenizer: LoadedTokenizer) -> list[Piece]:
    """Return plain text, all of it learned, and the eos that closes it."""
    (encoding,) = tokenizer.encode([text], special=True)
    tokens = len(encoding) + (not tokenizer.is_closed(encoding))
    return [(_opening(encoding) + text + tokenizer.eos, tokens, True)]


def _mask_plain(texts: Sequence[str], tokenizer: LoadedTokenizer) -> list[Piece]:
    """Return the lines of the prompt, then the answer, then eos: what no template writes."""
    prompt = join_prompt(texts[:-1])
    (asked,) = tokenizer.encode([prompt], special=True)
    (answer,) = tokenizer.encode([texts[-1]], special=False)
    read = len(asked) - tokenizer.is_closed(asked)
    return [
        (_opening(asked) + prompt, read, False),
        (texts[-1] + tokenizer.eos, len(answer) + 1, True),
    ]


def _read_prompt(turns: Turns, tokenizer: LoadedTokenizer) -> Piece:
    """Return a prompt alone up to where the model's answer begins; raises ChatTemplateError."""
    if tokenizer.template is None:
        prompt = join_prompt([text for _, text in turns])
        (encoding,) = tokenizer.encode([prompt], special=True)
        return _opening(encoding) + prompt, len(encoding) - tokenizer.is_closed(encoding), False
    messages, tools = tokenizer.read_turns(turns)
    prompt = tokenizer.template.render(messages, add_generation_prompt=True, tools=tools)
    (encoding,) = tokenizer.encode([prompt], special=False)
    return prompt, len(encoding), False


def _mask_rendered(
    messages: Sequence[Message],
    tokenizer: LoadedTokenizer,
    render: Callable[..., str],
    *,
    learn: Literal["all", "last", "answers"],
    mask_reasoning: bool,
    unlearned: AbstractSet[int],
) -> list[Piece]:
    """Return a rendered conversation by runs of learned tokens; raises ChatTemplateError.

    An answer that the template writes otherwise once turns follow it is only read: these are not
    the tokens that the model would write. With `mask_reasoning` whatever comes before the text of
    an answer is only read.
    """
    text = render(messages).rstrip()
    (encoding,) = tokenizer.encode([text], special=False)
    ids, flags = encoding.ids, [learn == "all"] * len(encoding)
    for place, message in enumerate(messages):
        is_last = place + 1 == len(messages)
        excluded = place in unlearned
        if message["role"] != "assistant" or (learn == "last" and not is_last):
            continue
        if excluded and learn != "all":
            continue
        asked = render(messages[:place], add_generation_prompt=True)
        said = text if is_last else render(messages[: place + 1]).rstrip()
        before, upto = (list(e.ids) for e in tokenizer.encode([asked, said], special=False))
        found = find_learned(ids, before, upto)
        if excluded and found is None:
            vary = [*messages[:place], vary_answer(dict(message)), *messages[place + 1 :]]
            (unlike,) = tokenizer.encode([render(vary).rstrip()], special=False)
            found = find_varied(ids, unlike.ids)
        if found is not None:
            begin, end = found
            flags[begin:end] = [not excluded] * (end - begin)
        if mask_reasoning:
            other = render([*messages[:place], vary_answer(dict(message))]).rstrip()
            (varied,) = tokenizer.encode([other], special=False)
            begin, end = count_shared(ids, before), count_shared(ids, varied.ids)
            flags[begin:end] = [False] * max(0, end - begin)
    return list(_cut(text, encoding, flags))


def _find_unlearned(turns: Turns) -> AbstractSet[int]:
    """Return the places of the messages that the row excludes from training."""
    messages, _ = to_messages(without_images(turns))
    return {at for at, each in enumerate(messages) if isinstance(each["role"], Unlearned)}


def _cut(text: str, encoding: "Encoding", flags: Flags) -> Iterator[Piece]:
    """Cut a text where its tokens begin or cease to be learned."""
    edges = [0, *(i for i in range(1, len(flags)) if flags[i] != flags[i - 1]), len(flags)]
    starts = [0, *(encoding.offsets[edge][0] for edge in edges[1:-1]), len(text)]
    for run, (begin, end) in enumerate(pairwise(edges)):
        yield text[starts[run] : starts[run + 1]], end - begin, flags[begin]


def _opening(encoding: "Encoding") -> str:
    """Return the special token that the tokenizer puts before a text, if any."""
    return encoding.tokens[0] if encoding.special_tokens_mask[:1] == [1] else ""
