"""The evaluator of Go templates says what Go's own text/template says, or that it does not know."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.compiler.resolve.chat_template.go_string import go_string
from ftc.compiler.resolve.chat_template.go_template import GoTemplateError, render_go
from ftc.compiler.resolve.chat_template.ollama import collate
from tests.compiler.resolve.go_run import run_go

MESSAGES: Sequence[Mapping[str, Any]] = (
    {"role": "system", "content": "S"},
    {"role": "user", "content": "  a\n"},
    {"role": "user", "content": "{{ .Role }}"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": '"""'},
)
KNOWN = (
    "plain { text } }} { {",
    "a  {{- .System -}}  b {{ .System }} c",
    "a\n{{- .System }}\n{{ .System -}}\n\n b",
    "{{ .System}}{{.System }}{{.System}}",
    "{{ if .System }}x{{ else }}y{{ end }}{{ if not .System }}x{{ else }}y{{ end }}",
    "{{ if .Response }}x{{ else if eq .System `S` }}y{{ else }}z{{ end }}".replace("`", '"'),
    "{{ range .Messages }}<{{ .Role }}:{{ .Content }}:{{ $.System }}>{{ end }}",
    "{{ range $m := .Messages }}{{ $m.Role }}{{ $m.Content }}{{ end }}",
    "{{ range $i, $m := .Messages }}{{ $i }}{{ $m.Role }}{{ end }}",
    "{{ range $i, $_ := .Messages }}{{ $x := slice $.Messages $i }}{{ len $x }}{{ end }}",
    "{{ (index .Messages 0).Role }}{{ (index .Messages 1).Content }}",
    "{{ range slice .Messages 1 2 }}{{ .Role }}{{ else }}none{{ end }}",
    "{{ range slice .Messages 4 }}{{ .Role }}{{ else }}none{{ end }}",
    "{{ if and .System (gt (len .Messages) 2) }}x{{ end }}{{ or .Response .System }}",
    "{{ if or (lt 1 2) (le 2 1) (ge 1 2) (ne 1 1) }}x{{ end }}",
    r'{{ "a\"\\\n\tb\u0041\U0001F600}}" }}',
    "{{ $x := .System }}{{ if true }}{{ $x }}{{ end }}{{ 7 }}",
    "{{ if .System }}a{{ if .Response }}b{{ else }}c{{ end }}d{{ end }}e",
)
WRONG = (
    "{{ .System",
    "{{ end }}",
    "{{ else }}",
    "{{ if .System }}",
    "{{ if .System }}a{{ else }}b{{ else }}c{{ end }}",
    "{{ unknown .System }}",
    "{{ .System .System }}",
    "{{ (.System }}",
    r'{{ "\q" }}',
    "{{ if eq 1 .System }}x{{ end }}",
    "{{ index .Messages 9 }}",
)
UNKNOWN = (
    "{{ .System | len }}",
    "{{ with .System }}{{ . }}{{ end }}",
    "{{/* note */}}",
    "{{ `a` }}",
)


def test_it_says_what_go_says() -> None:
    """Text, trimming, branches, loops, variables and functions."""
    results = run_go([(template, MESSAGES) for template in KNOWN])

    assert [result["error"] for result in results] == [""] * len(KNOWN)
    assert [render_go(template, collate(MESSAGES)) for template in KNOWN] == [
        result["text"] for result in results
    ]


def test_what_go_refuses_is_refused() -> None:
    """A template that Go cannot parse or execute is an error here."""
    results = run_go([(template, MESSAGES) for template in WRONG])

    assert all(result["error"] for result in results)
    for template in WRONG:
        with pytest.raises(GoTemplateError):
            render_go(template, collate(MESSAGES))


@pytest.mark.parametrize("template", UNKNOWN)
def test_what_is_not_known_is_never_guessed(template: str) -> None:
    """Go has more than this module: it says so instead of leaving it out."""
    with pytest.raises(GoTemplateError):
        render_go(template, collate(MESSAGES))


@given(st.text())
def test_a_text_comes_back_from_its_action(text: str) -> None:
    """Whatever it holds; and nothing in the action could end it, or the Modelfile's quotes."""
    action = go_string(text)

    assert render_go(action, {}) == text
    assert action.isascii()
    assert action.isprintable()
    assert '"""' not in action
    assert "{{" not in action[2:]
    assert "}}" not in action[:-2]


def test_go_reads_the_action_alike() -> None:
    """Triple quotes, braces, backslashes, other scripts and control characters."""
    texts = (
        '"""',
        "{{ .System }}",
        "\\",
        "a\n\tb",
        "\u00e9\u2028\u3000\U0001f600\ufeff",
        "`",
        "\x00",
    )
    results = run_go([(go_string(text), ()) for text in texts])

    assert [result["text"] for result in results] == list(texts)
