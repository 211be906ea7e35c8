"""Rows with images: every shape of the data becomes references and marks, and bad ones a fault."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import pytest

from ftc.runtime.read.chat_rows import read_chat
from ftc.runtime.read.compared_rows import read_pair
from ftc.runtime.read.image_rows import (
    MARK,
    StoredImage,
    list_images,
    read_with_images,
    replace_bytes,
    to_image_messages,
    without_images,
)
from ftc.runtime.read.message_cells import read_answer
from ftc.runtime.read.rows import add_system, clean_turns, prompt_key
from ftc.runtime.read.tool_rows import read_calling_chat

ANSWER: Final = partial(read_answer, prompt="question", completion="answer")
CHAT: Final = partial(read_calling_chat, messages="messages")
ASKED: Final = {"question": "what is it?", "answer": "a cat"}
SAID: Final = {"role": "assistant", "content": "a cat"}
TEXT: Final = {"type": "text", "text": "what is it?"}


def read(row: Mapping[str, Any], **more: Any) -> Any:
    """Read a row of questions and answers with its column of images."""
    return read_with_images(
        row, read=ANSWER, look=lambda r: {**r, "width": 9}, images="image", **more
    )


def chat(content: Any, *others: Any, **row: Any) -> Any:
    """Read a conversation that a user begins."""
    messages = [{"role": "user", "content": content}, SAID, *others]
    return read_with_images(
        {"messages": messages, **row},
        read=CHAT,
        look=dict,
        conversations=("messages",),
        images="image",
    )


@pytest.mark.parametrize(
    ("cell", "paths"),
    [
        ("a.png", ["a.png"]),
        (["a.png", "b.png"], ["a.png", "b.png"]),
        ('["a.png", "b.png"]', ["a.png", "b.png"]),
        ({"bytes": None, "path": "a.png"}, ["a.png"]),
        ([{"path": "a.png"}, {"image": "b.png"}], ["a.png", "b.png"]),
    ],
)
def test_images_of_a_column(cell: Any, paths: list[str]) -> None:
    """They come before the first user text, in their order, with what was seen of each."""
    turns = read({"image": cell, **ASKED})
    assert [image["path"] for image in list_images(turns)] == paths
    assert all(image["width"] == 9 for image in list_images(turns))
    assert turns[1:] == (("user", MARK * len(paths) + "what is it?"), ("assistant", "a cat"))


def test_a_row_without_images_is_read_as_before() -> None:
    """An empty cell, an empty list and a missing column give plain turns."""
    for row in (ASKED, {"image": None, **ASKED}, {"image": "", **ASKED}, {"image": [], **ASKED}):
        assert read(row) == ANSWER(row)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"image": 7}, "no_image"),
        ({"image": {"height": 7}}, "no_image"),
        ({"image": "[broken"}, "no_image"),
        ({"image": [["a.png"]]}, "no_image"),
        ({"image": "clip.MP4"}, "video"),
        ({"image": "https://a.example/clip.webm?start=2"}, "video"),
        ({"image": "one.flac"}, "audio"),
        ({"image": "a.png", "question": "<image> and <image>?"}, "image_count"),
        ({"image": ["a.png", "b.png"], "question": "<image>?"}, "image_count"),
        ({"question": "what does <|image_pad|> mean?"}, "placeholder"),
        ({"question": "", "image": "a.png"}, "blank"),
    ],
)
def test_what_cannot_be_used(row: dict[str, Any], fault: str) -> None:
    """The fault says why."""
    assert read({**ASKED, **row}, reserved=("<|image_pad|>",)) == fault


def test_written_marks_are_places() -> None:
    """LLaVA's data say where an image belongs; a mark of the data itself is no place."""
    row = {**ASKED, "question": f"in {MARK}<image>, what is it?", "image": "a.png"}
    assert read(row)[1] == ("user", f"in {MARK}, what is it?")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "image": "a.png"},
        {"type": "image", "path": "a.png", "image": None, "text": None},
        {"type": "image_url", "image_url": {"url": "a.png"}},
        {"type": "image", "url": "a.png"},
    ],
)
def test_parts_of_messages(part: dict[str, Any]) -> None:
    """Each part is a place; a part of text is text."""
    turns = chat([TEXT, part, {"type": "text", "text": " Really?"}])
    assert list_images(turns) == [{"path": "a.png"}]
    assert without_images(turns)[0] == ("user", f"what is it?{MARK} Really?")


def test_parts_without_a_reference_take_those_of_the_column() -> None:
    """In their order; a part too many or an image too many is a fault."""
    parts = [{"type": "image"}, TEXT, {"type": "image"}]
    assert [i["path"] for i in list_images(chat(parts, image=["a.png", "b.png"]))] == [
        "a.png",
        "b.png",
    ]
    assert chat(parts, image=["a.png"]) == "image_count"
    assert chat([TEXT, {"type": "image"}], image=["a.png", "b.png"]) == "image_count"


def test_what_a_conversation_cannot_hold() -> None:
    """No videos and no audio, and no images in an answer."""
    assert chat([TEXT, {"type": "video", "video": "a.mp4"}]) == "video"
    assert chat([TEXT, {"type": "audio_url", "audio_url": {"url": "a.wav"}}]) == "audio"
    later = {"role": "assistant", "content": [{"type": "image", "image": "a.png"}]}
    assert chat("what?", {"role": "user", "content": "show"}, later) == "image_role"
    assert chat([{"type": "sound"}]) == "no_turn"


