"""The wall over templates: good places are told from every place where text could be code."""

import pytest

from ftc.compiler.verify.walls import banned_tags, marker_places

TEMPLATE = '''\
#!/usr/bin/env python3
"""Train: no value here."""

import os
{# a comment of the template with {{ a.value }} in it #}
{% if uses.gpu %}
import torch
{% endif %}

RATE = {{ rate }}  # {{ why.rate }}
{% for name, value in targets %}
# {{ value.reason }}
SEED = {{ seed }}
{% endfor %}


def f():
    {% if uses.gpu %}
    x = 1
    {% else %}
    # {{ inside.a.function }}
    x = 2
    {% endif %}
    return x
'''


def test_allowed_places_are_recognised() -> None:
    """Constants at the top level and comments, behind tags of every kind."""
    assert [(place.expression, place.kind) for place in marker_places(TEMPLATE)] == [
        ("rate", "constant"),
        ("why.rate", "comment"),
        ("value.reason", "comment"),
        ("seed", "constant"),
        ("inside.a.function", "comment"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        '"""A docstring with {{ x }}."""',
        'NAME = f"{ {{ x }} }"',
        'NAME = f"a {{ x }}"',
        'NAME = "{{ x }}"',
        "NAME = '{{ x }}'",
        "NAME = [{{ x }}]",
        "NAME = -{{ x }}",
        "NAME = {{ x }} + 1",
        "NAME = f({{ x }})",
        "NAME = {{ x }}.y",
        "NAME = {{ x }}y",
        "NAME = {{ x }}{{ y }}",
        "NAME = {{ x }}; print()",
        "NAME = OTHER = {{ x }}",
        "NAME: int = {{ x }}",
        "name = {{ x }}",
        "call({{ x }})",
        "call(name={{ x }})",
        "def f(a={{ x }}):\n    return a",
        "def f():\n    NAME = {{ x }}",
        "if True:\n    NAME = {{ x }}",
        "class A:\n    NAME = {{ x }}",
        "{{ x }} = 1",
        "{{ x }}",
        "import {{ x }}",
        'print("a"\n{{ x }})',
        'x = """\nNAME = {{ x }}\n# {{ x }}\n"""',
        "x = (\nNAME = {{ x }}",
        "# {{ x }} above the third line",
    ],
)
def test_loose_places_are_told(line: str) -> None:
    """Strings, f-strings, arguments, indented or partial right-hand sides: all loose."""
    prefix = "" if "above the third line" in line else "\n\n\n"
    places = marker_places(f"{prefix}{line}\n")
    assert places
    assert {place.kind for place in places} == {"loose"}


def test_every_branch_is_read() -> None:
    """A docstring may begin in two branches; a place inside either is found, at any depth."""
    template = """\
{% if a %}
\"\"\"One.
{% elif b %}
\"\"\"Two.
{% else %}
\"\"\"Three.
{% endif %}
\"\"\"

A = {{ a }}
{% if b %}
B = {{ b }}
{% else %}
{% for c in cs %}
{% if c %}
C = {{ c }}
{% else %}
D = f({{ d }})
{% endif %}
{% endfor %}
{% endif %}
"""
    assert [place.kind for place in marker_places(template)] == [
        "constant",
        "constant",
        "constant",
        "loose",
    ]


def test_place_that_is_good_in_one_branch_only_is_loose() -> None:
    """The same marker can stand in code or in a string, by what came before it."""
    template = '\n\n{% if a %}\nx = """\n{% else %}\n{% endif %}\nA = {{ a }}\n"""\n"""\n'
    assert [place.kind for place in marker_places(template)] == ["loose"]


def test_text_that_does_not_tokenise_is_loose() -> None:
    """After the place where the tokenizer gives up, nothing is vouched for."""
    places = marker_places('A = {{ a }}\n"""\nB = {{ b }}\n')
    assert [place.kind for place in places] == ["constant", "loose"]


def test_banned_tags_are_found() -> None:
    """Macros, calls, block sets and `super()` could carry text past `finalize`."""
    template = "{% macro m() %}{% endmacro %}{%- set a %}x{% endset %}{{ super() }}{% call m() %}"
    assert banned_tags(template) == (
        "{% macro m() %}",
        "{%- set a %}",
        "{% call m() %}",
        "{{ super() }}",
    )
    assert banned_tags("{% set a = 1 %}{% if b %}{% include 'c' %}{% endif %}{# {% macro #}") == ()
