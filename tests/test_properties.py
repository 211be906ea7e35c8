"""Properties: no input ends in an exception, no output depends on chance, no field is ignored."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from ftc.compiler.pipeline import Outcome, compile_bundle
from ftc.compiler.render.runtime_modules import read_module
from ftc.spec.schema import fields, object_form
from tests.calling_rows import write_calls
from tests.tiny_tokenizers import sentencepiece_tokenizer

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
EXPERTS = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "moe_intermediate_size": 128,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "head_dim": 64,
}
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ '<' + m.role + '>' + m.content | trim }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
BASE: Mapping[str, Any] = {
    "name": "triage",
    "model": {"id": "./model"},
    "data": {"source": "tickets.csv"},
    "hardware": {"gpu": "cpu"},
    "method": {"type": "lora"},
    "training": {"global_batch": 8},
}
TWO_GPUS = {"hardware.gpu": "A100-80GB", "hardware.count": 2}
SLURM = {"launch.type": "slurm"}
SKY = {"launch.type": "skypilot"}
KUBERNETES = {"launch.type": "kubernetes", "launch.image": "train:1", "launch.volume": "work"}
ONE_FILE = {"export.types": ["Q8_0"]}
PUBLISHED = {"publish.repo": "acme/triage", "publish.licence": "mit"}
ONE_OF_SEVERAL = {"data.source": None, "data.sources": ["tickets.csv"]}
TWO_COLUMNS = {"data.form": "prompt_completion"}
PAIRS = {"data.source": "pairs.csv", "objective.type": "dpo"}
TRIED = {"objective.type": "grpo", "objective.rewards": [{"regex": "[a-z]"}]}
CALLING = {**TRIED, "model.chat_template": "qwen.jinja"}
TAUGHT = {"objective.type": "distill", "objective.teacher.id": "./model-2"}
VERDICTS = {"data.source": "verdicts.csv", "objective.type": "kto"}
VECTORS = {"objective.type": "embed"}
SCORED = {**VECTORS, "data.source": "scores.csv"}

# For each field a valid value that differs from what a spec without it means, and what else the
# spec has to say for the field to matter.
FLIPS: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "ftc": (2, {}),
    "name": ("other", {"export.types": ["Q8_0"]}),
    "model.id": ("./model-2", {}),
    "model.revision": ("v2", {}),
    "model.chat_template": ("other.jinja", {}),
    "model.attention": ("eager", {}),
    "model.trust_remote_code": (True, {}),
    "model.pickled_weights": (True, {}),
    "model.new_tokens": (["parcel"], {}),
    "data.source": ("tickets-2.csv", {}),
    "data.sources": (["tickets.csv", "tickets-2.csv"], ONE_OF_SEVERAL),
    "data.revision": ("v2", {}),
    "data.subset": ("en", {}),
    "data.split": ("test", {}),
    "data.format": ("jsonl", {}),
    "data.form": ("text", {}),
    "data.columns.messages": ("more", {"data.source": "chats.jsonl"}),
    "data.columns.prompt": ("more", TWO_COLUMNS),
    "data.columns.completion": ("more", TWO_COLUMNS),
    "data.columns.instruction": ("more", {"data.source": "tasks.csv"}),
    "data.columns.input": ("more", {"data.source": "tasks.csv"}),
    "data.columns.output": ("more", {"data.source": "tasks.csv"}),
    "data.columns.text": ("more", {"data.source": "stories.csv"}),
    "data.columns.tools": (
        "more",
        {"data.source": "calls.jsonl", "model.chat_template": "calling.jinja"},
    ),
    "data.columns.images": ("more", {}),
    "data.columns.chosen": ("more", PAIRS),
    "data.columns.rejected": ("more", PAIRS),
    "data.columns.label": ("more", VERDICTS),
    "data.columns.score": ("more", SCORED),
    "data.system": ("be brief", {}),
    "data.template_options": ({"style": "plain"}, {"model.chat_template": "styled.jinja"}),
    "data.reasoning": ("strip", {"data.source": "thoughts.jsonl"}),
    "data.max_length": (24, {}),
    "data.max_rows": (50, {}),
    "data.streaming": (True, {}),
    "data.images.max_pixels": (500_000, {}),
    "data.allow_download": (True, {}),
    "data.packing": ("best-fit", {}),
    "data.cleaning.drop_duplicates": (False, {}),
    "data.cleaning.repair_encoding": (False, {}),
    "data.cleaning.overlong": ("truncate", {"data.max_length": 40}),
    "data.splits.test": (0.2, {}),
    "data.splits.validation": (0.2, {}),
    "data.splits.stratify": (False, {}),
    "objective.loss_on": ("all", {}),
    "objective.class_weights": ("balanced", {"objective.type": "classification"}),
    "objective.rewards": (["exact"], TRIED),
    "objective.teacher.id": ("./experts", TAUGHT),
    "objective.teacher.revision": ("v2", TAUGHT),
    "objective.teacher.quantization": ("nf4", TAUGHT),
    "objective.num_generations": (4, TRIED),
    "objective.temperature": (0.7, TRIED),
    "objective.answer_tokens": (16, TRIED),
    "objective.policy_loss": ("dr_grpo", TRIED),
    "objective.tools": ("tools.py", CALLING),
    "objective.max_tool_calling_iterations": (2, {**CALLING, "objective.tools": "tools.py"}),
    "objective.tool_seconds": (5, {**CALLING, "objective.tools": "tools.py"}),
    "objective.vllm": ("colocate", TRIED),
    "objective.loss": ("ipo", PAIRS),
    "objective.beta": (0.3, PAIRS),
    "objective.reference": ("adapter_off", PAIRS),
    "objective.label_smoothing": (0.2, {**PAIRS, "objective.loss": "robust"}),
    "objective.desirable_weight": (1.2, VERDICTS),
    "objective.margin": (0.3, {**PAIRS, "objective.type": "simpo"}),
    "objective.answer_weight": (0.3, {**PAIRS, "objective.type": "cpo"}),
    "objective.undesirable_weight": (1.2, VERDICTS),
    "objective.pooling": ("mean", VECTORS),
    "objective.similarity_scale": (50, VECTORS),
    "objective.matryoshka_dimensions": ([64], VECTORS),
    "objective.hard_negatives": (2, VECTORS),
    "objective.wrong_texts": (5, {"objective.type": "rerank"}),
    "objective.query_prompt": ("query: ", VECTORS),
    "objective.document_prompt": ("passage: ", VECTORS),
    "method.type": ("full", {}),
    "method.rank": (4, {}),
    "method.alpha": (7, {}),
    "method.dropout": (0.2, {}),
    "method.targets": (["q_proj"], {}),
    "method.target_pattern": (".*_proj", {}),
    "method.experts": (True, {"model.id": "./experts"}),
    "method.also_train": (["head"], {}),
    "method.parts": (["language_model", "projector"], {}),
    "method.loraplus_ratio": (16, {}),
    "method.rslora": (True, {}),
    "method.dora": (True, {}),
    "method.init": ("pissa", {}),
    "method.quantization": ("int8", {"method.type": "qlora"}),
    "method.double_quantization": (False, {"method.type": "qlora"}),
    "method.quant_storage": ("bf16", {"method.type": "qlora"}),
    "method.layers": (1, {"method.type": "freeze"}),
    "training.epochs": (7, {}),
    "training.max_steps": (9, {}),
    "training.global_batch": (16, {}),
    "training.micro_batch": (2, {}),
    "training.learning_rate": (0.005, {}),
    "training.optimizer": ("adafactor", {}),
    "training.schedule": ("linear", {}),
    "training.learning_rate_floor": (0.1, {}),
    "training.decay": (0.3, {"training.schedule": "warmup_stable_decay"}),
    "training.cycles": (4, {"training.schedule": "cosine_with_restarts"}),
    "training.power": (3, {"training.schedule": "polynomial"}),
    "training.warmup": (0.3, {}),
    "training.weight_decay": (0.2, {}),
    "training.adam_beta2": (0.95, {}),
    "training.max_grad_norm": (0.3, {}),
    "training.neftune": (5, {}),
    "training.router_loss": (0.01, {"model.id": "./experts"}),
    "training.embedding_learning_rate": (1e-5, {"method.also_train": ["embeddings"]}),
    "training.compile": (True, {}),
    "training.loader_workers": (2, {}),
    "training.loader_prefetch": (4, {"training.loader_workers": 2}),
    "training.label_smoothing": (0.1, {}),
    "training.precision": ("bf16", {}),
    "training.gradient_checkpointing": (True, {}),
    "training.group_by_length": (True, {}),
    "training.liger": (True, {}),
    "training.evaluation.every_steps": (3, {}),
    "training.evaluation.metric": ("none", {}),
    "training.evaluation.best_by": ("metric", {}),
    "training.evaluation.allow_worse": (True, {}),
    "training.evaluation.harness": (["arc_easy"], {}),
    "training.evaluation.regression": ([{"prompts": "sums.jsonl"}], {}),
    "training.evaluation.answered_rows": (3, {"training.evaluation.best_by": "metric"}),
    "training.evaluation.samples": (2, {}),
    "training.keep_checkpoints": (5, {}),
    "training.early_stopping": (3, {}),
    "training.seed": (7, {}),
    "hardware.gpu": ("RTX-4090", {}),
    "hardware.count": (2, {}),
    "hardware.ram_gib": (0.5, {}),
    "hardware.disk_gib": (0.001, {}),
    "hardware.nodes": (2, TWO_GPUS),
    "hardware.network_gbit": (10, {**TWO_GPUS, "hardware.nodes": 2}),
    "hardware.price_per_hour": (2.5, {}),
    "distribution.strategy": ("zero2", TWO_GPUS),
    "distribution.nvme_path": ("/local_nvme", {**TWO_GPUS, "distribution.offload": "optimizer"}),
    "distribution.offload": ("optimizer", {**TWO_GPUS, "distribution.strategy": "zero2"}),
    "launch.type": ("slurm", {}),
    "launch.partition": ("gpu", SLURM),
    "launch.account": ("nlp", SLURM),
    "launch.qos": ("low", SLURM),
    "launch.hours": (24, SLURM),
    "launch.modules": (["cuda/12.4"], SLURM),
    "launch.container": ("/images/train.sif", SLURM),
    "launch.image": ("train:1", SKY),
    "launch.volume": ("training", KUBERNETES),
    "launch.secret": ("hub", KUBERNETES),
    "launch.namespace": ("research", KUBERNETES),
    "launch.spot": (True, SKY),
    "launch.bucket": ("s3://runs/triage", SKY),
    "tracking.type": ("none", {}),
    "tracking.project": ("support", {"tracking.type": "wandb"}),
    "tracking.run": ("first", {"tracking.type": "mlflow"}),
    "publish.repo": ("acme/triage", {}),
    "publish.what": (["adapter"], PUBLISHED),
    "publish.private": (False, PUBLISHED),
    "publish.licence": ("apache-2.0", PUBLISHED),
    "publish.data_licence": ("cc0-1.0", PUBLISHED),
    "export.types": (["Q8_0"], {}),
    "export.adapter": (True, {}),
    "export.vllm": (["FP8"], {}),
    "export.verify.max_divergence": (0.5, ONE_FILE),
    "export.verify.min_agreement": (0.5, ONE_FILE),
    "export.verify.max_perplexity_ratio": (1.5, ONE_FILE),
    "export.verify.max_metric_drop": (0.5, ONE_FILE),
    "export.verify.tokens": (512, ONE_FILE),
}
TOLD = {"spec.json", "README.md"}  # they repeat the spec, which is no use of it
# `$schema` is for editors; there is one objective so far; `allow` is flipped below.
ELSEWHERE = {"$schema", "objective.type", "allow"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which these tests compile their specs."""
    return write_folder(tmp_path_factory.mktemp("properties"))


