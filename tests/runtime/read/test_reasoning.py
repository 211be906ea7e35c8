"""Reasoning before answers: read, keyed, stripped and masked; and options as a template's own."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.resolve.chat_template.rendering import ChatTemplate, compile_chat_template
from ftc.runtime.read.chat_rows import read_chat
from ftc.runtime.read.reasoning import has_reasoning, split
from ftc.runtime.read.rows import Turns
from ftc.runtime.read.tool_rows import read_calling_chat, to_messages
from ftc.runtime.tokens.chat_labels import (
    learn_every_answer,
    learn_everything,
    mask_reasoning,
    vary_answer,
)
from ftc.runtime.tokens.chat_records import Learn, learn_last_answer, make_chats
from ftc.runtime.tokens.encoding import NOT_LEARNED, Encoder
from ftc.runtime.tokens.reasoned_chats import key_messages, place_reasoning, strip
from ftc.runtime.tokens.template_options import set_defaults, set_defaults_in, write

MASKED: Final = partial(mask_reasoning, learn=learn_every_answer)
SAID: Final = "<think>\nTwo and two.\n</think>\n\nIt is 4."
QUESTION: Final = {"role": "user", "content": "How much is it?"}
CALL: Final = {"function": {"name": "add", "arguments": {"a": 2, "b": 2}}}
#: Writes reasoning from its key, also before calls, and not before earlier answers.
KEYED: Final = (
    "{% for m in messages %}[{{ m.role }}]"
    "{% if m.reasoning_content and loop.last %}<r>{{ m.reasoning_content }}</r>{% endif %}"
    "{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}"
    "{% if m.role == 'assistant' %}$"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
#: Prints texts as they are.
INLINE: Final = KEYED.replace("m.reasoning_content", "m.nothing")


class Letters:
    """A tokenizer with a token for each letter, and a chat template."""

    is_fast = False
    eos_token_id = ord("$")

    def __init__(self, template: str) -> None:
        """Compile the template."""
        self.template: ChatTemplate = compile_chat_template(template, {})

    def __call__(self, texts: Sequence[str], **_: Any) -> dict[str, list[list[int]]]:
        """Encode texts."""
        return {"input_ids": [list(map(ord, text)) for text in texts]}

    def decode(self, ids: Sequence[int], **_: Any) -> str:
        """Return the text of tokens."""
        return "".join(map(chr, ids))

    def apply_chat_template(self, chats: Any, tools: Any = None, **options: Any) -> Any:
        """Render one conversation or several."""
        ask = bool(options.get("add_generation_prompt"))
        if not chats or isinstance(chats[0], list):
            return [self.template.render(chat, add_generation_prompt=ask) for chat in chats]
        return self.template.render(chats, add_generation_prompt=ask, tools=tools)


def learn(template: str, turns: Turns, how: Learn = learn_every_answer, **options: Any) -> str:
    """Return the row of a conversation, with brackets around what is learned of it."""
    tokenizer = Letters(template)
    (record,) = make_chats(
        [turns],
        encoder=Encoder(tokenizer=tokenizer, place_reasoning=place_reasoning),
        learn=how,
        **options,
    )
    text, inside = "", False
    for token, label in zip(record["input_ids"], record["labels"], strict=True):
        if (label != NOT_LEARNED) != inside:
            text, inside = text + ("}" if inside else "{"), not inside
        text += chr(token)
    return text + "}" * inside


@pytest.mark.parametrize("key", ["reasoning_content", "thinking", "reasoning"])
def test_keys_of_messages_are_read(key: str) -> None:
    """All names that data have, also beside calls; a blank key is none, a user's is not read."""
    answer = {"role": "assistant", "content": "It is 4.", key: "Two and two. "}
    asked = {**QUESTION, key: "a secret"}

    assert read_chat({"m": [asked, answer]}, messages="m") == (
        ("user", "How much is it?"),
        ("assistant", SAID),
    )
    blank = read_chat({"m": [asked, {**answer, key: " "}]}, messages="m")
    assert blank == (("user", "How much is it?"), ("assistant", "It is 4."))
    called = {"role": "assistant", "content": None, key: "Two and two.", "tool_calls": [CALL]}
    turns = read_calling_chat({"m": [asked, called]}, messages="m")
    assert not isinstance(turns, str)
    assert [role for role, _ in turns] == ["user", "assistant", "calls"]
    assert has_reasoning(turns)
    messages, _ = to_messages(turns)
    (_, keyed) = key_messages(messages)
    assert (keyed["content"], keyed["thinking"]) == ("", "Two and two.")
    assert [role for role, _ in strip(turns)] == ["user", "calls"]


