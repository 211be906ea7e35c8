"""Labels of conversations in which more than the last answer is learned, or less than all of it."""

from collections.abc import Iterator, Sequence

from ..read.reasoning import split
from .chat_records import Learn, Rendered, learn_last_answer
from .earlier_answers import find_learned, find_varied
from .encoding import NOT_LEARNED, Message, Tokens, count_shared

Place = tuple[int, int]  # of an answer: the conversation's and the message's
BATCH_ROWS = 16  # beginnings of conversations in a call of the tokenizer


def learn_everything(given: Rendered) -> list[Tokens]:
    """Return the labels of conversations in which every token is learned.

    Answers that rows exclude are not learned, even if the template writes them differently once
    turns follow them.
    """
    labels = [list(ids) for ids in given.rows]
    chats, rows = given.chats, given.rows
    for places, befores, uptos in _render_answers(given, sorted(given.unlearned)):
        varied = [
            [*chats[chat][:turn], vary_answer(chats[chat][turn]), *chats[chat][turn + 1 :]]
            for chat, turn in places
        ]
        tools = None if given.tools is None else [given.tools[chat] for chat, _ in places]
        others = given.encoder.render(varied, tools)
        for (chat, _), before, upto, other in zip(places, befores, uptos, others, strict=True):
            found = find_learned(rows[chat], before, upto) or find_varied(rows[chat], other)
            begin, end = found
            labels[chat][begin:end] = [NOT_LEARNED] * max(0, end - begin)
    return labels


def learn_every_answer(given: Rendered) -> list[Tokens]:
    """Return the labels of conversations in which every answer is learned."""
    labels = learn_last_answer(given)
    chats, rows = given.chats, given.rows
    earlier = [(chat, turn) for chat, turn in _list_answers(given) if turn + 1 < len(chats[chat])]
    for places, befores, uptos in _render_answers(given, earlier):
        for (chat, _), before, upto in zip(places, befores, uptos, strict=True):
            if found := find_learned(rows[chat], before, upto):
                begin, end = found
                labels[chat][begin:end] = rows[chat][begin:end]
    return labels


def mask_reasoning(given: Rendered, *, learn: Learn) -> list[Tokens]:
    """Return the labels that `learn` returns, without what comes before the text of an answer.

    Rendering another answer shows where the text begins: the tokens before it are the same.
    """
    labels = learn(given)
    chats, rows = given.chats, given.rows
    places = _list_answers(given)
    if learn is learn_last_answer:
        places = [(chat, turn) for chat, turn in places if turn + 1 == len(chats[chat])]
    for start in range(0, len(places), BATCH_ROWS):
        some = places[start : start + BATCH_ROWS]
        tools = None if given.tools is None else [given.tools[chat] for chat, _ in some]
        befores = given.encoder.render_prompts([chats[chat][:turn] for chat, turn in some], tools)
        varied = [[*chats[chat][:turn], vary_answer(chats[chat][turn])] for chat, turn in some]
        for (chat, _), before, other in zip(
            some, befores, given.encoder.render(varied, tools), strict=True
        ):
            begin, end = (count_shared(rows[chat], beginning) for beginning in (before, other))
            labels[chat][begin:end] = [NOT_LEARNED] * max(0, end - begin)
    return labels


def _render_answers(
    given: Rendered, answers: Sequence[Place]
) -> Iterator[tuple[Sequence[Place], list[Tokens], list[Tokens]]]:
    """Yield answers in batches, with the tokens before each of them and those up to its end."""
    chats = given.chats
    for start in range(0, len(answers), BATCH_ROWS):
        some = answers[start : start + BATCH_ROWS]
        tools = None if given.tools is None else [given.tools[chat] for chat, _ in some]
        befores = given.encoder.render_prompts([chats[chat][:turn] for chat, turn in some], tools)
        uptos = given.encoder.render([chats[chat][: turn + 1] for chat, turn in some], tools)
        yield some, befores, uptos


def _list_answers(given: Rendered) -> list[Place]:
    """Return the places of the answers that rows do not exclude."""
    return [
        (chat, turn)
        for chat, messages in enumerate(given.chats)
        for turn, message in enumerate(messages)
        if message["role"] == "assistant" and (chat, turn) not in given.unlearned
    ]


def vary_answer(message: Message) -> Message:
    """Return a message with the same reasoning and another answer, whose first letter differs.

    The tokens that both have in common are those before the answer.
    """
    content = message["content"]
    if isinstance(content, list):  # parts, as chat templates of image-text models read them
        *before, last = content
        varied = vary_answer({**message, "content": last["text"]})
        return {**varied, "content": [*before, {**last, "text": varied["content"]}]}
    answer = split(content)[1]
    other = "1" if answer.startswith("0") else "0"
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**kept, "content": content.removesuffix(answer) + other}