def write_folder(folder: Path) -> Path:
    """Write three small models (no weights) and a file of each form."""
    write_model(folder / "model", CONFIG)
    write_model(folder / "model-2", {**CONFIG, "num_hidden_layers": 3})
    write_model(folder / "experts", {**CONFIG, **EXPERTS})
    (folder / "other.jinja").write_text(TEMPLATE.replace("<", "[").replace(">", "]"))
    (folder / "styled.jinja").write_text("{{ style }}" + TEMPLATE)
    trl = find_spec("trl")
    assert trl is not None
    assert trl.origin is not None
    template = Path(trl.origin).parent / "chat_templates/qwen2_5.jinja"
    (folder / "qwen.jinja").write_bytes(template.read_bytes())
    (folder / "tools.py").write_text('def now() -> str:\n    """Tell the time."""\n')
    mojibake = "està".encode().decode("cp1252")
    rows = [f"where is parcel {n}?,{'lost' if n % 3 else 'late'},{n}" for n in range(120)]
    rows += [rows[0], f"on {mojibake} el paquet?,lost,1", f"{'long ' * 30}?,late,2"]
    table = "\n".join(["prompt,completion,more", *rows]) + "\n"
    sums = [{"prompt": f"{n} plus 1?", "answer": str(n + 1)} for n in range(6)]
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, sums)) + "\n")
    (folder / "tickets.csv").write_text(table, encoding="utf-8")
    (folder / "tickets-2.csv").write_text(table.replace("parcel", "box"), encoding="utf-8")
    tasks = [f"answer {n},parcel {n},sent {n},x {n}" for n in range(60)]
    (folder / "tasks.csv").write_text("\n".join(["instruction,input,output,more", *tasks]) + "\n")
    stories = [f"the story of {n},a longer story of {n}" for n in range(60)]
    (folder / "stories.csv").write_text("\n".join(["text,more", *stories]) + "\n")
    pairs = [f"parcel {n}?,sent {n},no idea {n},lost {n}" for n in range(60)]
    (folder / "pairs.csv").write_text("\n".join(["prompt,chosen,rejected,more", *pairs]) + "\n")
    verdicts = [f"parcel {n}?,sent {n},{n % 2},{n % 3 % 2}" for n in range(60)]
    scores = [f"a cat {n},a small cat {n},0.{n % 10},0.{n % 7}" for n in range(90)]
    (folder / "scores.csv").write_text("\n".join(["query,document,score,more", *scores]) + "\n")
    (folder / "verdicts.csv").write_text(
        "\n".join(["prompt,completion,label,more", *verdicts]) + "\n"
    )
    turns = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "yes"}]
    chats = [
        {"messages": [{**turns[0], "content": f"call {n}"}, turns[1]], "more": turns}
        for n in range(60)
    ]
    (folder / "chats.jsonl").write_text("\n".join(map(json.dumps, chats)) + "\n")
    turns[1] = {**turns[1], "reasoning_content": "they asked"}
    thoughts = [{"messages": [{**turns[0], "content": f"call {n}"}, turns[1]]} for n in range(60)]
    (folder / "thoughts.jsonl").write_text("\n".join(map(json.dumps, thoughts)) + "\n")
    write_calls(folder)
    return folder


