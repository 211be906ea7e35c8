"""Real files: dialects of YAML, commands over several lines, notebooks, hostile input."""

import json
from pathlib import Path

import pytest

from ftc.compiler.importing.importer import Import, import_file

AXOLOTL = """base_model: Qwen/Qwen3-8B
datasets: [{path: rows.jsonl, type: chat_template}]
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 3
learning_rate: 2e-5
"""


def read(tmp_path: Path, text: str, name: str = "config.yaml") -> Import:
    """Import a text from a file of this name."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return import_file(str(path))


def fields(result: Import) -> dict[str, object]:
    """Return the fields by pointer; the import must have succeeded."""
    assert result.findings == ()
    assert result.imported is not None
    return dict(result.imported.fields)


@pytest.mark.parametrize(
    "text",
    [
        AXOLOTL.replace("2e-5", "&rate 2e-5") + "weight_decay: *rate\n",
        AXOLOTL + "special: !!python/object/apply:os.system [echo]\n",
        AXOLOTL + "output_dir: {{ folder }}/out\n",
        AXOLOTL + "---\nsecond: document\n",
        "%YAML 1.2\n---\n" + AXOLOTL,
        AXOLOTL + "optimizer: !choice adamw_torch\n",
        AXOLOTL.replace("rows.jsonl, type", "'rows.jsonl', 'type'"),
    ],
    ids=["anchor", "python tag", "template", "documents", "directive", "own tag", "quotes"],
)
def test_dialects_of_yaml(tmp_path: Path, text: str) -> None:
    """What a strict reader refuses is read, and nothing of it runs."""
    found = fields(read(tmp_path, text))
    assert found["/data/source"] == "rows.jsonl"
    assert found["/training/learning_rate"] == 2e-5
    assert found["/training/global_batch"] == 6


def test_a_second_document_is_listed(tmp_path: Path) -> None:
    """Its keys are not lost silently."""
    result = read(tmp_path, AXOLOTL + "---\nsecond: document\n")
    assert result.imported is not None
    assert [each.key for each in result.imported.keys if "document" in each.key] == [
        "document 2.second"
    ]


def test_gpus_multiply_the_batch(tmp_path: Path) -> None:
    """The global batch is that of all GPUs."""
    path = tmp_path / "c.yaml"
    path.write_text(AXOLOTL, encoding="utf-8")
    spec = import_file(str(path), hardware="8x H100-80GB").spec
    assert spec is not None
    assert spec["training"]["global_batch"] == 48
    assert spec["hardware"] == "8x H100-80GB"


def test_a_value_of_an_expression_is_left(tmp_path: Path) -> None:
    """A name stands for its literal; a call is not run."""
    code = (
        "from trl import SFTConfig, SFTTrainer\n"
        "rate, size = pick(), 4\nepochs = 1\nepochs = 3\n"
        "m = FastLanguageModel.from_pretrained('a/b')\n"
        "d = load_dataset('c/d')\n"
        "t = SFTTrainer(m, args=SFTConfig(learning_rate=rate, num_train_epochs=epochs,\n"
        "    weight_decay=open('x').read(), per_device_train_batch_size=2 * 2))\n"
    )
    result = read(tmp_path, code, "train.py")
    found = fields(result)
    assert found["/training/epochs"] == 3
    assert found["/training/micro_batch"] == 4
    assert result.imported is not None
    reasons = {each.key: each.reason for each in result.imported.keys}
    assert reasons["SFTConfig.learning_rate"] == "computed"
    assert reasons["SFTConfig.weight_decay"] == "computed"


def test_a_cell_that_is_no_python_is_listed(tmp_path: Path) -> None:
    """The other cells are read."""
    cells = [
        "from unsloth import FastLanguageModel\nm = FastLanguageModel.from_pretrained('a/b')",
        "this is no python",
        "t = SFTTrainer(m, train_dataset=load_dataset('c/d'))",
    ]
    book = {"nbformat": 4, "cells": [{"cell_type": "code", "source": each} for each in cells]}
    result = read(tmp_path, json.dumps(book), "book.ipynb")
    assert fields(result)["/model/id"] == "a/b"
    assert result.imported is not None
    assert {each.key: each.reason for each in result.imported.keys}["cell 2"] == "unparsed"


@pytest.mark.parametrize(
    ("text", "beta"),
    [
        (AXOLOTL + "rl: simpo\nrl_beta: 2.0\nsimpo_gamma: 1.0\n", 2.0),
        (
            (
                "model_name_or_path: a/b\nstage: dpo\ntemplate: llama3\ndataset: pairs\n"
                "pref_loss: simpo\npref_beta: 2.5\nsimpo_gamma: 1.0\n"
            ),
            2.5,
        ),
    ],
)
def test_simpo_has_its_margin(tmp_path: Path, text: str, beta: float) -> None:
    """As axolotl and LLaMA-Factory name it."""
    found = fields(read(tmp_path, text))
    assert found["/objective/type"] == "simpo"
    assert found["/objective/beta"] == beta
    assert found["/objective/margin"] == 1.0


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    """It is listed without its letters."""
    token = "hf_" + "a" * 34
    result = read(tmp_path, AXOLOTL + f"hub_token: {token}\n")
    assert token not in repr(result.imported)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["model.layers.[4-6]."], {"type": "freeze", "layers": [4, 5, 6]}),
        (
            ["^lm_head.weight$", "model.layers.2[89]+.", "model.layers.30.*"],
            {"type": "freeze", "layers": [28, 29, 30], "also_train": ["head"]},
        ),
        (["^model.language_model.*", "^lm_head.*"], "full"),
        (["model.layers.4.mlp.gate"], None),
        (["^lm_head.weight$"], None),
        (["model.layers.(."], None),
        ([], "full"),
    ],
)
def test_patterns_of_weights(tmp_path: Path, patterns: list[str], expected: object) -> None:
    """Whole layers are a method of ftc; a selection inside of them is not."""
    result = read(tmp_path, AXOLOTL + f"unfrozen_parameters: {json.dumps(patterns)}\n")
    assert (result.spec["method"] if result.spec is not None else None) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("roles_to_train: [assistant]", "default_alike"),
        ("roles_to_train: [assistant, user]", "masking"),
        ("train_on_eos: turn", "default_alike"),
        ("train_on_eos: last", "masking"),
        ("train_on_eot: none", "masking"),
        ("message_field_training: learn", "masking"),
    ],
)
def test_which_tokens_of_a_chat_are_learned(tmp_path: Path, line: str, reason: str) -> None:
    """A selection that ftc does not make is refused, and the usual one is what ftc does."""
    key, _, value = line.partition(": ")
    text = AXOLOTL.replace("type: chat_template", f"type: chat_template, {key}: {value}")
    result = read(tmp_path, text)
    assert result.imported is not None
    became = next(each for each in result.imported.keys if each.key.endswith(key))
    assert became.reason == reason
    assert [each.code for each in result.findings] == ["FTC091"] * (reason == "masking")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("do_train: true", "left"),
        ("do_train: false", "refused"),
        ("shuffle_merged_datasets: false", "left"),
    ],
)
def test_another_value_is_not_what_ftc_does(tmp_path: Path, line: str, kind: str) -> None:
    """Only the value that ftc has itself is reported as such."""
    result = read(tmp_path, f"{AXOLOTL}{line}\n")
    assert result.imported is not None
    became = next(each for each in result.imported.keys if each.key == line.partition(":")[0])
    assert became.kind == kind
    assert (became.reason == "default_alike") == (line == "do_train: true")


@pytest.mark.parametrize(
    ("model", "more", "pointer", "key"),
    [
        ("openai/gpt-oss-20b", "", "/data/packing", "sample_packing"),
        ("EleutherAI/pythia-1b", "", "/training/liger", "liger_fused_linear_cross_entropy"),
        ("Qwen/Qwen3-8B", "rl: kto\n", "/training/micro_batch", "micro_batch_size"),
    ],
)
def test_what_a_model_or_objective_cannot_have(
    tmp_path: Path, model: str, more: str, pointer: str, key: str
) -> None:
    """It is left with its reason, where only speed and memory depend on it."""
    text = AXOLOTL.replace("Qwen/Qwen3-8B", model).replace(
        "micro_batch_size: 2", "micro_batch_size: 1"
    )
    result = read(
        tmp_path, f"{text}{more}sample_packing: true\nliger_fused_linear_cross_entropy: true\n"
    )
    assert result.imported is not None
    assert pointer not in result.imported.fields
    became = next(each for each in result.imported.keys if each.key == key)
    assert became.kind == "left"


def test_an_embedding_model_of_unsloth(tmp_path: Path) -> None:
    """Its base is not quantized by default, and its data are read as a whole."""
    code = (
        "from unsloth import FastSentenceTransformer\n"
        "m = FastSentenceTransformer.from_pretrained('a/b')\n"
        "m = FastSentenceTransformer.get_peft_model(m, r=16)\n"
        "d = load_dataset('c/d', streaming=True)\n"
        "t = SentenceTransformerTrainer(m, train_dataset=d, loss=losses.Ranking(m),\n"
        "    args=SentenceTransformerTrainingArguments(per_device_train_batch_size=64))\n"
    )
    found = fields(read(tmp_path, code, "train.py"))
    assert found["/objective/type"] == "embed"
    assert found["/method/type"] == "lora"
    assert "/data/streaming" not in found


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("", "c.yaml", "FTC004"),
        ("a: [", "c.yaml", "FTC093"),
        ("a: &a [*a]\nb: 1", "c.yaml", "FTC093"),
        ("[" * 5000, "c.yaml", "FTC093"),
        ("x = (", "c.py", "FTC093"),
        ("print('hello')", "c.py", "FTC092"),
        ("name: me\n", "c.yaml", "FTC092"),
        ("{}", "c.ipynb", "FTC092"),
        ("a: \x00", "c.yaml", "FTC093"),
        ("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n", "c.yaml", "FTC092"),
        (AXOLOTL.replace("datasets: ", "dataset_x: "), "c.yaml", "FTC094"),
        (AXOLOTL + "rl: gdpo\n", "c.yaml", "FTC091"),
        (AXOLOTL + "processor_type: AutoProcessor\n", "c.yaml", "FTC091"),
        (AXOLOTL + "adapter: oft\n", "c.yaml", "FTC091"),
        (AXOLOTL.replace("chat_template", "alpaca_w_system.load"), "c.yaml", "FTC091"),
        (AXOLOTL.replace("chat_template", "{field_system: s}"), "c.yaml", "FTC091"),
    ],
)
def test_bad_input_is_one_finding(tmp_path: Path, text: str, name: str, code: str) -> None:
    """No traceback, no spec."""
    result = read(tmp_path, text, name)
    assert [each.code for each in result.findings] == [code]
    assert result.spec is None


def test_bombs_of_aliases_are_bounded(tmp_path: Path) -> None:
    """Each alias would multiply the values by ten."""
    levels = "\n".join(
        f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 10)}]" if n else "k0: &k0 [x]" for n in range(9)
    )
    assert [each.code for each in read(tmp_path, levels).findings] == ["FTC093"]


def test_the_registry_of_data_sets_is_read(tmp_path: Path) -> None:
    """A name of LLaMA-Factory's list is the file that the list gives."""
    folder = tmp_path / "data"
    folder.mkdir()
    known = {"mine": {"file_name": "mine.json", "columns": {"messages": "turns"}}}
    (folder / "dataset_info.json").write_text(json.dumps(known), encoding="utf-8")
    text = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ndataset: mine\n"
    found = fields(read(tmp_path, text))
    assert str(found["/data/source"]).endswith("data/mine.json")
    assert found["/data/columns/messages"] == "turns"


