"""Bundles of many kinds: scripts that parse, pass ruff, keep their size and hold no more."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.resolve.facts import KnownFacts
from ftc.compiler.verify.verifier import verify_files
from ftc.spec.sections import Spec
from tests.compiler.render.stage_folders import write_scripts

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]

CPU = {
    "/facts/hardware/kind": "cpu",
    "/facts/hardware/name": "cpu",
    "/facts/hardware/compute_capability": None,
    "/facts/hardware/bf16": False,
    "/facts/hardware/flash_attention_2": False,
    "/facts/hardware/link": "none",
}
FULL = {"/spec/method/type": "full"}
PLAIN_COLUMNS = {
    f"/facts/data/{name}": None
    for name in ("messages", "prompt", "completion", "instruction", "input", "output", "text")
}
CHAT = {**PLAIN_COLUMNS, "/facts/data/form": "chat", "/facts/data/messages": "messages"}
TEXT = {**PLAIN_COLUMNS, "/facts/data/form": "text", "/facts/data/text": "body"}
INSTRUCTION = {
    **PLAIN_COLUMNS,
    "/facts/data/form": "instruction",
    "/facts/data/instruction": "instruction",
    "/facts/data/input": "input",
    "/facts/data/output": "output",
}
WRAPPED = {
    "/facts/model/wrapper": "Qwen2_5_VLForConditionalGeneration",
    "/facts/model/text_prefix": "model.language_model",
}
#: The thinker of Qwen3-Omni, whose targets PEFT cuts to the last parts of their names.
CUT_SHORT = {
    "/facts/model/wrapper": "Qwen3OmniMoeThinkerForConditionalGeneration",
    "/facts/model/text_prefix": "model.language_model",
    "/facts/model/architecture": "Qwen3MoeForCausalLM",
    "/config": {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "hidden_size": 896,
        "intermediate_size": 4864,
        "moe_intermediate_size": 768,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "vocab_size": 151936,
        "max_position_embeddings": 32768,
    },
}
VARIANTS: dict[str, dict[str, Any]] = {
    "lora on one gpu": {},
    "a class with an older name": {
        "/facts/model/architecture": "MptForCausalLM",
        "/facts/model/model_type": "mpt",
    },
    "lora in a wrapper": WRAPPED,
    "full in a wrapper": {**WRAPPED, **FULL},
    "full on a cpu": {**FULL, **CPU},
    "full in ddp on a cpu": {
        **FULL,
        **CPU,
        "/facts/hardware/count": 2,
        "/spec/distribution/strategy": "ddp",
    },
    "full with zero2": {
        **FULL,
        "/facts/hardware/count": 4,
        "/spec/distribution/strategy": "zero2",
    },
    "full with zero3": {
        **FULL,
        "/facts/hardware/count": 8,
        "/spec/distribution/strategy": "zero3",
    },
    "lora with zero3 on a cpu": {
        **CPU,
        "/facts/hardware/count": 2,
        "/spec/distribution/strategy": "zero3",
    },
    "qlora on one gpu": {"/spec/method/type": "qlora"},
    "qlora in fp16": {"/spec/method/type": "qlora", "/facts/hardware/bf16": False},
    "qlora with zero2 on a cpu": {
        **CPU,
        "/spec/method/type": "qlora",
        "/facts/hardware/count": 2,
        "/spec/distribution/strategy": "zero2",
    },
    "full with zero1": {
        **FULL,
        "/facts/hardware/count": 4,
        "/spec/distribution/strategy": "zero1",
    },
    "full, its optimizer offloaded by one process": {
        **FULL,
        "/spec/distribution/offload": "optimizer",
    },
    "full, its weights offloaded": {
        **FULL,
        "/facts/hardware/count": 2,
        "/spec/distribution/offload": "parameters",
    },
    "full, its optimizer on a disk": {
        **FULL,
        "/spec/distribution/offload": "optimizer",
        "/spec/distribution/nvme_path": "/local_nvme",
    },
    "full, its weights on a disk": {
        **FULL,
        "/facts/hardware/count": 2,
        "/spec/distribution/offload": "parameters",
        "/spec/distribution/nvme_path": "/local_nvme",
    },
    "chat from jsonl": {**CHAT, "/facts/data/format": "jsonl"},
    "chat with a system turn from json": {
        **CHAT,
        "/facts/data/format": "json",
        "/spec/data/system": "You sort tickets.",
    },
    "text from parquet": {**TEXT, "/facts/data/format": "parquet"},
    "instructions, all tokens learned": {**INSTRUCTION, "/spec/objective/loss_on": "all"},
    "a base model without a template": {"/facts/tokenizer/template_sha256": None},
    "a hub data set": {"/facts/data/origin": "hub", "/facts/data/path": None},
    "no held-out rows": {"/spec/data/splits/test": 0.0, "/spec/data/splits/validation": 0.0},
    "no export": {"/spec/export/types": []},
    "code of the model's own": {"/spec/model/trust_remote_code": True},
    "pickled weights": {"/spec/model/pickled_weights": True},
    "pickled weights, in four bits": {
        "/spec/model/pickled_weights": True,
        "/spec/method/type": "qlora",
    },
    "pickled weights and code of the model's own, on a cpu": {
        **FULL,
        **CPU,
        "/spec/model/pickled_weights": True,
        "/spec/model/trust_remote_code": True,
    },
    "fp16": {"/spec/training/precision": "fp16", "/facts/hardware/bf16": False},
    "fixed steps, stopping early": {
        "/spec/training/max_steps": 30,
        "/spec/training/early_stopping": 3,
    },
    "few rows of many": {"/spec/data/max_rows": 500},
    "rows dropped, nothing repaired": {
        "/spec/data/cleaning/overlong": "drop",
        "/spec/data/cleaning/repair_encoding": False,
        "/spec/data/cleaning/drop_duplicates": False,
    },
    "a template that does not close": {"/facts/tokenizer/closes_answer": False},
    "the longest script": {
        "/facts/hardware/count": 2,
        "/spec/distribution/strategy": "zero3",
        "/spec/training/early_stopping": 3,
        "/spec/model/trust_remote_code": True,
        **FULL,
    },
    "packed rows": {"/spec/data/packing": "best-fit"},
    "packed rows, told apart by FlashAttention": {
        "/spec/data/packing": "best-fit",
        "/spec/model/attention": "flash_attention_2",
    },
    "the longest script with packed rows": {
        "/spec/data/packing": "best-fit",
        "/facts/hardware/count": 2,
        "/spec/distribution/strategy": "zero3",
        "/spec/training/early_stopping": 3,
        "/spec/model/trust_remote_code": True,
        **FULL,
    },
    "rows grouped by length": {"/spec/training/group_by_length": True},
    "Liger's kernels": {"/spec/training/liger": True},
    "a Falcon with one key head": {
        "/facts/model/model_type": "falcon",
        "/config/num_key_value_heads": 1,
    },
    "a class with draft layers": {"/facts/model/architecture": "Qwen3_5ForConditionalGeneration"},
    "a GPT-NeoX": {"/facts/model/architecture": "GPTNeoXForCausalLM"},
    "an adapter of a GPT-NeoX": {
        "/facts/model/architecture": "GPTNeoXForCausalLM",
        "/spec/export/types": [],
        "/spec/export/adapter": True,
    },
    "a long system turn": {"/spec/data/system": "Answer with the one word that fits. " * 20},
}


def render(
    build_known: BuildKnown, edits: Mapping[str, Any], **more: Any
) -> dict[str, RenderedFile]:
    """Return the files of one variant by name."""
    spec, facts = build_known(edits)
    paths = {
        "data_path": None if facts.data.path is None else "../tickets.csv",
        "model_path": "../model" if "cpu" in facts.hardware.name else None,
        "chat_template": None,
    }
    source = BundleSource(
        spec=spec,
        written={
            "name": spec.name,
            "trust_remote_code": spec.model.trust_remote_code,
            "pickled_weights": spec.model.pickled_weights,
        },
        facts=facts,
        plan=make_plan(spec, facts),
        **{**paths, **more},
    )
    return {file.name: file for file in render_bundle(source)}


@pytest.fixture(scope="module")
def rendered() -> dict[str, Mapping[str, RenderedFile]]:
    """Keep the bundle of each variant, because many tests look at it."""
    return {}


@pytest.fixture(params=VARIANTS, ids=lambda name: name.replace(" ", "-"))
def files(
    request: pytest.FixtureRequest,
    build_known: BuildKnown,
    rendered: dict[str, Mapping[str, RenderedFile]],
) -> dict[str, RenderedFile]:
    """Give the bundle of each variant."""
    if request.param not in rendered:
        rendered[request.param] = render(build_known, VARIANTS[request.param])
    return dict(rendered[request.param])


def test_verifies(files: dict[str, RenderedFile]) -> None:
    """The compiler's own verifier has nothing to say."""
    assert verify_files(tuple(files.values())) == ()