def write_model(folder: Path, config: Mapping[str, Any]) -> None:
    """Write the files that facts come from: a config, and a tokenizer that llama.cpp reads."""
    sentencepiece_tokenizer(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings["chat_template"] = TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": vocabulary}))


def put(spec: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return the spec with one dotted field set."""
    head, _, rest = name.partition(".")
    if not rest:
        return {**spec, head: value}
    inner = spec.get(head)
    return {**spec, head: put(inner if isinstance(inner, Mapping) else {}, rest, value)}


def outcome_of(folder: Path, text: str) -> Outcome:
    """Compile a text up to the point where only writing is left."""
    path = folder / "spec.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return compile_bundle(str(path))


def meaning(folder: Path, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what came of a spec, but for what only tells it again."""
    outcome = outcome_of(folder, json.dumps(spec))
    said = [(found.code, found.severity, found.message) for found in outcome.findings]
    files = {file.name: file.text for file in outcome.files if file.name not in TOLD}
    decided = outcome.plan.decisions.items() if outcome.plan else {}
    values = {name: decision.value for name, decision in decided.items()}
    return {"said": said, "files": files, "decided": values}


def leaves() -> set[str]:
    """Return every field of the language that is not a section."""
    return {field.name for field in fields() if object_form(field.schema) is None}


def test_every_field_is_flipped() -> None:
    """A new field needs a line in the table above."""
    assert leaves() == FLIPS.keys() | ELSEWHERE


def test_the_base_compiles(folder: Path) -> None:
    """The spec that everything is flipped in has no error, so that a flip is seen in files too."""
    outcome = outcome_of(folder, json.dumps(BASE))

    assert not outcome.failed, outcome.findings
    assert outcome.files


@pytest.fixture(scope="module")
def unflipped() -> dict[str, dict[str, Any]]:
    """Return what came of each spec that fields are flipped in, for those that share one."""
    return {}


#: Fields that a module of runtime/ reads from the bundle's spec.json, with that module.
READ_AT_RUN = {
    "tracking.project": "track.tracking",
    "tracking.run": "track.tracking",
    "training.evaluation.allow_worse": "train.verdict",
}


@pytest.mark.parametrize("name", sorted(READ_AT_RUN))
def test_fields_are_read_at_run_time(name: str) -> None:
    """A field that changes no script is read from spec.json by a module."""
    source = read_module(READ_AT_RUN[name])

    assert "spec.json" in source
    assert f'"{name.rpartition(".")[2]}"' in source


def in_two_tiers() -> list[Any]:
    """List the fields that scripts read; every second one is tried by `make prove`."""
    return [
        pytest.param(name, marks=[pytest.mark.prove] if number % 2 else [])
        for number, name in enumerate(sorted(FLIPS.keys() - READ_AT_RUN))
    ]


@pytest.mark.parametrize("name", in_two_tiers())
def test_no_field_is_ignored(folder: Path, name: str, unflipped: dict[str, dict[str, Any]]) -> None:
    """Another valid value changes the plan, the findings or a file."""
    value, needed = FLIPS[name]
    spec = dict(BASE)
    for key, also in needed.items():
        spec = put(spec, key, also)

    key = json.dumps(spec)
    if key not in unflipped:
        unflipped[key] = meaning(folder, spec)

    assert meaning(folder, put(spec, name, value)) != unflipped[key]


def test_allow_silences_a_warning(folder: Path) -> None:
    """A warning that is allowed is not said again."""
    spec = put(BASE, "training.warmup", 0.8)
    before = meaning(folder, spec)["said"]
    warned = [code for code, severity, _ in before if severity == "warning"]

    after = meaning(folder, put(spec, "allow", warned))["said"]

    assert warned
    assert not [code for code, _, _ in after if code in warned]
