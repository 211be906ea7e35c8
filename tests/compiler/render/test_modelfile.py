"""The Modelfiles of bundles agree with the facts and the spec, and contain nothing else."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.resolve.chat_template.go_template import render_go
from ftc.compiler.resolve.chat_template.ollama import collate
from ftc.compiler.resolve.facts import KnownFacts
from ftc.compiler.verify.modelfile import read_modelfile
from ftc.compiler.verify.verifier import verify_files
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
OLLAMA = "/facts/tokenizer/ollama"
ASKED = [{"role": "user", "content": "Hi"}]


def render(build_known: BuildKnown, edits: Mapping[str, Any]) -> dict[str, RenderedFile]:
    """Return the files of a bundle by name; they are sound."""
    spec, facts = build_known(edits)
    source = BundleSource(
        spec=spec,
        written={},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path="../tickets.csv",
        model_path="../model",
        chat_template=None,
    )
    files = render_bundle(source)
    assert verify_files(files) == ()
    return {file.name: file for file in files}


def test_it_names_the_files_and_says_the_template(build_known: BuildKnown) -> None:
    """The first type answers, the others stand as comments; the family's stops and template."""
    files = render(build_known, {"/spec/export/types": ["Q8_0", "Q4_K_M"]})
    text = files["Modelfile"].text
    said = read_modelfile(text)

    assert said["from"] == "./run/quantize/case-Q8_0.gguf"
    assert "\n# FROM ./run/quantize/case-Q4_K_M.gguf\n" in text
    assert said["stop"] == ["<|im_end|>"]
    assert int(said["num_ctx"]) >= 1024
    assert render_go(said["template"], collate(ASKED)) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_ollama_answers_as_the_bundle_does(build_known: BuildKnown) -> None:
    """It is greedy; an answer that is a label has at most as many tokens as ask.py writes."""
    files = render(build_known, {"/facts/data/labels": []})
    said = read_modelfile(files["Modelfile"].text)
    assert (said["temperature"], said["repeat_penalty"]) == ("0", "1")
    assert "num_predict" not in said
    labels = {"/facts/data/labels": [{"name": "refund", "rows": 400}]}
    files = render(build_known, labels)
    (most,) = re.findall(r"^ANSWER_TOKENS = (\d+)", files["ask.py"].text, re.MULTILINE)
    assert read_modelfile(files["Modelfile"].text)["num_predict"] == most


def test_template_options_are_one_mode(build_known: BuildKnown) -> None:
    """Both scripts have them as a literal; the Go template ends as the chat template does."""
    said = 'low"); import os  # {{ x }}'
    empty = "<think>\n\n</think>\n\n"
    chatml = {"family": "chatml", "opening": empty, "default_system": "", "begun": ""}
    edits = {
        "/spec/data/template_options": {"enable_thinking": False, "effort": said},
        "/spec/data/reasoning": "mask",
        OLLAMA: {**chatml, "obstacle": None},
    }
    files = render(build_known, edits)

    for script, call in (("prepare.py", "set_default_of"), ("export.py", "set_defaults_in")):
        text = files[script].text
        assert call in text
        assigned = (node for node in ast.parse(text).body if isinstance(node, ast.Assign))
        values = {ast.unparse(node.targets[0]): node.value for node in assigned}
        given = ast.literal_eval(values["TEMPLATE_OPTIONS"])
        assert given == {"enable_thinking": False, "effort": said}
    assert "learn=partial(mask_reasoning, learn=" in files["prepare.py"].text
    template = read_modelfile(files["Modelfile"].text)["template"]
    assert render_go(template, collate(ASKED)).endswith(f"<|im_start|>assistant\n{empty}")
    without = render(build_known, {"/spec/data/reasoning": "strip"})
    assert "strip=strip," in without["prepare.py"].text
    assert "TEMPLATE_OPTIONS" not in without["export.py"].text