def test_a_text_model_names_what_it_cannot_read() -> None:
    """Parts of text are joined, images and videos are faults of their own."""

    def of(content: Any) -> Any:
        row = {"messages": [{"role": "user", "content": content}, SAID]}
        return read_chat(row, messages="messages")

    assert of([TEXT, TEXT]) == (("user", "what is it?what is it?"), ("assistant", "a cat"))
    assert of([TEXT, {"type": "image", "image": "a.png"}]) == "image_part"
    assert of([TEXT, {"type": "video"}]) == "video"
    assert of([TEXT, {"type": "input_audio", "input_audio": {"data": "AAAA"}}]) == "audio"
    assert of([]) == "no_turn"


def test_the_turns_stay_what_others_expect() -> None:
    """Cleaning keeps odd paths, a system message follows the images, which tell rows apart."""
    odd = read({"image": "Ã©\ud800.png", **ASKED})
    cleaned = clean_turns(odd, repair=True)
    assert not isinstance(cleaned, str)
    assert list_images(cleaned)[0]["path"] == "Ã©\ud800.png"
    one, other = read({"image": "a.png", **ASKED}), read({"image": "b.png", **ASKED})
    assert [role for role, _ in add_system(one, "brief")] == [
        "images",
        "system",
        "user",
        "assistant",
    ]
    assert prompt_key(one) != prompt_key(other)


def test_messages_for_a_chat_template() -> None:
    """Every content is a list of parts, images where their marks are."""
    turns = (("images", "[]"), ("user", f"see {MARK}{MARK}!"), ("assistant", "yes"))
    messages, tools = to_image_messages(turns)
    image = {"type": "image"}
    assert tools is None
    assert messages == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see "},
                image,
                image,
                {"type": "text", "text": "!"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
    ]


def test_bytes_of_parquet_become_references() -> None:
    """A bare cell, a struct, a list and a part of a message; the bytes are found again."""
    row: dict[str, Any] = {
        "image": [{"bytes": b"one", "path": "x.png"}, {"bytes": b"two", "path": None}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "image": {"bytes": b"three", "path": None}, "text": None},
                    {"type": "text", "text": "what?", "image": None},
                ],
            },
            SAID,
        ],
        **ASKED,
    }
    columns = ("messages", "image")

    def refer(data: bytes) -> StoredImage:
        return StoredImage(stored=data.decode(), width=len(data))

    made = replace_bytes(row, columns=columns, refer=refer)
    turns = read(made)
    assert list_images(turns) == [{"stored": "one", "width": 3}, {"stored": "two", "width": 3}]
    talked = read_with_images(made, read=CHAT, look=dict, conversations=("messages",))
    assert json.loads(talked[0][1]) == [{"stored": "three", "width": 5}]
    broken = replace_bytes(row, columns=columns, refer=lambda _: StoredImage(fault="image_broken"))
    assert read(broken) == "image_broken"


PAIR: Final = partial(read_pair, chosen="chosen", rejected="rejected", prompt="prompt")
ANSWERS: Final = {"chosen": "a cat", "rejected": "a dog"}
SHOWN: Final = {"role": "user", "content": [{"type": "image", "image": "a.png"}, TEXT]}


def pair(**row: Any) -> Any:
    """Read a preference."""
    columns = ("prompt", "chosen", "rejected")
    return read_with_images(row, read=PAIR, look=dict, conversations=columns, images="images")


def talk(answer: str, *before: Any) -> list[Any]:
    """Return messages that end with an answer."""
    return [*before, {"role": "assistant", "content": [{"type": "text", "text": answer}]}]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "what is it?", **ANSWERS, "images": "a.png"},
        {"prompt": "<image>what is it?", **ANSWERS, "images": ["a.png"]},
        {"prompt": [SHOWN], **ANSWERS},
        {"prompt": [SHOWN], "chosen": talk("a cat"), "rejected": talk("a dog")},
        {"chosen": talk("a cat", SHOWN), "rejected": talk("a dog", SHOWN)},
        {"prompt": [SHOWN], "chosen": talk("a cat", SHOWN), "rejected": talk("a dog", SHOWN)},
        {
            "chosen": talk("a cat", {"role": "user", "content": [{"type": "image"}, TEXT]}),
            "rejected": talk("a dog", {"role": "user", "content": [{"type": "image"}, TEXT]}),
            "images": [{"path": "a.png"}],
        },
    ],
)
def test_images_of_a_preference(row: dict[str, Any]) -> None:
    """Every form of a pair becomes the same turns; a prompt that is repeated shows one image."""
    turns = pair(**row)
    assert list_images(turns) == [{"path": "a.png"}]
    assert turns[1:] == (
        ("user", f"{MARK}what is it?"),
        ("chosen", "a cat"),
        ("rejected", "a dog"),
    )


def test_what_a_preference_cannot_hold() -> None:
    """Both answers have the images of one prompt, and show none themselves."""
    other = {"role": "user", "content": [{"type": "image", "image": "b.png"}, TEXT]}
    assert pair(chosen=talk("a", SHOWN), rejected=talk("b", other)) == "two_prompts"
    drawn = [{"role": "assistant", "content": [{"type": "image", "image": "b.png"}]}]
    assert pair(prompt="draw", chosen=drawn, rejected=talk("no")) == "image_role"
    said = pair(prompt="what?", chosen="an <image>", rejected="b", images="a.png")
    assert said[2] == ("chosen", "an <image>")


@pytest.mark.parametrize("text", ["data:image/png;base64,", "iVBORw0KGgo", "/9j/"])
def test_an_image_in_the_row_itself(text: str) -> None:
    """A data URI, or the beginning of a file in base64, is no path; a short text is one."""
    long = text + "A" * 200
    part = {"type": "image_url", "image_url": {"url": long}}
    assert list_images(chat([part, TEXT])) == [{"data": long}]
    assert list_images(chat([{"type": "image", "image": text}, TEXT])) == [{"path": text}]
    assert chat([{"type": "image", "image": "data:video/mp4;base64," + "A" * 200}]) == "video"
