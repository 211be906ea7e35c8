"""Chat templates render as transformers renders them, and stay within their bounds."""

import importlib.util
import io
import re
import resource
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.chat_template.reasoning import probe_reasoning
from ftc.compiler.resolve.chat_template.rendering import (
    ChatTemplate,
    ChatTemplateError,
    compile_chat_template,
)
from ftc.compiler.resolve.tokenizer.facts import find_form, mask_generated, probe_template
from tests.tiny_tokenizers import sentencepiece_tokenizer

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
USER = {"role": "user", "content": "  Qui ets? <b>&</b>"}
ANSWER = {"role": "assistant", "content": 'Sóc "jo".\nI tu?'}
SYSTEM = {"role": "system", "content": "Be brief."}
CONVERSATIONS: tuple[list[dict[str, str]], ...] = (
    [USER],
    [USER, ANSWER],
    [SYSTEM, USER, ANSWER],
    [SYSTEM, USER, ANSWER, USER, ANSWER],
    [USER, {**ANSWER, "reasoning_content": "Think."}, USER],
)
CALL = {
    "type": "function",
    "id": "call00001",
    "function": {"name": "find_order", "arguments": {"number": 7, "city": "Vic"}},
}
TOOL_CONVERSATIONS: tuple[list[dict[str, Any]], ...] = (
    [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}],
    [
        SYSTEM,
        USER,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "name": "find_order", "tool_call_id": "call00001", "content": "late"},
        ANSWER,
    ],
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "description": "Say where an order is.",
            "parameters": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer", "description": "The order's number."},
                    "city": {"type": "string", "enum": ["Vic", "Olot"]},
                },
                "required": ["number"],
            },
        },
    }
]
MARKER = re.compile(r"\{%-?\s*generation\s*-?%\}")
CONTENT = re.compile(r"\{\{-?[^{}]*content[^{}]*-?\}\}")
PLACED = {
    "in a macro": (
        "{% macro say(m) %}{{ m.role }}: {% generation %}{{ m.content }}{% endgeneration %}\n"
        "{% endmacro %}{% for m in messages %}{{ say(m) }}{% endfor %}"
    ),
    "in a set": (
        "{% for m in messages %}{% set said %}{{ m.role }}: {% generation %}{{ m.content }}"
        "{% endgeneration %}{% endset %}{{ said | trim }}\n{% endfor %}"
    ),
    "nested and empty": (
        "{% for m in messages %}{% generation %}{{ m.role }}{% generation %}{{ m.content }}"
        "{% endgeneration %}{% endgeneration %}{% generation %}{% endgeneration %} {% endfor %}"
    ),
}
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content }}"
    "{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


START = "{% set n = namespace(x='ab') %}{% for i in range(60) %}"
GROWN = ("n.x ~ n.x", "n.x + n.x", "(n.x | list) + (n.x | list)", "[n.x, n.x]", "n.x * 9")


@cache
def real_templates(sdist: Path) -> tuple[tuple[str, str], ...]:
    """Return the name and text of each template in llama.cpp's sources."""
    return tuple(_unpack_templates(sdist))


