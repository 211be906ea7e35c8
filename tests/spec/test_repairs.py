"""Repairs of a spec: what is proposed for a wrong part of it, and when nothing is."""

from typing import Any

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.pointer import split
from ftc.spec.validate import judge as judge_data


@pytest.mark.parametrize(
    ("part", "fixed"),
    [
        ({"method": "DoRA"}, {"method": {"dora": True}}),
        ({"method": {"type": "pissa", "rank": 8}}, {"method": {"init": "pissa", "rank": 8}}),
        ({"method": "nf4"}, {"method": {"type": "qlora", "quantization": "nf4"}}),
        ({"objective": "ipo"}, {"objective": {"type": "dpo", "loss": "ipo"}}),
        ({"objective": "dapo"}, {"objective": {"type": "grpo", "policy_loss": "dapo"}}),
        ({"export": ["fp8", "Q8_0"]}, {"export": {"types": ["Q8_0"], "vllm": ["FP8"]}}),
        ({"export": "fp8"}, {"export": {"vllm": ["FP8"]}}),
        (
            {"export": {"types": ["w4a16"], "vllm": ["FP8"]}},
            {"export": {"types": [], "vllm": ["FP8", "W4A16"]}},
        ),
    ],
)
def test_a_word_of_another_field_moves_there(part: dict[str, Any], fixed: dict[str, Any]) -> None:
    """It is the name of a switch, a word of a list, or one that a value of its field reads."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    assert finding.code == "FTC035"
    assert finding.fix_safety == "safe"
    assert apply_patch(spec, finding.fix) == {**spec, **fixed}
    assert judge_data(apply_patch(spec, finding.fix)) == []


@pytest.mark.parametrize(
    ("part", "help_"),
    [
        ({"tracking": ["wandb", "tensorboard"]}, "`wandb` or `tensorboard`"),
        ({"training": {"evaluation": {"metric": ["rouge_l", "chrf"]}}}, "`rouge_l` or `chrf`"),
        ({"training": {"learning_rate": [1e-3, 2e-3]}}, "`0.001` or `0.002`"),
    ],
)
def test_several_values_for_a_field_that_takes_one(part: dict[str, Any], help_: str) -> None:
    """The help names them; nothing says which one is wanted."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    help_ = f"write one of {help_}; `ftc sweep` makes a bundle for each of several values"
    assert (finding.code, finding.help, finding.fix) == ("FTC034", help_, ())


@pytest.mark.parametrize(
    ("section", "name", "written", "meant", "safety"),
    [
        ("training", "warmup", "3%", 0.03, "safe"),
        ("launch", "hours", "48h", 48, "safe"),
        ("launch", "hours", "90 min", 1.5, "safe"),
        ("launch", "hours", "24:00", 24, "unsafe"),
        ("training", "epochs", "1 epoch", 1, "safe"),
        ("training", "epochs", "two passes", 2, "safe"),
        ("training", "epochs", "2 days", 2, "unsafe"),
        ("training", "learning_rate", "0,0002", 0.0002, "safe"),
        ("training", "max_steps", "1,000 steps", 1000, "unsafe"),
        ("training", "max_steps", "10k", 10_000, "safe"),
        ("objective", "answer_tokens", "256 tokens", 256, "safe"),
        ("objective", "answer_tokens", "4k", 4096, "unsafe"),
        ("hardware", "ram_gib", "64 GB", 64, "safe"),
        ("hardware", "disk_gib", "500 GB", 500, "unsafe"),
        ("hardware", "count", "2 GPUs", 2, "safe"),
    ],
)
def test_a_number_with_its_unit_is_certain(
    section: str, name: str, written: str, meant: float, safety: str
) -> None:
    """The unit leaves no other reading; two numbers of a clock do."""
    types = {"launch": "slurm", "objective": "grpo"}
    others = {"type": types[section]} if section in types else {}
    spec = {"name": "x", "model": "m", "data": "d.csv", section: {**others, name: written}}
    (finding,) = judge_data(spec)
    assert finding.fix_safety == safety
    assert apply_patch(spec, finding.fix)[section] == {**others, name: meant}