@pytest.mark.parametrize("obstacle", ["unknown", "date", "bos"])
def test_another_template_has_no_line(build_known: BuildKnown, obstacle: str) -> None:
    """Ollama reads the template inside the GGUF file."""
    facts = {"family": None, "default_system": "", "opening": "", "begun": "", "obstacle": obstacle}
    files = render(build_known, {OLLAMA: facts})
    said = read_modelfile(files["Modelfile"].text)

    assert "template" not in said
    assert said["stop"] == []


def test_rows_without_a_template_are_asked_as_they_were_written(build_known: BuildKnown) -> None:
    """A line for the system message and one for the question; a text goes on as it is."""
    plain = {
        OLLAMA: None,
        "/facts/tokenizer/template_sha256": None,
        "/spec/data/system": "Be kind.",
    }
    said = read_modelfile(render(build_known, plain)["Modelfile"].text)
    values = {"System": said["system"], "Prompt": "Hi", "Response": ""}
    text = {"/facts/data/form": "text", "/facts/data/text": "body", "/facts/data/prompt": None}
    other = read_modelfile(render(build_known, {**plain, **text})["Modelfile"].text)

    assert render_go(said["template"], values) == "Be kind.\nHi\n"
    assert render_go(other["template"], values) == "Hi"
    assert "system" not in other


@pytest.mark.parametrize(
    "system",
    [
        'FROM x\nSYSTEM "a"\n# {{ .System }} "" %} {% raw %}',
        '"quoted"',
        " leading and trailing ",
        "\n\n",
        "caf\u00e9 \U0001f600",
    ],
)
def test_a_system_message_is_one_value(build_known: BuildKnown, system: str) -> None:
    """Whatever it looks like, Ollama reads it as it is."""
    said = read_modelfile(render(build_known, {"/spec/data/system": system})["Modelfile"].text)

    assert said["system"] == system
    assert said["from"] == "./run/quantize/case-Q8_0.gguf"


@pytest.mark.parametrize("system", ['"""\nFROM evil\n"""', "tab\there", "wide\u3000space"])
def test_a_system_message_that_cannot_be_said_is_left_out(
    build_known: BuildKnown, system: str
) -> None:
    """Rather than cut or changed in silence; a finding says so."""
    said = read_modelfile(render(build_known, {"/spec/data/system": system})["Modelfile"].text)

    assert "system" not in said


def test_what_a_model_brings_along_stays_inside_its_action(build_known: BuildKnown) -> None:
    """A default system message of hostile letters neither ends the value nor becomes an action."""
    hostile = '"""\nFROM evil\n{{ .Messages }} }} \\" \u2028'
    facts = {
        "family": "chatml",
        "default_system": hostile,
        "opening": '"""<think>\n',
        "begun": '{{"""',
        "obstacle": None,
    }
    said = read_modelfile(render(build_known, {OLLAMA: facts})["Modelfile"].text)

    assert said["from"] == "./run/quantize/case-Q8_0.gguf"
    assert render_go(said["template"], collate(ASKED)) == (
        f'{{{{"""<|im_start|>system\n{hostile}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n'
        '<|im_start|>assistant\n"""<think>\n'
    )


def test_an_adapter_has_a_modelfile_of_its_own(build_known: BuildKnown) -> None:
    """On the base that it was held against; beside the merged model's, or alone."""
    both = render(build_known, {"/spec/export/adapter": True})
    alone = render(build_known, {"/spec/export/adapter": True, "/spec/export/types": []})
    said = read_modelfile(both["Modelfile.adapter"].text)

    assert said["from"] == "./run/quantize/case-base-F16.gguf"
    assert said["adapter"] == "./run/quantize/case-adapter.gguf"
    assert said["template"] == read_modelfile(both["Modelfile"].text)["template"]
    assert read_modelfile(alone["Modelfile.adapter"].text) == said
    assert "Modelfile" not in alone
    carried = {name.rpartition("/")[2] for name in alone if name.startswith("runtime/")}
    assert {"adapter_export.py", "converter.py", "fidelity.py", "gguf_file.py"} <= carried
    assert not {"quantizing.py", "rounding.py", "gguf_report.py"} & carried
    assert "llama-cpp-python" in alone["requirements.txt"].text