def _unpack_templates(sdist: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(sdist) as archive:
        for member in archive:
            if "/models/templates/" in member.name and member.name.endswith(".jinja"):
                stream = archive.extractfile(member)
                assert stream is not None
                text = io.TextIOWrapper(stream, encoding="utf-8", newline="").read()
                yield Path(member.name).name, text


def theirs(source: str, chat: list[dict[str, str]], *, prompt: bool) -> str | None:
    """Render with transformers; None where the template refuses the conversation."""
    module = pytest.importorskip("transformers.utils.chat_template_utils")
    try:
        rendered, _ = module.render_jinja_template(
            [chat], chat_template=source, add_generation_prompt=prompt, **TOKENS
        )
    except Exception:  # noqa: BLE001 - a template raises what it likes
        return None
    return str(rendered[0])


@cache
def compile_of_day(source: str, _: date) -> ChatTemplate:
    """Compile a template on a day."""
    return compile_chat_template(source, TOKENS, today=datetime.now())  # noqa: DTZ005


def ours(source: str, chat: list[dict[str, str]], *, prompt: bool) -> str | None:
    """Render with ftc on the same day as transformers does."""
    template = compile_of_day(source, date.today())  # noqa: DTZ011
    try:
        return template.render(chat, add_generation_prompt=prompt)
    except ChatTemplateError:
        return None


@pytest.mark.filterwarnings("ignore")
def test_real_templates_render_as_transformers_renders_them(sdist: Path) -> None:
    """Each real template gives the same text, or refuses the same conversation."""
    pytest.importorskip("transformers")
    found = dict(real_templates(sdist))
    rendered = 0
    for name, source in found.items():
        for chat in CONVERSATIONS:
            for prompt in (False, True):
                expected = theirs(source, chat, prompt=prompt)
                assert ours(source, chat, prompt=prompt) == expected, (name, chat, prompt)
                rendered += expected is not None
    assert len(found) >= 60
    assert rendered > len(found) * 7


@pytest.fixture
def tokenizer(tmp_path: Path) -> Any:
    """Return a small tokenizer of transformers that knows some of the marks templates name.

    How it cuts a text is the same on both sides; what has to agree is the text, and that nothing
    is added to it.
    """
    transformers = pytest.importorskip("transformers")
    folder = sentencepiece_tokenizer(tmp_path, added=("<pad>", "<|im_start|>", "<|im_end|>"))
    return transformers.AutoTokenizer.from_pretrained(folder, pad_token="<pad>")


@pytest.mark.filterwarnings("ignore")
def test_real_templates_give_the_same_tokens(sdist: Path, tokenizer: Any) -> None:
    """Token for token what `apply_chat_template` gives, with tools and without."""
    compared = compare(tokenizer, real_templates(sdist), tools=None)
    with_tools = compare(tokenizer, real_templates(sdist), tools=TOOLS)
    assert compared > 700
    assert with_tools > 700


@pytest.mark.filterwarnings("ignore")
def test_templates_with_generation_markers_give_the_same_tokens(tokenizer: Any) -> None:
    """The trainer's own templates, which mark what the assistant says."""
    marked = marked_templates(trainer_templates())
    assert len(marked) >= 30
    assert compare(tokenizer, marked.items(), tools=None) > 10 * len(marked)


@pytest.mark.filterwarnings("ignore")
def test_real_generation_markers_give_the_same_masks(sdist: Path, tokenizer: Any) -> None:
    """Of llama.cpp's and the trainer's templates that mark what is said, tools or none."""
    marked = marked_templates((*real_templates(sdist), *trainer_templates()))
    assert len(marked) >= 35
    for tools in (None, TOOLS):
        compared = compare_masks(tokenizer, marked, tools=tools)
        assert compared["masks"] > 11 * len(marked)
        assert compared["learned"] > 8 * len(marked)


@pytest.mark.filterwarnings("ignore")
def test_added_generation_markers_give_the_same_masks(sdist: Path, tokenizer: Any) -> None:
    """Templates marked here: what real ones write of a message put in a marked block.

    The blocks stand in plain text, in a macro and in a `set`, where a block has no place yet.
    """
    added = dict(add_markers(real_templates(sdist)))
    assert len(added) >= 40
    compared = compare_masks(tokenizer, {**added, **PLACED}, tools=None)
    assert compared["learned"] > 6 * len(added)
    assert compared["nowhere"] < len(added) // 10


def trainer_templates() -> Iterator[tuple[str, str]]:
    """Yield the templates that come with TRL."""
    found = importlib.util.find_spec("trl")
    if found is None or found.origin is None:
        pytest.skip("trl is not installed")
    for path in sorted((Path(found.origin).parent / "chat_templates").glob("*.jinja")):
        yield path.name, path.read_text(encoding="utf-8")


def marked_templates(templates: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Keep the templates that have generation markers."""
    return {name: source for name, source in templates if MARKER.search(source)}


def add_markers(templates: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Put the first print of a message's content, in templates without markers, in a block."""
    for name, source in templates:
        if MARKER.search(source):
            continue
        added, count = CONTENT.subn(r"{% generation %}\g<0>{% endgeneration %}", source, count=1)
        if count:
            yield f"{name} with markers added", added


def compare_masks(
    tokenizer: Any, templates: Mapping[str, str], *, tools: list[dict[str, Any]] | None
) -> Counter[str]:
    """Hold masks to `return_assistant_tokens_mask`; count them, and those that mark anything."""
    compared = Counter[str]()
    for name, source in templates.items():
        tokenizer.chat_template = source
        template = compile_chat_template(
            source,
            TOKENS if tools is None else {**TOKENS, "tools": tools},
            today=datetime.now(),  # noqa: DTZ005
        )
        for chat in (*CONVERSATIONS, *TOOL_CONVERSATIONS):
            for prompt in (False, True):
                expected = mask_of(tokenizer, chat, tools, prompt=prompt)
                try:
                    ids, mask = mask_generated(
                        template, tokenizer.backend_tokenizer, chat, add_generation_prompt=prompt
                    )
                except ChatTemplateError:
                    assert expected is None, (name, chat, prompt)
                    continue
                if expected is None and not text_before_mark(template, chat):
                    compared["nowhere"] += 1
                    continue
                assert (ids, mask) == expected, (name, chat, prompt)
                compared["masks"] += 1
                compared["learned"] += any(mask) and not all(mask)
    return compared


def text_before_mark(template: ChatTemplate, chat: list[dict[str, Any]]) -> bool:
    """Tell whether all blocks have a character: transformers stops at an empty one at the start."""
    return all(end > 0 for _, end in template.render_marked(chat)[1])


def mask_of(
    tokenizer: Any, chat: list[dict[str, Any]], tools: list[dict[str, Any]] | None, *, prompt: bool
) -> tuple[list[int], list[bool]] | None:
    """Return transformers' tokens and mask; None where the template refuses the conversation."""
    try:
        found = tokenizer.apply_chat_template(
            chat,
            tools=tools,
            add_generation_prompt=prompt,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
    except Exception:  # noqa: BLE001 - a template raises what it likes
        return None
    return found["input_ids"], [bool(learned) for learned in found["assistant_masks"]]


def compare(
    tokenizer: Any, templates: Iterable[tuple[str, str]], *, tools: list[dict[str, Any]] | None
) -> int:
    """Hold every template to transformers on every conversation; return how many it renders."""
    compared = 0
    for name, source in templates:
        tokenizer.chat_template = source
        variables = TOKENS if tools is None else {**TOKENS, "tools": tools}
        template = compile_chat_template(source, variables, today=datetime.now())  # noqa: DTZ005
        for chat in (*CONVERSATIONS, *TOOL_CONVERSATIONS):
            for prompt in (False, True):
                expected = tokens_of(tokenizer, chat, tools, prompt=prompt)
                try:
                    text = template.render(chat, add_generation_prompt=prompt)
                except ChatTemplateError:
                    assert expected is None, (name, chat, prompt)
                    continue
                encoded = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
                assert encoded.ids == expected, (name, chat, prompt)
                compared += 1
    return compared


def tokens_of(
    tokenizer: Any, chat: list[dict[str, Any]], tools: list[dict[str, Any]] | None, *, prompt: bool
) -> list[int] | None:
    """Return transformers' tokens of a conversation; None where the template refuses it."""
    try:
        found: list[int] = tokenizer.apply_chat_template(
            chat, tools=tools, add_generation_prompt=prompt, tokenize=True, return_dict=False
        )
    except Exception:  # noqa: BLE001 - a template raises what it likes
        return None
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "source",
    [
        CHATML,
        (
            "{% for m in messages %}{% generation %}{{ m['content'] | tojson }}{% endgeneration %}"
            "{% if loop.last %}{% break %}{% endif %}{% endfor %}{{ strftime_now('%d %b %Y') }}"
        ),
        "{% for m in messages recursive %}{{ loop.index }}{{ m.content | trim }}{% endfor %}",
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}ok",
        (
            "{%- set ns = namespace(n=0) -%}\n  {%- for a, b in messages[0].items() %}\n"
            "{% set ns.n = ns.n + 1 %}{{ a }}{{ b }}{{ loop.length }}{% endfor %}\n {{ ns.n }}"
        ),
    ],
)
def test_features_render_as_in_transformers(source: str) -> None:
    """What templates use of Jinja and its extensions gives the same text."""
    pytest.importorskip("transformers")
    for chat in CONVERSATIONS:
        assert ours(source, chat, prompt=True) == theirs(source, chat, prompt=True)


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
        "{% for a in TEXT %}{% for b in TEXT %}{% endfor %}{% endfor %}".replace(
            "TEXT", repr("a" * 3000)
        ),
        "{{ 'a' * 99999999999 }}",
        "{{ [0] * 99999999999 }}",
        "{{ 9 ** 999999999 }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception('no') }}",
        "{{ messages[0]['content'].format_map({}) }}{{ undefined.attribute }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% include 'other' %}",
        *(f"{START}{{% set n.x = {grown} %}}{{% endfor %}}{{{{ n.x }}}}" for grown in GROWN),
        f"{START}{{% set n.x = [n.x, n.x] %}}{{% endfor %}}{{{{ n.x | tojson }}}}",
        f"{START}{{% set n.x = [n.x, n.x] %}}{{% endfor %}}{{{{ 'a' ~ n.x }}}}",
        "{{ ('a' * 99999).replace('a', 'b' * 9999) }}",
        "{{ ('a' * 99999) | replace('a', 'b' * 9999) }}",
        "{{ ('a,' * 99999).split(',') | join('b' * 9999) }}",
        "{{ ('b' * 9999).join(('a,' * 99999).split(',')) }}",
        "{{ 'a'.center(999999999) }}",
        "{{ 'a' | center(999999999) }}",
        "{{ ('a\n' * 99999) | indent(99999) }}",
        "{{ messages | tojson(indent=999999999) }}",
        "{{ messages | batch(999999999, 'x') | list }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ '{:999999999}'.format(1) }}",
    ],
)
def test_hostile_template_is_refused(source: str) -> None:
    """A template that loops, grows, digs or raises ends in one error of ours, soon and small."""
    template = compile_chat_template(source, TOKENS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ChatTemplateError):
        template.render([USER])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 * 1024, "KiB"


