"""Calls of tools: every shape of the field becomes one, and broken ones none."""

import json
from typing import Any, Final

import pytest

from ftc.runtime.read.chat_rows import find_disorder, read_chat
from ftc.runtime.read.rows import add_system, clean_turns
from ftc.runtime.read.tool_rows import (
    read_calling_chat,
    read_calling_messages,
    read_tools,
    to_messages,
)

TOOL: Final = {"type": "function", "function": {"name": "track", "parameters": {}}}
CALL: Final = {"name": "track", "arguments": {"parcel": "7"}}
WHOLE: Final = {"type": "function", "function": CALL}
ASKED: Final = {"role": "user", "content": "where is it?"}
FOUND: Final = {"role": "tool", "content": "depot"}
CALLED: Final = ("calls", json.dumps([WHOLE]))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [WHOLE]},
        {"role": "assistant", "content": " ", "tool_calls": [{"function": CALL}]},
        {
            "role": "assistant",
            "tool_calls": [{"function": CALL | {"arguments": '{"parcel": "7"}'}}],
        },
        {"from": "function_call", "value": json.dumps(CALL)},
        {"from": "function_call", "value": json.dumps([CALL])},
        {"role": "tool_call", "content": json.dumps(CALL | {"arguments": '{"parcel": "7"}'})},
        {
            "role": "assistant",
            "content": None,
            "function_call": CALL | {"arguments": '{"parcel": "7"}'},
        },
    ],
)
def test_every_shape_is_one_call(message: dict[str, Any]) -> None:
    """OpenAI's old and new, with arguments as an object or as its JSON, and ShareGPT's."""
    turns = read_calling_messages([ASKED, message, FOUND])

    assert turns == (("user", "where is it?"), CALLED, ("tool", "depot"))


@pytest.mark.parametrize(
    "message",
    [
        {"from": "function_call", "value": "{broken"},
        {"from": "function_call", "value": "7"},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": {}}}]},
        {"role": "assistant", "tool_calls": [{"function": CALL | {"arguments": "[1]"}}]},
        {"role": "assistant", "tool_calls": "track"},
        {"role": "assistant", "content": 7, "tool_calls": [WHOLE]},
        {"role": "assistant", "content": None, "function_call": {"arguments": "{}"}},
    ],
)
def test_broken_calls_are_none(message: dict[str, Any]) -> None:
    """Without a name or an object of arguments nothing is called."""
    assert read_calling_messages([ASKED, message]) == "bad_call"


@pytest.mark.parametrize("cell", [[TOOL["function"]], [TOOL], json.dumps([TOOL]), str([TOOL])])
def test_every_shape_is_one_list_of_tools(cell: object) -> None:
    """Functions alone, tools, and both as JSON or as Python prints them."""
    assert read_tools(cell) == (("tools", json.dumps([TOOL])),)


#: A cell as `str` of a list, and of an array of NumPy, which has a line break for a comma.
_TALK: Final = [
    {"role": "user", "content": "where's it?"},
    {"role": "assistant", "content": "here }\n {"},
]
PRINTED: Final = (str(_TALK), str(_TALK).replace("}, {", "}\n {"))


@pytest.mark.parametrize("cell", PRINTED)
def test_a_conversation_as_python_prints_it(cell: str) -> None:
    """A table of pandas holds it; a text keeps its braces and line breaks."""
    assert read_calling_messages(cell) == (("user", "where's it?"), ("assistant", "here }\n {"))


@pytest.mark.parametrize("cell", ["[open('x')]", "[1", "[" * 5_000, "['a' * 2]"])
def test_nothing_is_run_of_what_python_printed(cell: str) -> None:
    """Only literals are read, and no depth ends the reader."""
    assert read_calling_messages(cell) == "no_list"


def test_what_is_said_beside_a_call_is_one_message() -> None:
    """A text and its calls are two turns, and one message again; answers get their calls' names."""
    message = {"role": "assistant", "content": "let me look", "tool_calls": [WHOLE | {"id": "a1"}]}
    turns = read_calling_messages([ASKED, message, FOUND])
    assert not isinstance(turns, str)

    messages, tools = to_messages((*read_tools([TOOL]), *turns))

    assert tools == [TOOL]
    assert messages[1]["content"] == "let me look"
    assert messages[1]["tool_calls"] == [{"id": "a1", **WHOLE}]
    assert messages[2] == {**FOUND, "name": "track", "tool_call_id": "a1"}


#: Two calls whose results came in the other order, and one whose result names no call.
ANSWERED: Final = [
    ASKED,
    {"role": "assistant", "tool_calls": [WHOLE | {"id": "a"}, WHOLE | {"id": "b"}]},
    {"role": "tool", "tool_call_id": "b", "content": "of b"},
    {"role": "tool", "tool_call_id": "a", "content": "of a"},
    {"role": "assistant", "tool_calls": [WHOLE | {"id": "c"}, WHOLE | {"id": "d"}]},
    {"role": "tool", "content": "first"},
    {"role": "tool", "tool_call_id": "c", "content": "second"},
    {"role": "assistant", "content": "done"},
]
RESULTS: Final = ["of a", "of b", "first", "second"]