def test_passes_ruff(files: dict[str, RenderedFile], tmp_path: Path) -> None:
    """No unused name, no unsorted import, no long line, no known trap."""
    write_scripts(tmp_path, files, *(name.removesuffix(".py") for name in files))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet"]
    command += ["--select", "E,F,I,B,UP", "--line-length", "100"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.stdout + done.stderr == ""


def test_keeps_its_size(files: dict[str, RenderedFile]) -> None:
    """Scripts stay short enough to be read at once."""
    sizes = {name: file.text.count("\n") for name, file in files.items() if "/" not in name}

    assert max(size for name, size in sizes.items() if name.endswith(".py")) <= 220
    assert sizes["train.py"] <= 200
    assert sizes["run.sh"] < 40


def test_shell_is_sound(files: dict[str, RenderedFile], tmp_path: Path) -> None:
    """Bash reads run.sh without running it."""
    script = tmp_path / "run.sh"
    script.write_text(files["run.sh"].text, encoding="utf-8")

    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)

    assert done.stderr == ""


def test_every_constant_is_read(files: dict[str, RenderedFile]) -> None:
    """No script carries a constant that neither it nor a script that imports it uses."""
    everything = "".join(file.text for file in files.values() if file.language == "python")
    for file in files.values():
        if file.language == "python":
            names = {
                target.id
                for node in ast.parse(file.text).body
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name) and target.id.isupper()
            }
            module = file.name.removesuffix(".py")
            unread = {name for name in names if len(re.findall(rf"\b{name}\b", file.text)) < 2}
            shared = {name for name in unread if f"{module}.{name}" in everything}
            assert unread == shared, file.name