def test_a_slow_template_is_given_up() -> None:
    """Slow renderings share a bound of seconds: one that has used them up is not rendered again."""
    template = compile_chat_template("{{ messages[0].content }}", TOKENS)
    template.environment.slow_seconds = 5.0

    with pytest.raises(ChatTemplateError, match="takes too long"):
        template.render([USER])


@pytest.mark.parametrize(
    "source", ["{% for %}", "{{ a", "{% nonsense %}", "{{ a | loop steps }}", "x" * 2_000_000]
)
def test_template_that_does_not_compile_is_refused(source: str) -> None:
    """Broken Jinja, an unknown tag and a huge template are errors when compiled."""
    with pytest.raises(ChatTemplateError):
        compile_chat_template(source, TOKENS)


def test_the_date_of_facts_is_fixed() -> None:
    """Facts do not depend on the day on which they were computed."""
    template = compile_chat_template("{{ strftime_now('%Y-%m-%d') }}", {})
    assert template.render([]) == "2026-01-15"


def probes(source: str, eos: str | None = "<|im_end|>") -> tuple[Any, ...]:
    """Probe a template: closes the answer, accepts a system turn, is stable under growth."""
    found = probe_template(compile_chat_template(source, TOKENS), eos)
    return found.closes_answer, found.accepts_system, found.prefix_stable


