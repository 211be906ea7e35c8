"""The verifier lets good files through and names each kind of bad one."""

import json
import time
from typing import Any

import pytest
import yaml

from ftc.compiler.render.output.file import Language, RenderedFile
from ftc.compiler.render.output.values import Literal
from ftc.compiler.verify.explanations import EXPLANATIONS
from ftc.compiler.verify.keys import find_unknown
from ftc.compiler.verify.verifier import verify_files

SCRIPT = '''\
#!/usr/bin/env python3
"""Train.

    python train.py
"""

from pathlib import Path

from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

HERE = Path(__file__).resolve().parent
RUN = HERE / "run"
RATE = 2e-4  # the usual for LoRA, caf\u00e9; no really
NAMES = ["a", "caf\\u00e9"]
BYTES = 64 * 2**20
LORA = {"r": 8, "lora_alpha": 16}
SYSTEM = None

config = SFTConfig(output_dir=str(RUN), learning_rate=RATE, completion_only_loss=True)
trainer = SFTTrainer(model=NAMES[0], args=config, peft_config=LoraConfig(**LORA))
if SYSTEM:
    print(f"{SYSTEM}: {BYTES}")
trainer.train()
'''


def _file(
    name: str,
    text: str,
    language: Language = "python",
    data: Any = None,
    neutral: str | None = None,
) -> RenderedFile:
    """Return a file whose text has no values, unless `neutral` says what it is without them."""
    neutral = text if neutral is None else neutral
    return RenderedFile(name=name, text=text, language=language, data=data, neutral=neutral)


def _codes(*files: RenderedFile) -> list[str]:
    return [finding.code for finding in verify_files(files)]


def test_good_files_have_no_finding() -> None:
    """A script, settings, a shell script and prose that are all as they should be."""
    settings = {"distributed_type": "DEEPSPEED", "use_cpu": True, "mixed_precision": "no"}
    zero = {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}
    files = (
        _file("script.py", SCRIPT),
        _file("accelerate.yaml", yaml.safe_dump(settings), "yaml", settings),
        _file("deepspeed.json", json.dumps(zero), "json", zero),
        _file("run.sh", "#!/bin/sh\nset -eu\nexec python train.py\n", "shell"),
        _file("README.md", "# caf\u00e9 \u2192 GGUF\n", "markdown"),
        _file(".gitignore", "run/\n", "text"),
    )
    assert verify_files(files) == ()


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("FTC900", "x = ("),
        ("FTC900", "return 1"),
        ("FTC900", 'PATTERN = "\\d"'),
        ("FTC901", "print(nothing_defines_this)"),
        ("FTC901", "def f():\n    print(a)\n    a = 1"),
        ("FTC902", "# -*- coding: utf-7 -*-"),
        ("FTC903", "# a\u2028print()"),
        ("FTC903", "# a\x85b"),
        ("FTC903", "# a\rprint()"),
        ("FTC903", "# \ufeff"),
        ("FTC903", "if True:\n\tpass"),
        ("FTC905", "from trl import SFTConfig\nSFTConfig(warmup_ratio=0.1)"),
        ("FTC905", "import peft\npeft.LoraConfig(rank=8)"),
        ("FTC905", 'import peft\nLORA = {"rank": 8}\npeft.LoraConfig(**LORA)'),
        ("FTC905", 'import peft\npeft.LoraConfig(**{"rank": 8})'),
        ("FTC905", "import trl\ntrl.SFTTrainer(tokenizer=None)"),
    ],
)
def test_bad_python_is_named(code: str, line: str) -> None:
    """Each planted defect raises its own code, and the message says the file."""
    found = verify_files((_file("script.py", f"{line}\n"),))
    assert code in {finding.code for finding in found}
    assert all("`script.py`, line " in finding.message for finding in found)


@pytest.mark.parametrize(
    "line",
    [
        'NAME = "a"; print()',
        'NAME = "a"\nprint()',
        'NAME = "a" + str(1)',
        'NAME = "a".join([])',
        'NAME = ["a", str(1)]',
        'NAME = {"a": 1, **dict()}',
        'NAME = "a" or print()',
        'NAME = ("a", print())[0]',
        'NAME = "a" if print() else "b"',
        'NAME = f"{print()}"',
        "NAME = 1 + print()",
        "NAME = print()",
        'OTHER = "a"',
        'NAME = OTHER = "a"',
        "pass",
        "",
    ],
)
def test_a_value_is_one_literal_of_its_constant(line: str) -> None:
    """Whatever a value adds to a script or takes from it, besides one literal, is found."""
    file = _file("script.py", f"{line}\nprint(1)\n", neutral="NAME = ...\nprint(1)\n")
    assert _codes(file) == ["FTC902"]


@pytest.mark.parametrize(
    "neutral",
    [
        "print(...)",
        '"""Train ...."""',
        'print(f"{...}")',
        "def f(a=...):\n    return a",
        "if ...:\n    pass",
        "from ... import a",
    ],
)
def test_a_value_stands_in_a_constant_only(neutral: str) -> None:
    """A value in any other place of a template is found, whatever it is."""
    file = _file("script.py", neutral.replace("...", "1") + "\n", neutral=f"{neutral}\n")
    assert "FTC902" in _codes(file) or "FTC900" in _codes(file)


