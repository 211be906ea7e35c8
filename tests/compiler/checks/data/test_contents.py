"""From files to findings: row texts and chat templates with unwanted content."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import check
from tests.tiny_tokenizers import byte_level_tokenizer

Row = Mapping[str, Any]
Rows = list[dict[str, Any]]
WORDS = [f"{start}{middle}{end}" for start in "bdfgklmpr" for middle in "aeiou" for end in "nst"]
LABELS = ("refund", "delivery", "account", "other")
LOOKED_AT = {
    *("FTC146", "FTC148", "FTC149", "FTC263", "FTC264", "FTC265", "FTC266", "FTC267", "FTC268"),
    *("FTC269", "FTC274", "FTC275", "FTC276", "FTC277", "FTC278", "FTC595", "FTC596"),
}
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOL = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Find an order.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "string"}},
            "required": ["number"],
        },
    },
}


def texts(count: int = 300) -> list[str]:
    """Return sentences of words that say nothing."""
    pick = random.Random(8)  # noqa: S311 - a fixed sample
    return [" ".join(pick.sample(WORDS, 14)) for _ in range(count)]


def asked(answer: Callable[[int, str], str], prompt: Callable[[int, str], str]) -> Rows:
    """Return questions and answers, each made of a number and a text."""
    return [
        {"prompt": prompt(n, text), "response": answer(n, text)} for n, text in enumerate(texts())
    ]


def labelled(prompt: Callable[[str, str], str]) -> Rows:
    """Return messages under four labels."""
    rows = [(text, LABELS[n % 4]) for n, text in enumerate(texts(400))]
    return [{"text": prompt(text, label), "label": label} for text, label in rows]


def said(n: int, text: str) -> str:
    """Answer in free text."""
    return f"about {text} {n}"


def plain(_n: int, text: str) -> str:
    """Ask in free text."""
    return f"what is {text}?"


def pairs(count: int, swapped: int) -> Rows:
    """Return preferences, some of which come back the other way round."""
    rows = [{"prompt": t, "chosen": f"yes {t}", "rejected": f"no {t}"} for t in texts(count)]
    return [
        *rows,
        *({**r, "chosen": r["rejected"], "rejected": r["chosen"]} for r in rows[:swapped]),
    ]


def calling(
    *, tools: bool = True, name: str = "find_order", given: Row | None = None, wanted: str = "c1"
) -> Rows:
    """Return conversations that call one tool and get its result."""
    call = {"name": name, "arguments": json.dumps(given if given is not None else {"number": "7"})}
    rows: Rows = []
    for n, text in enumerate(texts()):
        calls = [{"id": "c1", "type": "function", "function": call}]
        messages = [
            {"role": "user", "content": f"where is {text} {n}?"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": wanted, "content": f"on its way {n}"},
            {"role": "assistant", "content": f"It is on its way, {n}."},
        ]
        rows.append({"messages": messages, **({"tools": [TOOL]} if tools else {})})
    return rows


def find(folder: Path, rows: Sequence[Row], **spec: Any) -> dict[str, str]:
    """Return what the new rules say of rows, by code; each rule speaks once."""
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    written = {
        "name": "x",
        "model": "Qwen/Qwen2.5-0.5B-Instruct",
        "data": "rows.jsonl",
        "hardware": "1x L4",
        **spec,
    }
    (folder / "spec.json").write_text(json.dumps(written), encoding="utf-8")
    found = check(str(folder / "spec.json")).findings
    return {each.code: each.message for each in found if each.code in LOOKED_AT}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


@pytest.mark.parametrize(
    ("code", "rows", "words"),
    [
        (
            "FTC263",
            asked(said, lambda n, t: f"<|im_start|>user\n{t}{n}<|im_end|>\n"),
            "<|im_start|>",
        ),
        ("FTC263", asked(said, lambda n, t: f"[INST] {t} {n} [/INST]"), "[INST]"),
        (
            "FTC263",
            asked(said, lambda n, t: f"<start_of_turn>user\n{t} {n}<end_of_turn>"),
            "300 of 300 rows",
        ),
        (
            "FTC264",
            asked(said, lambda n, t: f"### Instruction:\n{t} {n}\n\n### Response:\n"),
            "`### Response:`",
        ),
        ("FTC265", asked(lambda n, t: "nan" if n % 9 == 0 else said(n, t), plain), "`nan` in 34"),
        ("FTC265", asked(lambda n, t: "N/A" if n % 9 == 0 else said(n, t), plain), "`N/A` in 34"),
        (
            "FTC265",
            [
                {**r, "label": "nan"} if n < 40 else r
                for n, r in enumerate(labelled(lambda t, _: t))
            ],
            "`nan` in 40",
        ),
        (
            "FTC265",
            [
                {**r, "label": "None"} if n < 40 else r
                for n, r in enumerate(labelled(lambda t, _: t))
            ],
            "`None` in 40",
        ),
        ("FTC269", labelled(lambda t, label: f"category: {label}\n{t}"), "own label"),
        ("FTC269", labelled(lambda t, label: f"{t} {label}"), "own label"),
        (
            "FTC269",
            asked(lambda n, _: str(n * 7), lambda n, t: f"{t}? Answer: {n * 7}"),
            "`answer:`",
        ),
        (
            "FTC269",
            asked(lambda n, _: str(n * 7), lambda n, t: f"{t}? ({n * 7})"),
            "end with their own answer",
        ),
        ("FTC264", asked(lambda n, t: f"{said(n, t)}</s>", plain), "such as `</s>`"),
        ("FTC264", asked(lambda n, t: f"{said(n, t)}<|endoftext|>", plain), "`<|endoftext|>`"),
        ("FTC275", asked(plain, plain), "the question itself"),
        (
            "FTC275",
            asked(lambda n, t: f"{plain(n, t)}\n\n{said(n, t)}", plain),
            "begins with the whole question",
        ),
        (
            "FTC276",
            asked(
                said, lambda n, t: f"{t} {n} AKIA{'QWERTZUIOPASDFGH'[n % 5 :]}{'JKLMN'[: n % 5]}"
            ),
            "API keys in 300",
        ),
        (
            "FTC276",
            asked(said, lambda n, t: f"{t} postgres://shop:k8Jw2pQz{n}@db.shop.io/x"),
            "passwords in 300",
        ),
        (
            "FTC277",
            asked(said, lambda n, t: f"{t}, write to anna.{t[:3]}{n}@gmx.de"),
            "e-mail addresses in 300",
        ),
    ],
)
def test_it_is_found(tmp_path: Path, code: str, rows: Rows, words: str) -> None:
    """In the rows of a file, with a model that is known from ftc's table alone."""
    found = find(tmp_path, rows)

    assert list(found) == [code]
    assert words in found[code]


