"""Labels of conversations of which more is learned than the last answer, or less than all of it."""

from ..read.reasoning import split
from .chat_records import Learn, Rendered, learn_last_answer
from .earlier_answers import find_learned
from .encoding import NOT_LEARNED, Chats, Message, Tokens, count_shared

BATCH_ROWS = 16  # beginnings of conversations in a call of the tokenizer


def learn_everything(given: Rendered) -> list[Tokens]:
    """Return the labels of conversations of which every token is learned."""
    return [list(ids) for ids in given.rows]


def learn_every_answer(given: Rendered) -> list[Tokens]:
    """Return the labels of conversations of which every answer is learned."""
    labels = learn_last_answer(given)
    chats, rows = given.chats, given.rows
    earlier = [(chat, turn) for chat, turn in _list_answers(chats) if turn + 1 < len(chats[chat])]
    for start in range(0, len(earlier), BATCH_ROWS):
        some = earlier[start : start + BATCH_ROWS]
        tools = None if given.tools is None else [given.tools[chat] for chat, _ in some]
        befores = given.encoder.render_prompts([chats[chat][:turn] for chat, turn in some], tools)
        uptos = given.encoder.render([chats[chat][: turn + 1] for chat, turn in some], tools)
        for (chat, _), before, upto in zip(some, befores, uptos, strict=True):
            if found := find_learned(rows[chat], before, upto):
                begin, end = found
                labels[chat][begin:end] = rows[chat][begin:end]
    return labels


def mask_reasoning(given: Rendered, *, learn: Learn) -> list[Tokens]:
    """Return the labels that `learn` returns, without what comes before the text of an answer.

    Another answer in its place shows where the text begins: the tokens before it are the same.
    """
    labels = learn(given)
    chats, rows = given.chats, given.rows
    places = _list_answers(chats)
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


def _list_answers(chats: Chats) -> list[tuple[int, int]]:
    """Return the places of all answers: the conversation's and the turn's."""
    return [
        (chat, turn)
        for chat, messages in enumerate(chats)
        for turn, message in enumerate(messages)
        if message["role"] == "assistant"
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