def test_probes_read_how_a_template_behaves() -> None:
    """Each probe can be true and can be false."""
    refuses = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
    drops = CHATML.replace("in messages %}", "in messages if message.role != 'system' %}")
    strips = CHATML.replace("message.content", "(message.content if loop.last else '')")
    assert probes(CHATML) == (True, True, True)
    assert probes(CHATML, eos="</s>") == (False, True, True)
    assert probes(CHATML, eos=None) == (False, True, True)
    assert probes(refuses + CHATML) == (True, False, True)
    assert probes(drops) == (True, False, True)
    assert probes(strips)[2] is False
    assert probes("{{ raise_exception('never') }}") == (False, False, False)


#: As LLaVA and SmolVLM write them: of a text, each letter is a part that is none.
SEEING = (
    "{% for m in messages %}{{ m.role }}: {% for part in m.content %}{% if part.type == 'text' %}"
    "{{ part.text }}{% elif part.type == 'image' %}<image>{% endif %}{% endfor %}{{ eos_token }}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def test_templates_that_read_parts_are_probed_with_parts() -> None:
    """Texts show nothing about them; the others are probed as they are."""
    seeing = find_form(compile_chat_template(SEEING, TOKENS))
    found = probe_template(seeing, "</s>")
    assert (found.closes_answer, found.accepts_system, found.prefix_stable) == (True, True, True)
    assert set(found.unwritten) == {"plain", "tools", "calls"}
    assert not probe_reasoning(SEEING, seeing).drops

    strict = "{% if messages[0].content is string %}{{ raise_exception('a text') }}{% endif %}"
    found = probe_template(find_form(compile_chat_template(strict + SEEING, TOKENS)), "</s>")
    assert (found.closes_answer, found.accepts_system) == (True, True)

    chatml = compile_chat_template(CHATML, TOKENS)
    assert find_form(chatml) is chatml
    assert "plain" not in probe_template(chatml, "<|im_end|>").unwritten
    neither = compile_chat_template("{{ messages | length }}", TOKENS)
    assert find_form(neither) is neither