@pytest.mark.parametrize(
    "rows",
    [
        asked(said, plain),
        asked(lambda n, t: f"{t.split()[0]}{n}: {t}", lambda n, t: f"{t.split()[0]}{n}"),
        asked(said, lambda n, t: f"what does <|im_start|> mean in {t}?" if n == 4 else plain(n, t)),
        asked(said, lambda n, t: f"translate <b>{t}</b> to <i>html</i> [see {n}]"),
        asked(lambda n, t: "N/A" if n % 9 == 0 else said(n, t), lambda n, t: f"{t} or N/A? {n}"),
        asked(lambda n, t: "None" if n == 9 else said(n, t), plain),
        asked(lambda n, t: t.split()[n % 9], lambda n, t: f"which word of {t} is number {n % 9}?"),
        asked(
            lambda n, _: "ABCD"[n % 4], lambda n, t: f"{t}\nA) {t[:3]}\nB) {n}\nC) 3\nD) 4\nAnswer:"
        ),
        asked(
            lambda n, _: str(n * 7),
            lambda n, t: f"{t}?\n(A) {n * 7 if n % 2 else 1}\n(B) {1 if n % 2 else n * 7}\n(C) 0",
        ),
        labelled(lambda t, _: t),
        labelled(lambda t, _: f"{t}\nAnswer with one of: {', '.join(LABELS)}"),
        labelled(lambda t, label: f"{t}, it was about {label}, I think"),
        [
            {**r, "label": "none"} if n % 4 == 0 else r
            for n, r in enumerate(labelled(lambda t, _: t))
        ],
        asked(said, lambda n, t: f"{t}, order 45{n:014}, call us or write to info@example.com"),
        asked(
            said,
            lambda n, t: f"{t} https://user:password@example.com/{n} sk-your-key-goes-here-please",
        ),
    ],
)
def test_sound_rows_are_left_alone(tmp_path: Path, rows: Rows) -> None:
    """What looks like it and is not."""
    assert find(tmp_path, rows) == {}