def test_run_sh_runs_stages_that_are_there(files: dict[str, RenderedFile]) -> None:
    """Every script that run.sh and the README name is in the bundle, and the reverse."""
    text = "\n".join(files[name].text for name in files if name.endswith(".py"))
    stages = files["run.sh"].text.partition("STAGES\n")[2]
    imported = {f"{name}.py" for name in re.findall(r"^import (\w+)$", text, re.MULTILINE)}
    own = {name for name in files if name.endswith(".py") and "/" not in name}
    scripts = own - {"ask.py"} - imported

    assert set(re.findall(r"\b(\w+\.py)\b", stages)) == scripts
    assert scripts <= set(re.findall(r"\b(\w+\.py)\b", files["README.md"].text))


def test_run_sh_runs_the_stages_of_the_plan(files: dict[str, RenderedFile]) -> None:
    """Those that have a script of their own, in the order of `ftc watch`."""
    planned = json.loads(files["plan.json"].text)["stages"]
    commands = files["run.sh"].text.partition("STAGES\n")[2].replace("./node.sh", "train.py")
    run = [name.removesuffix(".py") for name in re.findall(r"\b\w+\.py\b", commands)]

    assert [name for name in run if name in planned] == [name for name in planned if name in run]
    assert run[:2] == planned[:2] == ["prepare", "train"]
    assert ("evaluate" in run) == ("evaluate" in planned)


def test_requirements_are_what_is_imported(files: dict[str, RenderedFile]) -> None:
    """A pin that only some runs need is there exactly when it is needed."""
    pins = files["requirements.txt"].text
    train = files["train.py"].text

    assert ("peft" in pins) == ("from peft" in train)
    assert ("deepspeed" in pins) == ("deepspeed.json" in files)
    assert ("llama-cpp-python" in pins) == ("runtime/llama_cpp/converter.py" in files)