def test_texts_are_split() -> None:
    """With and without the opening tag; empty reasoning is none, and text without tags is whole."""
    assert split(SAID) == ("Two and two.", "It is 4.")
    assert split("Two and two.</think>It is 4.") == ("Two and two.", "It is 4.")
    assert split("<think>\n\n</think>\n\nIt is 4.") == ("", "It is 4.")
    assert split("It is <think> 4.") == ("", "It is <think> 4.")
    assert not has_reasoning((("user", SAID), ("assistant", "<think></think>4")))
    assert strip((("user", SAID), ("assistant", SAID))) == (
        ("user", SAID),
        ("assistant", "It is 4."),
    )


def test_another_answer_keeps_what_is_before_it() -> None:
    """Its first letter differs, whatever the answer begins with."""
    said = {"role": "assistant", "content": SAID, "tool_calls": [CALL]}
    assert vary_answer(said) == {"role": "assistant", "content": SAID.replace("It is 4.", "0")}
    empty = {"role": "assistant", "content": "<think>\n\n</think>\n\n0 or 1"}
    assert vary_answer(empty)["content"] == "<think>\n\n</think>\n\n1"


@pytest.mark.parametrize(
    ("template", "reasoning"),
    [(KEYED, "<r>Two and two.</r>"), (INLINE, "<think>\nTwo and two.\n</think>\n\n")],
)
def test_reasoning_is_learned_or_masked(template: str, reasoning: str) -> None:
    """By templates that read a key, and by those that print texts."""
    turns = (("user", "a?"), ("assistant", SAID))

    assert learn(template, turns) == f"[user]a?[assistant]{{{reasoning}It is 4.$}}"
    masked = f"[user]a?[assistant]{reasoning}{{It is 4.$}}"
    assert learn(template, turns, MASKED) == masked
    assert learn(template, turns, partial(mask_reasoning, learn=learn_last_answer)) == masked
    whole = learn(template, turns, partial(mask_reasoning, learn=learn_everything))
    assert whole == f"{{[user]a?[assistant]}}{reasoning}{{It is 4.$}}"


def test_earlier_answers_and_calls_are_masked() -> None:
    """An earlier answer that keeps its reasoning is learned without it, and so is a call."""
    turns = (("user", "a?"), ("assistant", SAID), ("user", "b?"), ("assistant", "0."))
    reasoning = SAID.removesuffix("It is 4.")
    assert learn(INLINE, turns, MASKED) == (
        f"[user]a?[assistant]{reasoning}{{It is 4.$}}[user]b?[assistant]{{0.$}}"
    )
    # an earlier answer that loses it is not what the model would write
    assert learn(KEYED, turns) == "[user]a?[assistant]It is 4.$[user]b?[assistant]{0.$}"
    called = (("user", "a?"), ("assistant", reasoning.strip()), ("calls", json.dumps([CALL])))
    learned = learn(KEYED, called, MASKED, to_messages=to_messages)
    assert learned == f"[user]a?[assistant]<r>Two and two.</r>{{{json.dumps([CALL])}$}}"


def test_the_right_answer_has_no_reasoning() -> None:
    """Metrics compare answers alone."""
    encoder = Encoder(tokenizer=Letters(KEYED), place_reasoning=place_reasoning)
    (record,) = make_chats(
        [(("user", "a?"), ("assistant", SAID))], encoder=encoder, learn=learn_last_answer
    )
    assert record["answer"] == "It is 4."
    assert record["messages"][1]["reasoning_content"] == "Two and two."


@pytest.mark.parametrize(
    "value", [True, False, 3, -0.5, 1e30, "low", "a\"b'\\ \n\t{{ %} é \U0001f600 \u2028", ""]
)
def test_options_are_defaults_of_the_template(value: Any) -> None:
    """Whatever they hold, they are what a variable would be, which still takes their place."""
    source = "\n  {% if v is defined %}\n{{ v | tojson }}|{{ v }}|{{ v is string }}\n{% endif %}x\n"
    given = compile_chat_template(source, {"v": value}).render([])

    assert compile_chat_template(set_defaults(source, {"v": value}), {}).render([]) == given
    other = compile_chat_template(set_defaults(source, {"v": value}), {"v": 7})
    assert other.render([]) == compile_chat_template(source, {"v": 7}).render([])
    assert write(value) in set_defaults(source, {"v": value})


def test_the_template_of_a_folder_gets_the_options(tmp_path: Path) -> None:
    """From its own file, or from the tokenizer's settings, which may list several."""
    wanted = set_defaults("{{ v }}", {"v": 1})
    listed = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "{{ v }}"}]
    for place, written in enumerate(("{{ v }}", listed)):
        folder = tmp_path / str(place)
        folder.mkdir()
        settings = folder / "tokenizer_config.json"
        settings.write_text(json.dumps({"chat_template": written}), encoding="utf-8")
        set_defaults_in(folder, {"v": 1})
        assert (folder / "chat_template.jinja").read_text(encoding="utf-8") == wanted
    (folder / "chat_template.jinja").write_text("{{ w }}", encoding="utf-8")
    set_defaults_in(folder, {"v": 1})
    assert (folder / "chat_template.jinja").read_text(encoding="utf-8").endswith("\n{{ w }}")