@pytest.mark.parametrize(
    ("part", "meant", "safety"),
    [
        ({"training": {"warmup": 100, "max_steps": 1000}}, 0.1, "unsafe"),
        ({"training": {"warmup": "100 steps", "max_steps": 1000}}, 0.1, "safe"),
        ({"data": {"source": "d.csv", "splits": {"test": 20}}}, 0.2, "unsafe"),
    ],
)
def test_a_number_in_the_place_of_a_share(part: dict[str, Any], meant: float, safety: str) -> None:
    """Steps are a share where their number is known; a small number of rows may be hundredths."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    assert f"did you mean `{meant}`?" in finding.help
    assert (finding.fix[0]["value"], finding.fix_safety) == (meant, safety)
    assert judge_data(apply_patch(spec, finding.fix)) == []


@pytest.mark.parametrize(
    ("section", "value", "said"),
    [
        ("training", {"warmup": 100}, "divide 100 by the number of all steps"),
        ("training", {"warmup": "100 steps"}, "divide 100 by the number of all steps"),
        ("training", {"warmup": 2000, "max_steps": 1000}, "divide 2,000 by the number"),
        ("splits", {"test": 500}, "divide 500 by the number of all rows"),
        ("splits", {"test": "20 rows"}, "divide 20 by the number of all rows"),
        ("splits", {"test": "held_out.csv"}, "not from a separate file or split"),
        ("splits", {"test": "validation"}, "not from a separate file or split"),
        ("splits", {"test": "60%"}, "write a number from 0 to 0.5, a share of the rows"),
    ],
)
def test_what_is_no_share_has_no_fix(section: str, value: dict[str, Any], said: str) -> None:
    """The help says how the number becomes a share, or what takes a file."""
    part = (
        {"data": {"source": "d.csv", "splits": value}} if section == "splits" else {section: value}
    )
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert finding.fix == ()
    assert said in finding.help


@pytest.mark.parametrize(
    ("part", "meant", "safety"),
    [
        ({"method": "lroa"}, {"method": "lora"}, "safe"),
        ({"method": "4bit lora"}, {"method": "qlora"}, "unsafe"),
        ({"training": {"precision": "mixed"}}, {"training": {"precision": "auto"}}, "safe"),
        ({"objective": "text-generation"}, {"objective": "sft"}, "safe"),
        ({"objective": "feedback"}, {"objective": "kto"}, "safe"),
        ({"objective": {"loss_on": "answers"}}, {"objective": {"loss_on": "completion"}}, "safe"),
        ({"training": {"epochs": "1_000"}}, {"training": {"epochs": 1000}}, "safe"),
        ({"export": {"merge": True}}, {"export": {}}, "safe"),
        ({"_comment": "mine"}, {}, "safe"),
        (
            {"data": {"source": "d.csv", "splits": "80/10/10"}},
            {"data": {"source": "d.csv", "splits": {"test": 0.1, "validation": 0.1}}},
            "safe",
        ),
        (
            {"data": {"source": "d.csv", "splits": [0.8, 0.15, 0.05]}},
            {"data": {"source": "d.csv", "splits": {"test": 0.05, "validation": 0.15}}},
            "unsafe",
        ),
        (
            {"training": {"args": {"epochs": 2, "seed": 3}}},
            {"training": {"epochs": 2, "seed": 3}},
            "safe",
        ),
        (
            {"training": {"optimizer": {"name": "adamw", "weight_decay": 0.1}}},
            {"training": {"optimizer": "adamw", "weight_decay": 0.1}},
            "safe",
        ),
        (
            {"training": {"early_stopping": {"patience": 3}}},
            {"training": {"early_stopping": 3}},
            "safe",
        ),
        (
            {"data": {"source": "d.csv", "packing": "yes"}},
            {"data": {"source": "d.csv", "packing": "best-fit"}},
            "safe",
        ),
        (
            {"launch": {"type": "slurm", "hours": "12:30:00"}},
            {"launch": {"type": "slurm", "hours": 12.5}},
            "safe",
        ),
        (
            {"export": {"format": "gguf", "types": ["Q8_0"]}},
            {"export": {"types": ["Q8_0"]}},
            "safe",
        ),
        (
            {"data": {"sources": [{"source": "d.csv", "type": "alpaca"}]}},
            {"data": {"sources": [{"source": "d.csv", "form": "instruction"}]}},
            "safe",
        ),
        ({"method": {"rslora": 1}}, {"method": {"rslora": True}}, "safe"),
        ({"method": {"rslora": "0"}}, {"method": {"rslora": False}}, "safe"),
        ({"export": ["Q8_0", "fp16"]}, {"export": ["Q8_0", "F16"]}, "safe"),
        ({"export": ["Q8_0", "ollama"]}, {"export": ["Q8_0"]}, "safe"),
        ({"export": ["safetensors"]}, {"export": []}, "safe"),
        (
            {"training": {"evaluation": {"metric": "loss"}}},
            {"training": {"evaluation": {}}},
            "safe",
        ),
        (
            {"data": {"source": "d.csv", "columns": {"q": "prompt", "completion": "a"}}},
            {"data": {"source": "d.csv", "columns": {"completion": "a", "prompt": "q"}}},
            "unsafe",
        ),
        (
            {"bf16": {"enabled": True}},
            {"training": {"precision": "bf16"}},
            "safe",
        ),
        ({"fp16": {"enabled": False, "loss_scale": 0}}, {}, "safe"),
        (
            {"fp16": {"enabled": True, "loss_scale": 0}},
            {"training": {"precision": "fp16"}},
            "unsafe",
        ),
        ({"batch": {"size": 32}}, {"training": {"global_batch": 32}}, "unsafe"),
        (
            {"training": {"gradient_checkpointing": {"enabled": True}}},
            {"training": {"gradient_checkpointing": True}},
            "safe",
        ),
        (
            {"training": {"optimizer": {"type": "adamw", "params": {"lr": 1e-4}}}},
            {"training": {"optimizer": "adamw", "learning_rate": 1e-4}},
            "safe",
        ),
        (
            {"wandb": {"enabled": True, "project": "x"}},
            {"tracking": {"type": "wandb", "project": "x"}},
            "safe",
        ),
        ({"wandb": False}, {}, "safe"),
        ({"gradient_clipping": "auto"}, {}, "safe"),
        ({"max_steps_per_epoch": None}, {}, "safe"),
        ({"method.rank": 8}, {"method": {"rank": 8}}, "safe"),
        ({"training.epochs": "3"}, {"training": {"epochs": 3}}, "safe"),
        (
            {"optimizer": {"_component_": "torch.optim.AdamW", "weight_decay": 0.1}},
            {"training": {"optimizer": "adamw", "weight_decay": 0.1}},
            "safe",
        ),
        ({"training": {"weight_decay": "auto"}}, {"training": {}}, "safe"),
        ({"training": {"fp16": "yes"}}, {"training": {"precision": "fp16"}}, "safe"),
        (
            {"eval": "off"},
            {"data": {"source": "d.csv", "splits": {"validation": 0}}},
            "unsafe",
        ),
        ({"train_type": "lora"}, {"method": {"type": "lora"}}, "safe"),
        ({"rlhf_type": "dpo"}, {"objective": {"type": "dpo"}}, "safe"),
        (
            {"split_dataset_ratio": 0.01},
            {"data": {"source": "d.csv", "splits": {"validation": 0.01}}},
            "safe",
        ),
        ({"tensorboard": "no"}, {"tracking": {"type": "none"}}, "safe"),
        ({"training": {"evaluation": True}}, {"training": {}}, "safe"),
        (
            {"training": {"evaluation": "no"}},
            {"data": {"source": "d.csv", "splits": {"validation": 0}}, "training": {}},
            "unsafe",
        ),
        (
            {"data": {"source": "d.csv", "splits": False}},
            {"data": {"source": "d.csv", "splits": {"test": 0, "validation": 0}}},
            "unsafe",
        ),
        (
            {"data": {"source": "d.csv", "columns": {"prompt": {"name": "q"}, "completion": "a"}}},
            {"data": {"source": "d.csv", "columns": {"prompt": "q", "completion": "a"}}},
            "safe",
        ),
        (
            {"training": {"evaluation": {"metric": {"name": "rouge_l"}}}},
            {"training": {"evaluation": {"metric": "rouge_l"}}},
            "safe",
        ),
        ({"publish": "no"}, {}, "safe"),
        ({"distribution": "none"}, {"distribution": "auto"}, "safe"),
        ({"export": ["none"]}, {"export": []}, "safe"),
        ({"export": {"types": ["no", "Q8_0"]}}, {"export": {"types": ["Q8_0"]}}, "safe"),
        (
            {"method": "lora", "training": {"lora": {"rank": 8}}},
            {"method": {"type": "lora", "rank": 8}, "training": {}},
            "safe",
        ),
    ],
)
def test_what_is_written_otherwise_is_repaired(
    part: dict[str, Any], meant: dict[str, Any], safety: str
) -> None:
    """Swapped letters, words of other programs, and words for what ftc does by default."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    fixed = apply_patch(spec, finding.fix)
    kept = {key: spec[key] for key in spec if key not in (part.keys() - meant.keys())}
    assert fixed == {**kept, **meant}
    assert finding.fix_safety == safety
    assert judge_data(fixed) == []