def test_contradicting_pairs(tmp_path: Path) -> None:
    """A pair that comes back the other way round contradicts the first; copies do not."""
    found = find(tmp_path, pairs(300, 40), objective="dpo")

    assert found == {
        "FTC274": "40 of 340 rows say the opposite of another row with the same prompt and answers"
    }
    assert find(tmp_path, pairs(300, 0) * 2, objective="dpo") == {}


def test_contradicting_feedback(tmp_path: Path) -> None:
    """The same answer to the same prompt, rated good and bad."""
    rows = [
        {"prompt": t, "completion": f"about {t}", "label": n % 2 == 0}
        for n, t in enumerate(texts())
    ]
    again = [{**row, "label": not row["label"]} for row in rows[:30]]

    assert "FTC274" in find(tmp_path, [*rows, *again], objective="kto")
    assert "FTC274" not in find(tmp_path, rows, objective="kto")


@pytest.mark.parametrize(
    ("code", "rows", "words"),
    [
        ("FTC266", calling(tools=False), "declare no tools"),
        ("FTC266", calling(name="find_ordr"), "`find_ordr`"),
        ("FTC267", calling(given={"id": "7"}), "`find_order.number`"),
        ("FTC268", calling(wanted="c9"), "in 300 rows"),
    ],
)
def test_tool_calls_that_do_not_fit(tmp_path: Path, code: str, rows: Rows, words: str) -> None:
    """Calls are held to the tools of their own row."""
    found = find(tmp_path, rows)

    assert list(found) == [code]
    assert words in found[code]


def test_tool_calls_that_fit(tmp_path: Path) -> None:
    """Also where a system message describes the tools."""
    described = calling(tools=False)
    for row in described:
        row["messages"].insert(0, {"role": "system", "content": f"Tools: {json.dumps(TOOL)}"})

    assert find(tmp_path, calling()) == {}
    assert find(tmp_path, described) == {}


def write_model(folder: Path, template: str) -> dict[str, Any]:
    """Write a small model whose chat template is given; return its part of a spec."""
    place = byte_level_tokenizer(folder / "model", added=("<|im_start|>", "<|im_end|>"))
    path = place / "tokenizer_config.json"
    config = {**json.loads(path.read_bytes()), "eos_token": "<|im_end|>", "chat_template": template}
    path.write_text(json.dumps(config), encoding="utf-8")
    sizes = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": 4096,
        "vocab_size": 320,
        "torch_dtype": "bfloat16",
    }
    (place / "config.json").write_text(json.dumps(sizes), encoding="utf-8")
    return {"model": "./model"}


def test_a_template_that_drops_calls_and_tools(tmp_path: Path) -> None:
    """The mask would hold an empty answer."""
    found = find(tmp_path, calling(), **write_model(tmp_path, CHATML))

    assert set(found) == {"FTC146", "FTC148"}
    assert "300 rows have: their answers would be empty" in found["FTC146"]


def test_a_template_that_writes_them(tmp_path: Path) -> None:
    """Nothing is said of it."""
    writes = "{% if tools %}{{ tools | tojson }}{% endif %}" + CHATML.replace(
        "{{ m.content }}", "{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}"
    )

    assert find(tmp_path, calling(), **write_model(tmp_path, writes)) == {}


