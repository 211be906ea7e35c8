"""Modelfiles are read as Ollama reads them, and text of a spec cannot escape its line."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.compiler.knowledge.text.ollama_templates import is_sayable
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.render.output.values import ModelfileText
from ftc.compiler.verify.modelfile import ModelfileError, read_modelfile
from ftc.compiler.verify.verifier import verify_files

TEXT = '''# a comment
FROM ./a.gguf
  # FROM ./b.gguf

parameter stop "<|im_end|>"
PARAMETER stop """two
lines"""
PARAMETER num_ctx 4096
SYSTEM """Be "brief",

please."""
TEMPLATE {{ .Prompt }}
'''
DATA = {
    "stop": ["<|im_end|>", "two\nlines"],
    "from": "./a.gguf",
    "num_ctx": "4096",
    "system": 'Be "brief",\n\nplease.',
    "template": "{{ .Prompt }}",
}


def test_a_modelfile_reads_as_documented() -> None:
    """Instructions of any case, comments, quotes over several lines, repeated stops."""
    assert read_modelfile(TEXT) == DATA


@pytest.mark.parametrize(
    "text",
    [
        "SYSTEM a",
        "FROM a\nFROM b\nFROM c",
        "FROM a\nnonsense",
        "FROM a\nRUN b",
        'FROM a\nSYSTEM """b\nc',
    ],
)
def test_what_is_no_modelfile_is_refused(text: str) -> None:
    """No FROM, two of one, an unknown instruction, quotes without an end."""
    with pytest.raises(ModelfileError):
        read_modelfile(text)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from('"\n{}')))
def test_a_text_stays_inside_its_quotes(text: str) -> None:
    """It comes back whole between other instructions, or is refused as unsayable."""
    if not is_sayable(text):
        with pytest.raises(ValueError, match="no Modelfile"):
            ModelfileText(text)
        return

    found = read_modelfile(f"FROM a\nSYSTEM {ModelfileText(text)}\nPARAMETER num_ctx 1\n")

    assert found == {"stop": [], "from": "a", "system": text, "num_ctx": "1"}


@pytest.mark.parametrize("text", ['a"""', '"""', '"""\nFROM b', "a\tb", "a\u3000b", "\u200d", "\r"])
def test_what_ollama_would_cut_or_drop_is_unsayable(text: str) -> None:
    """Triple quotes end a value, and what is not printable is dropped in silence."""
    assert not is_sayable(text)


def test_verify_holds_the_file_to_what_was_meant() -> None:
    """A wrong template is a finding, as is a file that cannot be read."""
    file = RenderedFile(name="Modelfile", text=TEXT, language="modelfile", data=DATA)
    wrong = replace(file, text=TEXT.replace("{{ .Prompt }}", "{{ .Prompt }} "))
    other = replace(file, text=TEXT.replace("{{ .Prompt }}", "{{ .Response }}"))
    broken = replace(file, text=TEXT + "RUN\n")

    assert verify_files([file, wrong]) == ()
    assert [finding.code for finding in verify_files([other])] == ["FTC904"]
    assert [finding.code for finding in verify_files([broken])] == ["FTC900"]