def find_loads(files: Mapping[str, RenderedFile]) -> list[tuple[str, set[str]]]:
    """Return where models are loaded, and the names and words that each call mentions."""
    calls = [
        node
        for file in files.values()
        if file.language == "python"
        for node in ast.walk(ast.parse(file.text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".from_pretrained")
    ]
    return [(ast.unparse(call.func), {ast.unparse(k) for k in call.keywords}) for call in calls]


def test_weights_are_safetensors(files: dict[str, RenderedFile]) -> None:
    """Every model is loaded from safetensors, but for a base whose spec allows pickles."""
    models = [said for name, said in find_loads(files) if name.startswith("AutoModel")]
    text = "".join(file.text for file in files.values() if file.language == "python")

    bases = [said for said in models if "use_safetensors=True" not in said]
    assert models
    assert (bases != []) == ('"pickled_weights": true' in files["spec.json"].text)
    assert "torch.load(" not in text
    assert "import pickle" not in text


def test_no_code_of_a_model_runs_untold(files: dict[str, RenderedFile]) -> None:
    """No script trusts remote code, for model or tokenizer, unless the spec does."""
    text = "".join(file.text for file in files.values() if file.language == "python")

    trusted = '"trust_remote_code": true' in files["spec.json"].text
    assert ("trust_remote_code" in text) == trusted
    assert find_loads(files)


def test_processes_agree(files: dict[str, RenderedFile]) -> None:
    """If accelerate.yaml starts several processes, train.py expects them."""
    config = yaml.safe_load(files["accelerate.yaml"].text)

    several = config["num_processes"] > 1 or config["distributed_type"] == "DEEPSPEED"
    assert ("runtime.parallel.distributed" in files["train.py"].text) == several


def test_a_tower_is_never_trained(build_known: BuildKnown) -> None:
    """The wrapper's class loads it; LoRA has full names, and a full fine-tune freezes the rest."""
    lora, full, plain = (
        render(build_known, VARIANTS[name])["train.py"].text
        for name in ("lora in a wrapper", "full in a wrapper", "lora on one gpu")
    )
    pattern = ast.literal_eval(re.findall(r"^LORA_TARGETS = (\".*\")", lora, re.MULTILINE)[0])
    linear = "layers.11.self_attn.q_proj"

    assert re.fullmatch(pattern, f"model.language_model.{linear}")
    assert not re.fullmatch(pattern, f"model.visual.{linear}")
    assert 'TRAINED = ["model.language_model.", "lm_head."]' in full
    assert "weight.requires_grad = name.startswith(tuple(TRAINED))" in full
    for script, loads in ((lora, True), (full, True), (plain, False)):
        assert ("AutoModelForImageTextToText.from_pretrained(" in script) == loads
        assert ("AutoModelForCausalLM" in script) != loads


def test_a_class_that_asks_for_types_is_given_them(build_known: BuildKnown) -> None:
    """Molmo2's scripts mark rows of text as text; those of other wrappers do not."""
    asks = {**WRAPPED, "/facts/model/wrapper": "Molmo2ForConditionalGeneration"}
    script = render(build_known, asks)["train.py"].text

    assert "\nmark_as_text(model)" in script
    assert "load_by_names_in_memory()" in script
    assert "mark_as_text" not in render(build_known, WRAPPED)["train.py"].text


def test_what_peft_cuts_short_is_fenced_in(build_known: BuildKnown) -> None:
    """Where PEFT keeps only the last parts of the targets, those of the tower are excluded."""
    script = render(build_known, CUT_SHORT)["train.py"].text
    excluded = ast.literal_eval(re.findall(r"^LORA_EXCLUDED = (\".*\")", script, re.MULTILINE)[0])
    linear = "layers.11.self_attn.q_proj"

    assert re.fullmatch(excluded, f"model.audio_tower.{linear}")
    assert not re.fullmatch(excluded, f"model.language_model.{linear}")
    assert "exclude_modules=LORA_EXCLUDED" in script
    assert "LORA_EXCLUDED" not in render(build_known, WRAPPED)["train.py"].text


def test_a_config_says_what_the_converter_reads(build_known: BuildKnown) -> None:
    """Falcon's one key head and GPT-NeoX's rotated share, in their bundles and in no other."""
    names = ("a Falcon with one key head", "an adapter of a GPT-NeoX", "lora on one gpu")
    falcon, neox, other = (render(build_known, VARIANTS[name])["export.py"].text for name in names)

    assert "use_one_key_head" in falcon
    assert "name_rotary_share" in neox
    assert "use_one_key_head" not in neox + other
    assert "name_rotary_share" not in falcon + other


def test_a_class_has_the_name_that_the_converter_knows(build_known: BuildKnown) -> None:
    """The library saves `MptForCausalLM`; the name only changes for a GGUF export."""
    model = {"/facts/model/architecture": "MptForCausalLM", "/facts/model/model_type": "mpt"}
    script = render(build_known, model)["export.py"].text
    without = render(build_known, {**model, "/spec/export/types": []})["export.py"].text

    assert 'CONVERTED_CLASS = "MPTForCausalLM"' in script
    assert "partial(name_class, name=CONVERTED_CLASS)," in script
    assert "name_class" not in without + render(build_known, {})["export.py"].text


def test_a_first_token_that_training_never_read_is_left_out(build_known: BuildKnown) -> None:
    """Where the converter would take it from the kind of tokenizer, and nowhere else."""
    edits = VARIANTS["lora on one gpu"]
    place = "/facts/tokenizer/conversion/unwritten_bos"
    said = render(build_known, {**edits, place: True})["export.py"].text
    assert "leave_out_bos" in said
    assert "leave_out_bos" not in render(build_known, edits)["export.py"].text


def test_template_is_carried_as_it_is(build_known: BuildKnown) -> None:
    """A chat template of the spec is copied as data, whatever it holds."""
    template = "{{ bos_token }}{% for m in messages %}\t{{ m['content'] }}\n{% endfor %}"

    files = render(build_known, {}, chat_template=template)

    assert files["chat_template.jinja"].text == template
    assert "chat_template.jinja" in files["prepare.py"].text
    assert "chat_template.jinja" in files["export.py"].text