@pytest.mark.parametrize(
    "text", ['NAME = "a"', "NAME = -1.5", 'NAME = [\n    "a",\n]  # why: print()', "NAME = None"]
)
def test_literals_and_comments_are_free(text: str) -> None:
    """A constant can be any literal, over several lines, with any reason beside it."""
    assert _codes(_file("script.py", f"{text}\n# x; print()\n", neutral="NAME = ...\n")) == []


@pytest.mark.parametrize("text", ["\x00", "\ud800", "x" * 10 + "(" * 5000, "-" * 100_000 + "1"])
def test_hopeless_python_is_a_finding(text: str) -> None:
    """Null bytes, half surrogates and nesting beyond the parser end in findings too."""
    assert "FTC900" in _codes(_file("script.py", f"{text}\n"))


def test_rendered_literals_pass() -> None:
    """What `Literal` prints is a whole literal, whatever the value."""
    values = ["'''\"\"\"", "\u2028\n\r\x00", "{{ }}", "${x}`y`", -1.5, [1, ["a"]], {"a;b": None}]
    lines = [f"A{i} = {Literal(value)}\n" for i, value in enumerate(values)]
    neutral = "".join(f"A{i} = ...\n" for i in range(len(values)))
    assert verify_files((_file("x.py", "".join(lines), neutral=neutral),)) == ()


@pytest.mark.parametrize(
    ("text", "data", "code"),
    [
        ('{"a": 1', {"a": 1}, "FTC900"),
        ('{"a": 1}', {"a": 2}, "FTC904"),
        ('{"a": 1}', {"a": True}, "FTC904"),
        ('{"a": 1}', {"a": 1.0}, "FTC904"),
        ('{"a": [1, 2]}', {"a": [1]}, "FTC904"),
        ('{"a": {}}', {"a": {"b": 1}}, "FTC904"),
        ('{"a": 1}', None, "FTC904"),
        ("[" * 100_000, [], "FTC900"),
    ],
)
def test_json_is_held_against_its_data(text: str, data: Any, code: str) -> None:
    """A file that does not read back to its own data is a finding, number types included."""
    assert _codes(_file("spec.json", text, "json", data)) == [code]


def test_yaml_is_held_against_its_data() -> None:
    """YAML 1.1 reads the bare word `no` as false: that is a change."""
    wrong = _file("k.yaml", "mixed_precision: no\n", "yaml", {"mixed_precision": "no"})
    right = _file("k.yaml", "mixed_precision: 'no'\n", "yaml", {"mixed_precision": "no"})
    broken = _file("k.yaml", "a: [1\n", "yaml", {"a": [1]})
    assert _codes(wrong, right, broken) == ["FTC904", "FTC900"]


def test_unknown_setting_is_named() -> None:
    """Keys that DeepSpeed or accelerate would not take are named by their path."""
    zero = {"zero_optimization": {"stage": 3, "stage3_gather_fp16_weights_on_model_save": True}}
    launch = {"num_procs": 2, "deepspeed_config": {"deepspeed_config_file": "x", "zero": 2}}
    found = verify_files(
        (
            _file("deepspeed.json", json.dumps(zero), "json", zero),
            _file("accelerate.yaml", yaml.safe_dump(launch), "yaml", launch),
        )
    )
    assert [finding.code for finding in found] == ["FTC905"] * 3
    said = " ".join(finding.message for finding in found)
    assert "`zero_optimization.stage3_gather_fp16_weights_on_model_save`" in said
    assert "`num_procs`" in said
    assert "`deepspeed_config.zero`" in said


def test_block_without_a_list_is_unknown() -> None:
    """The table is closed: the inside of a block that it does not list is refused."""
    assert list(find_unknown("deepspeed", {"tensorboard": {"enabled": True}})) == ["tensorboard"]
    assert list(find_unknown("deepspeed", {"optimizer": {"type": "AdamW"}})) == []


def test_shell_is_ascii() -> None:
    """A letter that no table of ftc's own has cannot be in a shell script."""
    assert _codes(_file("run.sh", "echo caf\u00e9\n", "shell")) == ["FTC906"]


def test_pages_are_complete() -> None:
    """Codes are in their range and unique, and each page has its four parts."""
    codes = [page.code for page in EXPLANATIONS]
    assert codes == sorted(set(codes))
    assert all("FTC900" <= code <= "FTC909" for code in codes)
    for page in EXPLANATIONS:
        for part in ("What it is.", "Why it matters.", "Example.", "Use instead."):
            assert f"**{part}**" in page.text


def test_a_bundle_is_verified_fast() -> None:
    """Twelve files take well under the 60 ms that a cold compile has for them, once imported."""
    body = "".join(f"def f{i}(a, b):\n    return [x + {i} for x in a if b]\n\n" for i in range(70))
    files = tuple(_file(f"s{i}.py", SCRIPT + body) for i in range(7))
    verify_files(files)
    times = []
    for _ in range(5):
        started = time.process_time()
        assert verify_files(files) == ()
        times.append(time.process_time() - started)
    assert min(times) < 0.25  # a slow machine; 0.05 s on others