@pytest.mark.parametrize(
    "training",
    [
        {"optimizer": {"lr": 1e-4, "weight_decay": 0.1}},
        {"optimizer": {"name": "adamw", "type": "lion"}},
        {"optimizer": {"name": "adamw", "weight_decay": 0.1}, "weight_decay": 0.2},
    ],
)
def test_an_object_without_one_value_for_its_field_has_no_fix(training: dict[str, Any]) -> None:
    """Nothing says what the field itself is, or two things say it."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", "training": training})
    assert (finding.code, finding.fix) == ("FTC034", ())


@pytest.mark.parametrize("part", [{"export": ["ollama"]}, {"export": ["gguf"]}])
def test_an_output_that_ftc_does_not_write_alone_has_no_fix(part: dict[str, Any]) -> None:
    """The user chooses a type."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert (finding.code, finding.fix) == ("FTC041", ())


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"export": "vllm"}, "`export.vllm` is a separate field: it takes a list"),
        ({"export": ["Q8_0", "vllm"]}, "`export.vllm` is a separate field"),
        ({"training": {"schedule": "warmup"}}, "`training.warmup` is a separate field"),
        ({"method": "dpo"}, "did you mean `objective.type` with the value `dpo`?"),
        ({"export": "all"}, "write a list of words"),
        ({"objective": "lora"}, "did you mean `method.type` with the value `lora`?"),
        ({"training": {"max_grad_norm": "high"}}, "write a number from 0 to 1,000"),
        ({"method": {"targets": "no"}}, "write `auto`, `all-linear`, `attention` or a list"),
        ({"hardware": "-1x A100"}, "the number of GPUs is a whole number from 1"),
        ({"hardware": "1.5x A100"}, "the number of GPUs is a whole number from 1"),
        ({"hardware": "0x A100"}, "the number of GPUs is a whole number from 1"),
    ],
)
def test_a_value_that_is_no_choice_says_what_to_write(part: dict[str, Any], said: str) -> None:
    """The name of another field, a word for no, and a number of GPUs that is none."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert said in finding.help
    assert finding.fix == ()


def test_the_word_of_a_kind_is_not_lost_with_its_object() -> None:
    """What is in it is not moved without it, even if a part of it is known."""
    tracking = {"wandb": {"project": "x", "entity": "me"}}
    spec = {"name": "x", "model": "m", "data": "d.csv", "tracking": tracking}
    (finding,) = (each for each in judge_data(spec) if each.pointer == "/tracking/wandb")
    assert apply_patch(spec, finding.fix)["tracking"]["type"] == "wandb"


def test_a_warning_inside_an_object_is_not_lost() -> None:
    """A key that can only be left out keeps its own finding: no other fix removes it silently."""
    scheduler = {"type": "cosine", "warmup_steps": 50}
    spec = {"name": "x", "model": "m", "data": "d.csv", "lr_scheduler": scheduler}
    (finding,) = judge_data(spec)
    assert "warmup_steps" in str(apply_patch(spec, finding.fix))


def test_a_misspelt_key_is_renamed_whatever_its_value() -> None:
    """What the field takes is said with it, and the value is judged in its place."""
    spec = {"name": "x", "model": "m", "data": "d.csv", "training": {"lerning_rate": "high"}}
    (finding,) = judge_data(spec)
    assert "it takes `auto` or a number" in finding.help
    fixed = apply_patch(spec, finding.fix)
    assert fixed["training"] == {"learning_rate": "high"}
    assert [each.code for each in judge_data(fixed)] == ["FTC035"]


def test_the_sources_of_a_mixture_have_other_names_for_their_keys() -> None:
    """As in the section around them: the fixes move them within their item."""
    items = [{"path": "a.jsonl", "ratio": 0.7}, {"file": "b.csv", "probability": "0.3"}]
    spec: dict[str, Any] = {"name": "x", "model": "m", "data": items}
    for _ in range(6):
        found = judge_data(spec)
        if not found:
            break
        assert all(each.fix_safety == "safe" and each.fix for each in found), found
        spec = apply_patch(spec, found[0].fix)
    assert spec["data"] == {
        "sources": [{"source": "a.jsonl", "weight": 0.7}, {"source": "b.csv", "weight": 0.3}]
    }


@pytest.mark.parametrize("pointer", ["/training/max_steps", "/data/max_rows"])
def test_minus_one_is_no_limit(pointer: str) -> None:
    """As trainers write it: the fix leaves the field out. Another number has none."""
    section, name = split(pointer)
    spec: dict[str, Any] = {"name": "x", "model": "m", "data": {"source": "d.csv"}}
    for number, fixed in ((-1, {}), (-2, None)):
        wrong = {**spec, section: {**spec.get(section, {}), name: number}}
        (finding,) = judge_data(wrong)
        assert finding.code == "FTC036"
        assert bool(finding.fix) == (fixed is not None)
        if finding.fix:
            assert name not in apply_patch(wrong, finding.fix)[section]
            assert finding.fix_safety == "safe"


@pytest.mark.parametrize(
    ("data", "fixed"),
    [
        (["a.csv", "b.csv"], {"sources": ["a.csv", "b.csv"]}),
        (
            {"source": ["a.csv", "b.csv"], "system": "x"},
            {"system": "x", "sources": ["a.csv", "b.csv"]},
        ),
        ({"source": ["a.csv"]}, {"source": "a.csv"}),
        ({"source": ["a.csv", "b.csv"], "sources": ["c.csv"]}, None),
    ],
)
def test_a_list_of_files_is_sources(data: Any, fixed: Any) -> None:
    """Also where it is the value of `source`, unless `sources` is there."""
    spec = {"name": "x", "model": "m", "data": data}
    found = [each for each in judge_data(spec) if each.code == "FTC034"]
    assert len(found) == 1
    if fixed is None:
        assert found[0].fix == ()
        return
    better = apply_patch(spec, found[0].fix)
    assert better["data"] == fixed
    assert judge_data(better) == []


@pytest.mark.parametrize("text", ["no", "None", "off", "FALSE"])
def test_a_text_that_says_that_there_is_none_is_none(text: str) -> None:
    """YAML 1.2 reads `no` as text, which would be the system prompt; a name may be anything."""
    spec = {"name": "x", "model": "m", "data": {"source": "a.csv", "system": text}}
    (finding,) = judge_data(spec)
    assert (finding.code, finding.pointer, finding.fix_safety) == (
        "FTC034",
        "/data/system",
        "unsafe",
    )
    assert judge_data(apply_patch(spec, finding.fix)) == []
    columns = {"prompt": "on", "completion": text}
    assert (
        judge_data({"name": "x", "model": "m", "data": {"source": "a.csv", "columns": columns}})
        == []
    )


def test_a_long_object_is_told_key_by_key() -> None:
    """`export.verify: false` means bounds that every file meets."""
    spec = {
        "name": "x",
        "model": "m",
        "data": "a.csv",
        "export": {"types": ["Q8_0"], "verify": False},
    }
    (finding,) = judge_data(spec)
    assert finding.help.startswith("did you mean `export.verify.max_divergence: 100`, ")
    assert judge_data(apply_patch(spec, finding.fix)) == []
