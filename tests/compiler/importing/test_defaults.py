"""Defaults of other tools, which are written into the spec by objective."""

import ast
import json
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.importing.importer import Import, import_file
from ftc.spec.tools.tables import read_table

#: The classes of TRL that have the defaults of each objective, and of a model.
CLASSES: Final = {
    "sft": "trainer/sft_config.py",
    "cpt": "trainer/sft_config.py",
    "dpo": "trainer/dpo_config.py",
    "kto": "trainer/kto_config.py",
    "orpo": "experimental/orpo/orpo_config.py",
    "cpo": "experimental/cpo/cpo_config.py",
    "simpo": "experimental/cpo/cpo_config.py",
    "grpo": "trainer/grpo_config.py",
    "rloo": "trainer/rloo_config.py",
    "reward": "trainer/reward_config.py",
}
NAMES: Final = {
    "/training/learning_rate": "learning_rate",
    "/data/max_length": "max_length",
    "/objective/beta": "beta",
    "/objective/desirable_weight": "desirable_weight",
    "/objective/undesirable_weight": "undesirable_weight",
    "/objective/margin": "simpo_gamma",
    "/objective/answer_weight": "cpo_alpha",
    "/objective/num_generations": "num_generations",
    "/objective/answer_tokens": "max_completion_length",
    "/objective/temperature": "temperature",
    "/objective/policy_loss": "loss_type",
}
TRAINING: Final = {
    "@micro": "per_device_train_batch_size",
    "@accumulation": "gradient_accumulation_steps",
    "@schedule": "lr_scheduler_type",
    "@warmup_ratio": "warmup_steps",
    "/training/weight_decay": "weight_decay",
    "/training/epochs": "num_train_epochs",
}
MODEL: Final = {
    "/method/rank": "lora_r",
    "/method/alpha": "lora_alpha",
    "/method/dropout": "lora_dropout",
}
LORA: Final = {
    "/method/rank": "r",
    "/method/alpha": "lora_alpha",
    "/method/dropout": "lora_dropout",
}


def _read_defaults(package: str, path: str) -> Mapping[str, Any]:
    """Return the defaults of the fields of a module's dataclasses; the package is not imported."""
    found = find_spec(package)
    assert found is not None
    assert found.origin is not None
    text = (Path(found.origin).parent / path).read_text(encoding="utf-8")
    return dict(_fields(ast.parse(text)))