def test_results_belong_to_their_calls() -> None:
    """Results are taken in the order of the calls that they name; without names, as they come."""
    turns = read_calling_messages(ANSWERED)

    assert not isinstance(turns, str)
    assert [text for role, text in turns if role == "tool"] == RESULTS


def test_a_conversation_without_calls_is_read_alike() -> None:
    """Bundles whose data have no calls carry the plain reader."""
    plain = [ASKED, {"from": "gpt", "value": "there"}, ASKED, {"role": "assistant", "content": "b"}]
    broken = [ASKED, {"role": "assistant", "content": "hi", "tool_calls": [7]}]
    cells: list[Any] = [plain, json.dumps(plain), broken, [], None, "", "no", {}, [7], plain[:3]]
    for messages in cells:
        row = {"messages": messages}
        assert read_chat(row, messages="messages") == read_calling_chat(row, messages="messages")
    assert read_chat({"messages": broken}, messages="messages") == "bad_call"


def test_the_order_of_calls() -> None:
    """A call may end a conversation; the user cannot speak before it is answered."""
    asked = ("user", "where is it?")
    assert find_disorder([asked, CALLED]) is None
    assert find_disorder([asked, CALLED, ("tool", "depot"), ("assistant", "there")]) is None
    assert find_disorder([asked, CALLED, asked]) == "order"


def test_tools_as_text_or_list() -> None:
    """A list, its JSON, nothing, or something broken."""
    turn = (("tools", json.dumps([TOOL])),)
    assert read_tools([TOOL]) == read_tools(json.dumps([TOOL])) == turn
    assert read_tools(None) == read_tools("") == read_tools([]) == ()
    assert read_tools("{broken") == read_tools("7") == read_tools(["track"]) == "no_tools"


def test_the_system_message_stands_behind_the_tools() -> None:
    """A conversation that has one keeps it."""
    tools, asked = ("tools", "[]"), ("user", "hi")
    assert add_system([tools, asked], "be brief") == (tools, ("system", "be brief"), asked)
    assert add_system([("system", "own"), asked], "be brief") == (("system", "own"), asked)


def test_a_result_and_a_system_message_may_be_blank() -> None:
    """A tool may return nothing, and many data sets have an empty system message in each row."""
    said = {"role": "assistant", "content": "Done."}
    chat = [{"role": "system", "content": " "}, ASKED, {"role": "assistant", "tool_calls": [WHOLE]}]
    turns = read_calling_chat({"chat": [*chat, FOUND | {"content": ""}, said]}, messages="chat")
    assert not isinstance(turns, str)
    cleaned = clean_turns(turns, repair=True)

    assert cleaned == (("user", ASKED["content"]), CALLED, ("tool", ""), ("assistant", "Done."))
    assert add_system(cleaned, "Be brief.")[0] == ("system", "Be brief.")
    assert clean_turns((("user", " "), ("assistant", "Done.")), repair=True) == "blank"


def test_keys_of_other_objects_are_null() -> None:
    """Programs that write a table as JSON give each object all keys; a null may be meant."""
    schema = {"type": "object", "properties": {"parcel": {"type": "string", "default": None}}}
    city = {"city": {"type": "string"}}
    other = {"type": "object", "properties": city}
    empty: dict[str, Any] = dict.fromkeys(("role", "content", "from", "value", "tool_calls"))
    filled = {"type": "object", "properties": {"parcel": None, **city}, "enum": None}
    row: dict[str, Any] = {
        "chat": [
            empty | {"from": "human", "value": "where is it?"},
            empty | {"role": "assistant", "tool_calls": [{"function": CALL}]},
            empty | {"role": "tool", "content": "depot"},
            empty | {"role": "assistant", "tool_calls": [{"function": {"name": "find"}}]},
        ],
        "tools": [
            {"type": "function", "function": {"name": "track", "parameters": schema}},
            {"type": "function", "function": {"name": "find", "parameters": filled}},
        ],
    }
    calls = row["chat"]
    calls[1]["tool_calls"][0]["function"] = CALL | {"arguments": {"parcel": None, "city": None}}
    calls[3]["tool_calls"][0]["function"]["arguments"] = {"parcel": None, "city": "Vic"}
    turns = read_calling_chat(row, messages="chat", tools="tools")

    assert not isinstance(turns, str)
    assert [role for role, _ in turns] == ["tools", "user", "calls", "tool", "calls"]
    tools = json.loads(turns[0][1])
    assert [tool["function"]["parameters"] for tool in tools] == [schema, other]
    given = [
        json.loads(text)[0]["function"]["arguments"] for role, text in turns if role == "calls"
    ]
    assert given == [{"parcel": None}, {"city": "Vic"}]
    names: tuple[Any, ...] = ({"name": []}, "track", None)
    odd = [{"type": "function", "function": each} for each in names]
    assert isinstance(
        read_calling_chat(row | {"tools": odd}, messages="chat", tools="tools"), tuple
    )
    alone = read_calling_chat({"chat": calls}, messages="chat")
    assert not isinstance(alone, str)
    assert json.loads(alone[1][1])[0]["function"]["arguments"] == {"parcel": None, "city": None}
