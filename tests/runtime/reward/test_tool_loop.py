"""Calls of tools in an answer: executed, and their results read, as TRL does it in training."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from transformers import AutoTokenizer

from ftc.runtime.reward import tool_loop
from ftc.runtime.reward.offered_tools import describe, read_tools
from tests.tiny_seeing import make_byte_tokenizer

utils = pytest.importorskip("trl.chat_template_utils")
SOURCE = '''
def track(number: str) -> str:
    """
    Say where a parcel is.

    Args:
        number: The number of the parcel.
    """
    if number == "0":
        raise KeyError("no parcel 0")
    return f"{number} is on the shelf"
'''
MOST = 4000  # tokens of an answer


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a tokenizer of bytes with a chat template that TRL knows."""
    folder: Path = tmp_path_factory.mktemp("tokenizer")
    make_byte_tokenizer(utils.qwen3_chat_template).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(name="tools", scope="module")
def _tools() -> list[Any]:
    module: Any = ModuleType("tools")
    exec(SOURCE, vars(module))  # noqa: S102 - the test's own text
    return read_tools(module)


def call(**arguments: Any) -> str:
    """Return a call of the tool as Qwen3 writes it."""
    made = {"name": arguments.pop("tool", "track"), "arguments": arguments}
    return f"<tool_call>\n{json.dumps(made)}\n</tool_call><|im_end|>"


class Script:
    """A model that writes given texts one after the other, whatever it reads."""

    def __init__(self, tokenizer: Any, *texts: str) -> None:
        self.tokenizer, self.texts = tokenizer, list(texts)
        self.read: list[str] = []

    def __call__(self, prompts: Sequence[list[int]]) -> list[list[int]]:
        """Return the next texts."""
        self.read += [self.tokenizer.decode(ids) for ids in prompts]
        texts = [self.texts.pop(0) for _ in prompts]
        return [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]


def converse(
    tokenizer: Any, tools: list[Any], script: Script, most: int = MOST, prompts: int = 1
) -> Any:
    """Return the messages of the answers to a few prompts."""
    asked = [{"role": "user", "content": "where is parcel 7?"}]
    ids = tokenizer.apply_chat_template(
        asked, tools=describe(tools), add_generation_prompt=True, return_dict=False
    )
    given: dict[str, Any] = {"tools": tools, "rounds": 2}
    return tool_loop.exchange(tokenizer, [list(ids)] * prompts, script, most, **given)


def contents(chat: Any) -> list[tuple[str, str]]:
    """Return the role and the text of each message."""
    return [(message["role"], message["content"].strip()) for message in chat]


def test_a_result_is_read_before_the_answer_goes_on(tokenizer: Any, tools: list[Any]) -> None:
    """The text after the last call is the answer."""
    script = Script(tokenizer, call(number="7"), "On the shelf.<|im_end|>")
    (chat,) = converse(tokenizer, tools, script)

    assert [role for role, _ in contents(chat)] == ["assistant", "tool", "assistant"]
    assert chat[1]["content"] == "7 is on the shelf"
    assert "7 is on the shelf" in script.read[1]
    assert tool_loop.read_texts([chat])[0].startswith("On the shelf.")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (call(number="0"), "no parcel 0"),
        (call(tool="lose", number="7"), "Tool lose not found."),
        (call(parcel="7"), "unexpected keyword argument"),
    ],
)
def test_a_call_that_fails_is_told_to_the_model(
    tokenizer: Any, tools: list[Any], made: str, said: str
) -> None:
    """As the result of the call."""
    (chat,) = converse(tokenizer, tools, Script(tokenizer, made, "Sorry.<|im_end|>"))

    assert said in chat[1]["content"]
    assert chat[2]["role"] == "assistant"


def test_calls_end_after_the_rounds(tokenizer: Any, tools: list[Any]) -> None:
    """The last call is not executed, and its text is no answer."""
    script = Script(tokenizer, *[call(number=str(n)) for n in (1, 2, 3)])
    (chat,) = converse(tokenizer, tools, script)

    assert [role for role, _ in contents(chat)] == [*("assistant", "tool") * 2, "assistant"]
    assert script.texts == []


def test_a_result_that_does_not_fit_is_left_out(tokenizer: Any, tools: list[Any]) -> None:
    """The answer ends with its call, as in training."""
    made = call(number="7")
    size = len(tokenizer(made, add_special_tokens=False)["input_ids"])
    (chat,) = converse(tokenizer, tools, Script(tokenizer, made), most=size + 5)

    assert [role for role, _ in contents(chat)] == ["assistant"]


def test_rows_are_answered_side_by_side(tokenizer: Any, tools: list[Any]) -> None:
    """Only those that called a tool go on."""
    script = Script(tokenizer, "No.<|im_end|>", call(number="8"), "There.<|im_end|>")
    first, second = converse(tokenizer, tools, script, prompts=2)

    assert [role for role, _ in contents(first)] == ["assistant"]
    assert contents(second)[1] == ("tool", "8 is on the shelf")
    assert len(script.read) == 3


def test_rewards_get_texts_and_all_messages() -> None:
    """And keep their names, by which TRL logs them."""

    def brief(completions: list[str], conversations: Any, **_: Any) -> list[float]:
        return [float(len(text) + len(chat)) for text, chat in zip(completions, conversations)]  # noqa: B905

    (reward,) = tool_loop.give_texts([brief])
    chats = [[{"role": "assistant", "content": "ab"}], [{"role": "tool", "content": "abc"}]]

    assert reward.__name__ == "brief"
    assert reward(completions=chats, prompts=[]) == [3.0, 1.0]