def _fields(module: ast.Module) -> Iterator[tuple[str, Any]]:
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    for field in (field for node in classes for field in node.body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        value = field.value
        if isinstance(value, ast.Call):
            value = next((key.value for key in value.keywords if key.arg == "default"), None)
        if isinstance(value, ast.Constant):
            yield field.target.id, value.value


@pytest.mark.parametrize("objective", CLASSES)
def test_the_defaults_are_those_of_the_installed_trl(objective: str) -> None:
    """Each value of the tables is the one in the class; a class that has none has no default."""
    theirs = _read_defaults("trl", CLASSES[objective])
    ours = read_table("trl").objectives[objective]
    for pointer, value in ours.items():
        if pointer != "/data/cleaning/overlong":
            assert theirs[NAMES[pointer]] == value, pointer
    assert "/training/learning_rate" in ours


@pytest.mark.parametrize(
    ("tool", "package", "path", "names"),
    [
        ("trl", "transformers", "training_args.py", TRAINING),
        ("trl", "trl", "trainer/model_config.py", MODEL),
        ("trl script", "transformers", "training_args.py", TRAINING),
        ("trl script", "peft", "tuners/lora/config.py", LORA),
    ],
)
def test_the_defaults_of_all_objectives(
    tool: str, package: str, path: str, names: Mapping[str, str]
) -> None:
    """They are those of the Trainer, and of the class that has the adapter's settings."""
    theirs = _read_defaults(package, path)
    ours = read_table(tool).absent[-1]["set"]
    assert {name: ours[name] for name in names} == {
        name: theirs[their] for name, their in names.items()
    }


@pytest.mark.parametrize(
    ("package", "path", "names"),
    [
        ("transformers", "training_args.py", ("adam_beta1", "adam_epsilon")),
        ("peft", "tuners/lora/config.py", ("bias",)),
        *(
            ("trl", CLASSES[objective], ("top_p", "repetition_penalty", "num_iterations"))
            for objective in ("grpo", "rloo")
        ),
        ("trl", CLASSES["grpo"], ("epsilon", "mask_truncated_completions")),
        ("trl", CLASSES["rloo"], ("epsilon", "mask_truncated_completions")),
    ],
)
def test_values_that_are_left_out_are_those_of_the_libraries(
    package: str, path: str, names: tuple[str, ...]
) -> None:
    """A bundle leaves these settings to the library, so its default is what ftc does."""
    theirs, ours = _read_defaults(package, path), read_table("trl").alike
    assert {name: ours[name] for name in names} == {name: [theirs[name]] for name in names}


def read(folder: Path, text: str, name: str = "config.yaml") -> Import:
    """Import a text from a file of this name."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_file(str(path))


def fields(result: Import) -> Mapping[str, Any]:
    """Return the fields by pointer; the import must have succeeded."""
    assert result.findings == ()
    assert result.imported is not None
    return result.imported.fields


TRL: Final = "model_name_or_path: a/b\ndataset_name: c/d\nuse_peft: true\n"
FACTORY: Final = "model_name_or_path: a/b\nfinetuning_type: lora\ntemplate: qwen\ndataset: pairs\n"
AXOLOTL: Final = "base_model: a/b\nlearning_rate: 1e-5\ndatasets: [{path: c/d, type: alpaca}]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            TRL,
            {
                "/training/learning_rate": 2e-5,
                "/training/global_batch": 8,
                "/data/max_length": 1024,
                "/data/cleaning/overlong": "truncate",
                "/data/cleaning/drop_duplicates": False,
                "/objective/loss_on": "all",
                "/method/dropout": 0.05,
            },
        ),
        (f"{TRL}command: dpo\n", {"/training/learning_rate": 1e-6, "/objective/beta": 0.1}),
        (f"{TRL}command: reward\n", {"/training/learning_rate": 1e-4, "/data/max_length": 1024}),
        (
            f"{TRL}command: rloo\n",
            {"/objective/num_generations": 2, "/objective/answer_tokens": 512},
        ),
        (f"{TRL}per_device_train_batch_size: 2\n", {"/training/global_batch": 2}),
        (f"{TRL}gradient_accumulation_steps: 3\n", {"/training/global_batch": 24}),
        (f"{TRL}assistant_only_loss: true\n", {"/objective/loss_on": "completion"}),
        (f"{TRL}assistant_only_loss: false\n", {"/objective/loss_on": "all"}),
        (f"{TRL}completion_only_loss: true\n", {"/objective/loss_on": "completion"}),
        (
            f"{FACTORY}stage: dpo\npref_loss: simpo\n",
            {
                "/objective/type": "simpo",
                "/objective/beta": 0.1,
                "/objective/margin": 0.5,
                "/objective/answer_weight": 0,
                "/method/targets": "all-linear",
                "/training/global_batch": 8,
                "/data/cleaning/overlong": "truncate",
            },
        ),
        (
            f"{FACTORY}stage: dpo\npref_loss: simpo\npref_ftx: 0.2\n",
            {"/objective/answer_weight": 0.2},
        ),
        (
            f"{FACTORY}stage: kto\n",
            {"/objective/desirable_weight": 1, "/objective/undesirable_weight": 1},
        ),
        (
            f"{AXOLOTL}rl: simpo\n",
            {
                "/objective/beta": 0.1,
                "/objective/margin": 0.5,
                "/objective/answer_weight": 1,
                "/training/epochs": 1,
                "/training/global_batch": 1,
            },
        ),
        (f"{AXOLOTL}batch_size: 12\n", {"/training/global_batch": 12}),
        (f"{AXOLOTL}micro_batch_size: 3\n", {"/training/global_batch": 3}),
    ],
)
def test_what_a_config_leaves_out(tmp_path: Path, text: str, expected: Mapping[str, Any]) -> None:
    """It is the value of that tool for that objective."""
    found = fields(read(tmp_path, text))
    assert {pointer: found.get(pointer) for pointer in expected} == expected


def test_a_micro_batch_that_is_not_stated_is_planned(tmp_path: Path) -> None:
    """It does not change the training, so only the global batch is that of the tool."""
    assert "/training/micro_batch" not in fields(read(tmp_path, TRL))


SCRIPT: Final = (
    "from trl import {0}Trainer, {1}\nd = load_dataset('c/d', split='train')\n"
    "t = {0}Trainer(model='a/b', args={1}({2}), train_dataset=d)\n"
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("SFT", "SFTConfig", ""), {"/training/learning_rate": 2e-5}),
        (("SFT", "TrainingArguments", "seed=1"), {"/training/learning_rate": 5e-5}),
        (("DPO", "DPOConfig", ""), {"/training/learning_rate": 1e-6, "/objective/beta": 0.1}),
        (
            ("CPO", "CPOConfig", "loss_type='simpo', cpo_alpha=0.0"),
            {"/objective/type": "simpo", "/objective/answer_weight": 0, "/objective/margin": 0.5},
        ),
    ],
)
def test_what_a_script_leaves_out(
    tmp_path: Path, arguments: tuple[str, str, str], expected: Mapping[str, Any]
) -> None:
    """It is the value of the class that the script calls."""
    found = fields(read(tmp_path, SCRIPT.format(*arguments), "train.py"))
    assert {pointer: found.get(pointer) for pointer in expected} == expected


def test_a_value_that_cannot_be_read_has_no_default(tmp_path: Path) -> None:
    """The file mentions the key, so that the tool's own value would be wrong."""
    found = fields(read(tmp_path, SCRIPT.format("SFT", "SFTConfig", "learning_rate=f()"), "t.py"))
    assert "/training/learning_rate" not in found


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"messages": [{"role": "user", "content": "a"}]}, "all"),
        ({"text": "a"}, "all"),
        ({"prompt": "a", "completion": "b"}, "completion"),
    ],
)
def test_what_is_learned_depends_on_the_rows(
    tmp_path: Path, row: Mapping[str, Any], expected: str
) -> None:
    """TRL learns completions alone where the rows keep the prompt apart."""
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    found = fields(read(tmp_path, TRL.replace("c/d", "rows.jsonl")))
    assert found["/objective/loss_on"] == expected