def test_feedback_of_the_registry(tmp_path: Path) -> None:
    """A conversation with a verdict is an answer that brings its own prompt."""
    folder = tmp_path / "data"
    folder.mkdir()
    columns = {"messages": "turns", "kto_tag": "liked"}
    known = {"mine": {"file_name": "mine.json", "formatting": "sharegpt", "columns": columns}}
    (folder / "dataset_info.json").write_text(json.dumps(known), encoding="utf-8")
    text = "model_name_or_path: a/b\nstage: kto\nfinetuning_type: lora\ndataset: mine\n"
    found = fields(read(tmp_path, text))
    assert found["/data/columns/completion"] == "turns"
    assert found["/data/columns/label"] == "liked"


def test_a_deepspeed_configuration_inside_a_config_is_read(tmp_path: Path) -> None:
    """Its stage, its offloading and its precision have fields; the plan decides the rest."""
    lines = (
        *("base_model: m", "datasets:", "  - path: a.jsonl", "    type: alpaca"),
        *("sequence_len: 64", "micro_batch_size: 1", "deepspeed:", "  zero_optimization:"),
        *(
            "    stage: 3",
            "    offload_optimizer: {device: cpu}",
            "    offload_param: {device: cpu}",
        ),
        *("    overlap_comm: true", "  bf16: {enabled: auto}"),
    )
    path = tmp_path / "config.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    result = import_file(str(path))
    assert result.spec is not None
    assert result.imported is not None
    assert result.spec["distribution"] == {"strategy": "zero3", "offload": "parameters"}
    left = {each.key: each.reason for each in result.imported.keys if not each.fields}
    assert left["deepspeed.zero_optimization.overlap_comm"] == "layout"
    assert result.spec["training"]["precision"] == "auto"