def test_a_template_that_drops_results(tmp_path: Path) -> None:
    """The answer then rests on nothing."""
    drops = "{{ tools | tojson }}" + CHATML.replace(
        "{{ m.content }}",
        "{{ m.content if m.role != 'tool' }}{{ m.tool_calls | tojson if m.tool_calls }}",
    )
    found = find(tmp_path, calling(), **write_model(tmp_path, drops))

    assert list(found) == ["FTC146"]
    assert "results of tools" in found["FTC146"]


def test_a_template_that_drops_turns(tmp_path: Path) -> None:
    """An error where rows have several of them."""
    rows = [
        {
            "messages": [
                {"role": role, "content": f"{text} {place} {n}"}
                for place, role in enumerate(("user", "assistant", "user", "assistant"))
            ]
        }
        for n, text in enumerate(texts())
    ]
    last = CHATML.replace("in messages", "in messages[-2:]")

    assert list(find(tmp_path, rows, **write_model(tmp_path, last))) == ["FTC149"]
    assert find(tmp_path, rows, **write_model(tmp_path, CHATML)) == {}
    assert find(tmp_path, asked(said, plain), **write_model(tmp_path, last)) == {}


def test_a_template_without_a_generation_prompt(tmp_path: Path) -> None:
    """A warning, unless the template writes nothing before an answer."""
    closed = CHATML.partition("{% if add_generation_prompt")[0]
    inst = (
        "{% for m in messages %}{{ '[INST] ' + m.content + ' [/INST]' if m.role == 'user' else"
        " ' ' + m.content + '<|im_end|>' }}{% endfor %}"
    )

    rows = asked(said, plain)
    assert list(find(tmp_path, rows, **write_model(tmp_path, closed))) == ["FTC278"]
    assert find(tmp_path, rows, **write_model(tmp_path, inst)) == {}


def test_special_tokens_of_the_tokenizer(tmp_path: Path) -> None:
    """What ends a text, and text of another family that is not templated."""
    model = write_model(tmp_path, CHATML)
    found = find(tmp_path, asked(lambda n, t: f"{said(n, t)}<|end|>", plain), **model)
    assert set(found) <= {"FTC263", "FTC264"}
    assert found
    text = [{"text": f"[INST] {t} [/INST] {n}"} for n, t in enumerate(texts())]
    own = [{"text": f"<|im_start|>user\n{t} {n}<|im_end|>"} for n, t in enumerate(texts())]

    assert list(find(tmp_path, text, objective="cpt", **model)) == ["FTC264"]
    assert find(tmp_path, own, objective="cpt", **model) == {}


@pytest.mark.parametrize(
    ("objective", "code"),
    [
        ({"rewards": [{"regex": r"\d*"}]}, "FTC595"),
        ({"rewards": [{"regex": r"^.{0,400}$"}]}, "FTC595"),
        ({"rewards": ["numeric", {"regex": r"^.{0,400}$"}]}, None),
        ({"rewards": ["numeric", {"regex": r"####"}], "answer_tokens": 8}, "FTC596"),
        ({"rewards": ["numeric"], "answer_tokens": 512}, None),
    ],
)
def test_rewards_and_answers(tmp_path: Path, objective: Row, code: str | None) -> None:
    """An expression that asks for nothing, and too little room for what the data answers."""
    rows = asked(lambda n, t: f"{said(n, t)} #### {n}", plain)
    found = find(tmp_path, rows, objective={"type": "grpo", **objective})

    assert list(found) == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("tokens", "options", "found"),
    [(256, None, True), (2048, None, False), (256, {"enable_thinking": False}, False)],
)
def test_a_model_that_reasons_needs_room(
    tmp_path: Path, tokens: int, options: Row | None, found: bool
) -> None:
    """The spec's number is kept, and said to be too small."""
    rows = asked(lambda n, _: f"#### {n}", plain)
    said_so = find(
        tmp_path,
        rows,
        model="Qwen/Qwen3-0.6B",
        data={"source": "rows.jsonl", **({"template_options": options} if options else {})},
        objective={"type": "grpo", "rewards": ["numeric"], "answer_tokens": tokens},
    )
    assert ("reasons before each answer" in said_so.get("FTC596", "")) is found
