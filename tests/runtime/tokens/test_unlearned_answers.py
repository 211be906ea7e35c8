"""Answers with the weight 0, with real tokenizers: masked, in packed rows too."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.runtime.read.chat_rows import read_chat
from ftc.runtime.read.rows import Turns, Unlearned
from ftc.runtime.read.tool_rows import read_calling_chat
from ftc.runtime.tokens.chat_labels import learn_every_answer, learn_everything, mask_reasoning
from ftc.runtime.tokens.chat_records import Learn, learn_last_answer, make_chats
from ftc.runtime.tokens.encoding import NOT_LEARNED, Encoder
from tests.real_tokenizers import KINDS, real_tokenizer

CHATTING: Final = [name for name, kind in KINDS.items() if kind.template is not None]
WEIGHED: Final[list[dict[str, Any]]] = [
    {"role": "user", "content": "Where is Lima?"},
    {"role": "assistant", "content": "In Chile.", "weight": 0},
    {"role": "user", "content": "Really?"},
    {"role": "assistant", "content": "No, in Peru.", "weight": 1},
    {"role": "user", "content": "Thanks, and Quito?"},
    {"role": "assistant", "content": "In Ecuador."},
    {"role": "user", "content": "And Sucre?"},
    {"role": "assistant", "content": "In Cuba.", "weight": 0.0},
]


def read(messages: list[dict[str, Any]]) -> Turns:
    """Return the turns of a row."""
    turns = read_chat({"messages": messages}, messages="messages")
    assert not isinstance(turns, str)
    return turns


@pytest.fixture(scope="module", params=CHATTING)
def encoder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sdist: Path
) -> Encoder:
    """Return the encoder of a real tokenizer."""
    transformers = pytest.importorskip("transformers")
    folder = real_tokenizer(request.param, tmp_path_factory.mktemp(request.param), sdist=sdist)
    return Encoder(tokenizer=transformers.AutoTokenizer.from_pretrained(folder))


def learned_texts(encoder: Encoder, learn: Learn) -> list[str]:
    """Return the texts of the learned runs of the weighed conversation."""
    (record,) = make_chats([read(WEIGHED)], encoder=encoder, learn=learn)
    found: list[list[int]] = [[]]
    for token, label in zip(record["input_ids"], record["labels"], strict=True):
        if label == NOT_LEARNED:
            found.append([])
        else:
            found[-1].append(token)
    return [encoder.decode(ids, skip_special_tokens=True).strip() for ids in found if ids]


def test_a_row_ends_with_its_last_learned_answer() -> None:
    """What follows is left out; a row without such an answer is no row."""
    turns = read(WEIGHED)
    assert turns[-1] == ("assistant", "In Ecuador.")
    assert [isinstance(role, Unlearned) for role, _ in turns] == [False, True, *[False] * 4]
    assert read_chat({"messages": WEIGHED[:2]}, messages="messages") == "unlearned"
    cell = json.dumps(WEIGHED)
    assert read_chat({"messages": cell}, messages="messages") == turns


@pytest.mark.parametrize("weight", [None, 1, 1.0, True, 0.5])
def test_other_weights_are_learned(weight: object) -> None:
    """Those that are neither 0 nor 1 are refused before a bundle is made (FTC199)."""
    messages = [WEIGHED[0], {**WEIGHED[1], "weight": weight}]
    assert not any(isinstance(role, Unlearned) for role, _ in read(messages))


def test_a_user_has_no_weight() -> None:
    """OpenAI defines the weight for messages of the assistant."""
    messages = [{**WEIGHED[0], "weight": 0}, WEIGHED[3]]
    assert not any(isinstance(role, Unlearned) for role, _ in read(messages))


def test_calls_with_the_weight_0() -> None:
    """Calls of tools are answers, and so is what is said beside them."""
    call = {"function": {"name": "track", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "Wait.", "tool_calls": [call], "weight": 0},
        {"role": "tool", "content": "depot"},
        {"role": "assistant", "content": "At the depot."},
    ]
    turns = read_calling_chat({"messages": messages}, messages="messages")
    assert not isinstance(turns, str)
    assert [type(role) for role, _ in turns[1:3]] == [Unlearned, Unlearned]


def test_every_answer_but_the_excluded_one_is_learned(encoder: Encoder) -> None:
    """The tokens are those of the same row without weights."""
    assert learned_texts(encoder, learn_every_answer) == ["No, in Peru.", "In Ecuador."]
    assert learned_texts(encoder, learn_last_answer) == ["In Ecuador."]
    plain = [{key: each[key] for key in ("role", "content")} for each in WEIGHED[:6]]
    records = [
        make_chats([read(messages)], encoder=encoder, learn=learn_every_answer)[0]
        for messages in (WEIGHED, plain)
    ]
    assert records[0]["input_ids"] == records[1]["input_ids"]
    assert records[0]["messages"] == records[1]["messages"] == plain


def test_everything_but_the_excluded_answer_is_learned(encoder: Encoder) -> None:
    """With `loss_on` all only the excluded answer and its end are read."""
    (record,) = make_chats([read(WEIGHED)], encoder=encoder, learn=learn_everything)
    pairs = zip(record["input_ids"], record["labels"], strict=True)
    read_ids = [token for token, label in pairs if label == NOT_LEARNED]
    assert encoder.decode(read_ids, skip_special_tokens=True).strip() == "In Chile."


def test_reasoning_is_masked_beside_it(encoder: Encoder) -> None:
    """The excluded answer stays excluded."""

    def learn(given: Any) -> Any:
        return mask_reasoning(given, learn=learn_every_answer)

    assert learned_texts(encoder, learn) == ["No, in Peru.", "In Ecuador."]


def test_an_excluded_answer_that_is_rewritten(encoder: Encoder) -> None:
    """Where the template drops the reasoning of earlier answers, the rest of it is masked."""
    template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content if m.role == 'user' or loop.last "
        "else m.content.split('</think>')[-1] }}\n{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    messages = [
        WEIGHED[0],
        {"role": "assistant", "content": "<think>a guess</think>In Chile.", "weight": 0},
        WEIGHED[2],
        {"role": "assistant", "content": "No, in Peru."},
    ]
    encoder.tokenizer.chat_template, kept = template, encoder.tokenizer.chat_template
    try:
        (record,) = make_chats([read(messages)], encoder=encoder, learn=learn_everything)
    finally:
        encoder.tokenizer.chat_template = kept
    pairs = zip(record["input_ids"], record["labels"], strict=True)
    masked = [token for token, label in pairs if label == NOT_LEARNED]
    assert encoder.decode(masked).strip().rstrip("\n.") in ("In Chile", ">In Chile")