def test_numbers_and_switches_that_are_written_as_text(tmp_path: Path) -> None:
    """The tools read them as what they are; a name of digits stays a name."""
    text = AXOLOTL.replace("2e-5", '"2e-5"').replace("4096", "'4096'").replace(": 2\n", ': "2"\n')
    text += 'adapter: lora\nlora_r: "16"\nlora_alpha: "32"\nbf16: "true"\nwandb_project: "2026"\n'

    found = fields(read(tmp_path, text))

    plain = text.replace('"', "").replace("'", "").replace(": 2026", ': "2026"')
    assert found == fields(read(tmp_path, plain))
    assert found["/training/learning_rate"] == 2e-5
    assert found["/method/rank"] == 16
    assert found["/tracking/project"] == "2026"


@pytest.mark.parametrize("key", ["format", "no_input_format", "system_format"])
def test_the_text_around_the_parts_of_a_row_is_refused(tmp_path: Path, key: str) -> None:
    """Without it, the model would read other prompts than in the other tool."""
    path = tmp_path / "config.yaml"
    path.write_text(
        "base_model: Qwen/Qwen2.5-0.5B\nadapter: lora\nmicro_batch_size: 2\nsequence_len: 512\n"
        "datasets:\n  - path: x.jsonl\n    type:\n      field_instruction: q\n"
        f"      field_output: a\n      {key}: '### Q: {{instruction}}'\n",
        encoding="utf-8",
    )
    (finding,) = import_file(str(path)).findings
    assert finding.code == "FTC091"
    assert key in finding.message
