"""Templates of reasoning models: one mode in every renderer, and what their rows teach."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.pipeline import check, mask_rows
from ftc.compiler.resolve.chat_template.go_template import render_go
from ftc.compiler.resolve.chat_template.ollama import PROBES, collate, recognise, write_template
from ftc.compiler.resolve.chat_template.reasoning import is_reserved, probe_reasoning
from ftc.compiler.resolve.chat_template.rendering import compile_chat_template
from ftc.compiler.resolve.detail_facts import ReasoningFacts
from ftc.report.mask import report_masks
from ftc.runtime.tokens.reasoned_chats import PROBE
from ftc.runtime.tokens.template_options import set_defaults
from tests.compiler.resolve.test_ollama import read_templates
from tests.tiny_models import write_model

SPECIAL: Final = {"bos_token": "<s>", "eos_token": "</s>"}
OFF: Final = {"enable_thinking": False}
#: Templates that llama.cpp ships, with options and how rows and prompts are written with them.
MODES: Final[Mapping[str, tuple[str, Mapping[str, Any], ReasoningFacts]]] = {
    "qwen3": (
        "Qwen-Qwen3-0.6B.jinja",
        {},
        ReasoningFacts(
            options=("enable_thinking",),
            reads_keys=True,
            empty="<think>\n\n</think>",
            without_empty=OFF,
            thinks=True,
        ),
    ),
    "qwen3-off": (
        "Qwen-Qwen3-0.6B.jinja",
        OFF,
        ReasoningFacts(options=("enable_thinking",), reads_keys=True, misfits=("with",)),
    ),
    "qwen3.5": (
        "Qwen3.5-4B.jinja",
        {},
        ReasoningFacts(
            options=("add_vision_id", "enable_thinking"),
            reads_keys=True,
            empty="<think>\n\n</think>",
            without_empty=OFF,
            thinks=True,
        ),
    ),
    "qwen3.5-off": (
        "Qwen3.5-4B.jinja",
        OFF,
        ReasoningFacts(
            options=("add_vision_id", "enable_thinking"),
            reads_keys=True,
            misfits=("with",),
        ),
    ),
    "gpt-oss": (
        "openai-gpt-oss-120b.jinja",
        {"reasoning_effort": "low"},
        ReasoningFacts(
            options=("builtin_tools", "model_identity", "reasoning_effort"), reads_keys=True
        ),
    ),
    "deepseek-r1": (
        "llama-cpp-deepseek-r1.jinja",
        {},
        ReasoningFacts(drops=True, misfits=("with", "without"), thinks=True),
    ),
    "smollm3": (
        "HuggingFaceTB-SmolLM3-3B.jinja",
        {},
        ReasoningFacts(options=("enable_thinking",)),
    ),
    "smollm3-off": (
        "HuggingFaceTB-SmolLM3-3B.jinja",
        OFF,
        ReasoningFacts(options=("enable_thinking",)),
    ),
}
CHAT: Final = [*PROBE, {"role": "user", "content": "And 3 + 3?"}]
#: Qwen3's, of few words: an empty block before answers without reasoning.
SMALL: Final = (
    "{{ bos_token }}{% for m in messages %}{{ '<' + m.role + '>' }}"
    "{% if m.role == 'assistant' and loop.last %}{{ '<think>' + (m.reasoning_content or '') }}"
    "{{ '</think>' }}{% endif %}{{ m.content }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    "{% endif %}"
)
ANSWERS: Final = {"role": "assistant", "content": "on its way"}
THOUGHT: Final = {**ANSWERS, "reasoning_content": "a parcel"}


@cache
def transformers_environment() -> Any:
    """Return what transformers renders a chat template with."""
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    return utils.render_jinja_template


@pytest.mark.parametrize("name", MODES)
def test_one_mode_in_every_renderer(name: str, sdist: Path) -> None:
    """Options as variables and as defaults, by ftc and transformers, write the same text."""
    file, options, _ = MODES[name]
    source = re.sub(r"strftime_now\([^)]*\)", '"1 May"', read_templates(sdist)[file])
    bound = set_defaults(source, options)
    render = transformers_environment()
    given = compile_chat_template(source, {**SPECIAL, **options})
    own = compile_chat_template(bound, SPECIAL)
    for messages in (list(PROBE[:1]), list(PROBE), CHAT):
        asks = messages[-1]["role"] == "user"
        wanted = given.render(messages, add_generation_prompt=asks)
        assert own.render(messages, add_generation_prompt=asks) == wanted
        for template, also in ((source, options), (bound, {})):
            (text,), _ = render(
                conversations=[messages],
                chat_template=template,
                add_generation_prompt=asks,
                **SPECIAL,
                **also,
            )
            assert text == wanted


@pytest.mark.parametrize("name", MODES)
def test_what_rows_teach(name: str, sdist: Path) -> None:
    """Which options a template reads, and what it does with reasoning and with none."""
    file, options, wanted = MODES[name]
    source = read_templates(sdist)[file]

    assert probe_reasoning(source, compile_chat_template(source, {**SPECIAL, **options})) == wanted


@pytest.mark.parametrize("file", ["Qwen-Qwen3-0.6B.jinja", "Qwen3.5-4B.jinja"])
def test_the_modelfile_has_the_mode(file: str, sdist: Path) -> None:
    """The Go template ends its prompt with the empty reasoning that the chat template writes."""
    source = read_templates(sdist)[file]
    template = compile_chat_template(source, {**SPECIAL, **OFF})
    facts = recognise(source, template, adds_bos=False)

    assert facts is not None
    assert facts.opening == "<think>\n\n</think>\n\n"
    for messages in PROBES:
        text = render_go(write_template(facts), collate(messages))
        assert text == template.render(messages, add_generation_prompt=True)
        assert text.endswith("</think>\n\n")


def test_names_that_are_no_options() -> None:
    """What the renderer, Jinja or the tokenizer sets."""
    assert all(map(is_reserved, ("messages", "tools", "loop", "if", "namespace", "eos_token")))
    assert not any(map(is_reserved, ("enable_thinking", "date_string", "documents_shown")))


def checked(folder: Path, answers: list[Mapping[str, Any]], **data: Any) -> tuple[Any, list[str]]:
    """Check a spec on rows with these answers; return the outcome and the codes of interest."""
    write_model(folder / "model")
    (folder / "own.jinja").write_text(SMALL, encoding="utf-8")
    rows = [
        {"messages": [{"role": "user", "content": f"where is {n}?"}, answers[n % len(answers)]]}
        for n in range(40)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = {
        "name": "reasons",
        "model": {"id": "./model", "chat_template": "own.jinja"},
        "data": {"source": "rows.jsonl", **data},
        "hardware": "cpu",
    }
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    outcome = check(str(folder / "spec.json"))
    codes = ("FTC177", "FTC178", "FTC179", "FTC291", "FTC292", "FTC293", "FTC294")
    return outcome, [found.code for found in outcome.findings if found.code in codes]


def masked(outcome: Any, rows: int = 1) -> list[list[tuple[str, bool]]]:
    """Return the pieces of the first rows."""
    found = mask_rows(outcome, rows)
    assert found is not None
    return [list(row.pieces) for row in found]


def test_empty_reasoning_is_found_and_fixed(tmp_path: Path) -> None:
    """Rows without reasoning would teach the model to write none; the fix asks as they answer."""
    outcome, codes = checked(tmp_path, [ANSWERS])
    assert codes == ["FTC291"]
    asked = "<s><user>where is 0?<assistant>"
    assert masked(outcome) == [[(asked, False), ("<think></think>on its way</s>", True)]]
    (found,) = (each for each in outcome.findings if each.code == "FTC291")
    (fix,) = found.fix
    assert (fix["path"], fix["value"]) == ("/data/template_options", OFF)

    outcome, codes = checked(tmp_path, [ANSWERS], template_options=OFF)
    assert codes == []
    assert masked(outcome) == [[(f"{asked}<think></think>", False), ("on its way</s>", True)]]


def test_policies_of_reasoning(tmp_path: Path) -> None:
    """Learned, masked and stripped; rows with and without are told apart in the samples."""
    outcome, codes = checked(tmp_path, [THOUGHT])
    asked = "<s><user>where is 0?<assistant>"
    assert codes == []
    assert masked(outcome) == [[(asked, False), ("<think>a parcel</think>on its way</s>", True)]]

    outcome, codes = checked(tmp_path, [THOUGHT, ANSWERS], reasoning="mask")
    assert codes == []
    first, second = masked(outcome, 2)
    assert first == [(f"{asked}<think>a parcel</think>", False), ("on its way</s>", True)]
    assert second[1:] == [("on its way</s>", True)]
    shown = report_masks(mask_rows(outcome, 2) or (), max_tokens=None, colour=False)
    assert "row 1: " in shown
    assert shown.count(", with reasoning") == 1

    outcome, codes = checked(tmp_path, [THOUGHT], reasoning="strip", template_options=OFF)
    assert codes == []
    assert masked(outcome) == [[(f"{asked}<think></think>", False), ("on its way</s>", True)]]


def test_modes_that_do_not_fit_the_rows(tmp_path: Path) -> None:
    """Rows with reasoning under a closed prompt, mixed rows, and policies with nothing to do."""
    assert checked(tmp_path, [THOUGHT], template_options=OFF)[1] == ["FTC293"]
    assert checked(tmp_path, [THOUGHT, ANSWERS])[1] == ["FTC291"]
    assert checked(tmp_path, [ANSWERS], reasoning="strip", template_options=OFF)[1] == ["FTC294"]
    misspelt = checked(tmp_path, [THOUGHT], template_options={"enable_thinkng": False})
    assert misspelt[1] == ["FTC177"]