def test_the_defaults_of_unsloth(tmp_path: Path) -> None:
    """It replaces some of those of TRL, but not those of the plain arguments of the Trainer."""
    code = (
        "from unsloth import FastLanguageModel\n"
        "m = FastLanguageModel.from_pretrained('a/b')\nm = FastLanguageModel.get_peft_model(m)\n"
        "d = load_dataset('c/d')\nt = SFTTrainer(m, train_dataset=d, args={}(max_steps=10))\n"
    )
    patched = fields(read(tmp_path, code.format("SFTConfig"), "a.py"))
    plain = fields(read(tmp_path, code.format("TrainingArguments"), "b.py"))
    assert [patched[f"/training/{name}"] for name in ("global_batch", "warmup", "seed")] == [
        8,
        0.1,
        3407,
    ]
    assert [plain[f"/training/{name}"] for name in ("global_batch", "warmup", "seed")] == [8, 0, 42]
    assert (patched["/training/optimizer"], plain["/training/optimizer"]) == (
        "adamw_8bit",
        "adamw",
    )
    assert patched["/method/type"] == plain["/method/type"] == "qlora"
    assert patched["/data/max_length"] == 2048


@pytest.mark.parametrize(("weight", "codes"), [("0.0", []), ("0.5", ["FTC091"])])
def test_a_loss_on_answers_beside_another(tmp_path: Path, weight: str, codes: list[str]) -> None:
    """DPO of ftc has none, so that LLaMA-Factory's is refused where it is switched on."""
    result = read(tmp_path, f"{FACTORY}stage: dpo\npref_ftx: {weight}\n")
    assert [each.code for each in result.findings] == codes
