"""What a bundle uses: the booleans by which templates leave out what a run does not need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ftc.compiler.knowledge.converter import hides_rotation
from ftc.compiler.knowledge.gguf_types import wants_matrix
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.ollama_templates import find_ollama_family
from ftc.compiler.plan.comparison import PAIRING
from ftc.compiler.plan.mixture import is_weighed
from ftc.compiler.plan.objective import NEEDS
from ftc.compiler.plan.padding import sorts_rows
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.sampling import find_rewards, samples, sampling_reference
from ftc.compiler.render.method import token_tables
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.trainer import schedule_reasons
from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.spec.sources import list_sources

#: The attention that takes rows of any lengths one behind the other; others have them stacked.
_VARIABLE_LENGTHS = "flash_attention_2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """One field per choice that a template makes."""

    # the model
    lora: bool
    qlora: bool
    int8: bool
    quant_storage: bool
    freeze: bool
    dora: bool
    rslora: bool
    lora_init: bool
    split_init: bool
    experts: bool
    also_train: bool
    new_tokens: bool
    token_rows: bool
    model_folder: bool
    model_hub: bool
    custom_code: bool
    pickles: bool
    options: bool
    chat_template_file: bool
    one_key_head: bool
    hidden_rotation: bool
    # the data
    hub_data: bool
    file_data: bool
    downloads: bool
    streamed: bool
    csv_stream: bool
    jsonl_stream: bool
    parquet_stream: bool
    mixture: bool
    weighed: bool
    source_limits: bool
    formats: bool
    forms: bool
    text_files: bool
    csv: bool
    jsonl: bool
    json: bool
    parquet: bool
    csv_files: bool
    jsonl_files: bool
    json_files: bool
    parquet_files: bool
    form_chat: bool
    form_pairs: bool
    form_instruction: bool
    form_text: bool
    json_rows: bool
    lists: bool
    pairs: bool
    compared: bool
    prompt_column: bool
    input_column: bool
    system: bool
    template: bool
    append_eos: bool
    loss_on_all: bool
    last_answer: bool
    tools: bool
    tools_column: bool
    repair: bool
    deduplicate: bool
    truncate: bool
    split: bool
    max_rows: bool
    stratify: bool
    validation: bool
    test: bool
    # answers that are compared
    pair_smoothing: bool
    reference_copy: bool
    referred: bool
    rewards: bool
    unpadded: bool
    best_by_margin: bool
    # answers that are tried
    sampled: bool
    held_back: bool
    base_again: bool
    reward_exact: bool
    reward_numeric: bool
    reward_regex: bool
    reward_schema: bool
    reward_functions: bool
    # training
    cpu: bool
    gpu: bool
    distributed: bool
    deepspeed: bool
    zero3: bool
    nvme: bool
    fsdp: bool
    bf16: bool
    fp16: bool
    other_optimizer: bool
    bnb_optimizer: bool
    schedule_options: bool
    rates: bool
    loraplus: bool
    embedding_rate: bool
    compiled: bool
    loader_workers: bool
    loader_prefetch: bool
    neftune: bool
    label_smoothing: bool
    max_steps: bool
    early_stopping: bool
    allow_worse: bool
    packed: bool
    stacked: bool
    liger: bool
    group_by_length: bool
    sorted_rows: bool
    fused_head: bool
    # a head that scores
    scores: bool
    classes: bool
    reward_model: bool
    widened: bool
    balanced: bool
    weighed_labels: bool
    best_class_metric: bool
    padless: bool
    # what starts it
    nodes: bool
    every_node: bool
    slurm: bool
    kubernetes: bool
    skypilot: bool
    modules: bool
    container: bool
    # where it is followed
    tracked: bool
    tensorboard: bool
    tracker: bool
    wandb: bool
    mlflow: bool
    trackio: bool
    # afterwards
    answered: bool
    harness: bool
    best_by_metric: bool
    counted: bool
    labels: bool
    accuracy: bool
    macro_f1: bool
    exact_match: bool
    numeric_match: bool
    rouge_l: bool
    chrf: bool
    gguf: bool
    importance: bool
    ollama_template: bool
    ollama_checked: bool
    adapter: bool
    converted: bool


def find_uses(source: BundleSource) -> Uses:
    """Return what this bundle uses."""
    return Uses(
        **_model_uses(source),
        **_data_uses(source),
        **_objective_uses(source),
        **_reward_uses(source),
        **_training_uses(source),
        **_score_uses(source),
        **_launch_uses(source),
        **_tracking_uses(source),
        **_metric_uses(source),
        **_export_uses(source),
    )


def _model_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the model and its method."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    converted = bool(spec.export.types) or spec.export.adapter
    storage = decided.quant_storage
    return {
        "lora": spec.method.type in ("lora", "qlora"),
        "qlora": spec.method.type == "qlora",
        "int8": spec.method.type == "qlora" and spec.method.quantization == "int8",
        "quant_storage": storage is not None and storage.value != "uint8",
        "freeze": spec.method.type == "freeze",
        "dora": decided.dora is not None,
        "rslora": decided.rslora is not None,
        "lora_init": decided.lora_init is not None,
        "split_init": decided.lora_init is not None and decided.lora_init.value != "gaussian",
        "experts": decided.lora_experts is not None,
        "new_tokens": bool(spec.model.new_tokens),
        "token_rows": bool(token_tables(source)),
        "also_train": decided.also_train is not None and spec.method.type != "freeze",
        "model_folder": source.model_path is not None,
        "model_hub": source.model_path is None,
        "custom_code": spec.model.trust_remote_code,
        "pickles": spec.model.pickled_weights,
        "options": source.model_path is None or spec.model.trust_remote_code,
        "chat_template_file": source.chat_template is not None,
        "one_key_head": _has_one_key_head(facts.model),
        "hidden_rotation": converted and hides_rotation(facts.model.architecture),
    }


def _data_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the data."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    data, form = facts.data, facts.data.form
    parts = data.sources or (data,)
    forms, formats = {part.form for part in parts}, {part.format for part in parts}
    on_hub = [path is None for path in source.data_paths or (source.data_path,)]
    splits = OBJECTIVES[spec.objective.type].splits
    validation, test = decided.validation_rows.value > 0, decided.test_rows.value > 0
    return {
        **_reading_uses(parts),
        "hub_data": any(on_hub),
        "file_data": not all(on_hub),
        "mixture": bool(data.sources),
        "weighed": bool(data.sources) and is_weighed(spec),
        "source_limits": any(one.max_rows is not None for one in list_sources(spec.data)),
        "formats": len(formats) > 1,
        "forms": len(forms) > 1,
        "csv": "csv" in formats,
        "jsonl": "jsonl" in formats,
        "json": "json" in formats,
        "parquet": "parquet" in formats,
        "form_chat": "chat" in forms,
        "form_pairs": "prompt_completion" in forms,
        "form_instruction": "instruction" in forms,
        "form_text": form == "text",
        "json_rows": bool({"json", "jsonl"} & formats)
        or form in ("chat", "preference", "feedback"),
        "lists": form in ("chat", "preference", "feedback"),
        "pairs": form == "preference",
        "compared": form in ("preference", "feedback"),
        "prompt_column": data.prompt is not None,
        "input_column": data.input is not None,
        "system": spec.data.system is not None and form != "text",
        "template": renders_template(source),
        "append_eos": facts.tokenizer.closes_answer is False,
        "loss_on_all": spec.objective.loss_on == "all",
        "tools": data.calls,
        "tools_column": data.calls and data.tools is not None,
        "last_answer": spec.objective.loss_on == "last_turn" or form != "chat",
        "repair": spec.data.cleaning.repair_encoding,
        "deduplicate": spec.data.cleaning.drop_duplicates,
        "truncate": spec.data.cleaning.overlong == "truncate" and not splits,
        "split": splits,
        "max_rows": spec.data.max_rows is not None,
        "stratify": decided.stratify.value and form not in ("text", "preference"),
        "validation": validation,
        "test": test,
    }


def _reading_uses(parts: Sequence[DataFacts]) -> dict[str, bool]:
    """Return the choices of how rows are had: from files, or over the network as they are taken."""
    files = {part.format for part in parts if part.streamed_rows is None}
    streams = {part.format for part in parts if part.streamed_rows is not None}
    whole = [part for part in parts if part.streamed_rows is None]
    return {
        "downloads": any(part.origin == "hub" for part in whole),
        "streamed": bool(streams),
        "csv_stream": "csv" in streams,
        "jsonl_stream": "jsonl" in streams,
        "parquet_stream": "parquet" in streams,
        "csv_files": "csv" in files,
        "jsonl_files": "jsonl" in files,
        "json_files": "json" in files,
        "parquet_files": "parquet" in files,
        "text_files": bool(files - {"parquet"}),
    }


def _objective_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of answers that are compared."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    validation = decided.validation_rows.value > 0
    metric = decided.metric.value
    return {
        "pair_smoothing": decided.pair_smoothing is not None,
        "reference_copy": decided.reference is not None and decided.reference.value == "copy",
        "referred": decided.reference is not None,
        "rewards": decided.beta is not None and not samples(spec),
        "unpadded": facts.tokenizer.pad is None,
        "best_by_margin": (
            spec.objective.type in PAIRING
            and decided.best_by.value == "metric"
            and metric == "none"
            and validation
        ),
    }


def _training_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of training."""
    spec, decided = source.spec, source.plan.decisions
    gpu, sharding = source.facts.hardware.kind == "gpu", decided.sharding.value
    validation = decided.validation_rows.value > 0
    return {
        "cpu": not gpu,
        "gpu": gpu,
        "distributed": decided.world.value > 1 or sharding.startswith("zero"),
        "deepspeed": sharding in ("zero1", "zero2", "zero3"),
        "zero3": sharding == "zero3",
        "nvme": decided.nvme_bytes is not None,
        "fsdp": sharding == "fsdp",
        "bf16": decided.precision.value == "bf16",
        "fp16": decided.precision.value == "fp16",
        "other_optimizer": spec.training.optimizer != "adamw",
        "bnb_optimizer": spec.training.optimizer not in ("adamw", "adafactor", "sgd"),
        "schedule_options": bool(schedule_reasons(decided)),
        "rates": bool(decided.loraplus_ratio or decided.embedding_learning_rate),
        "loraplus": decided.loraplus_ratio is not None,
        "embedding_rate": decided.embedding_learning_rate is not None,
        "compiled": decided.compile.value,
        "loader_workers": decided.loader_workers.value > 0,
        "loader_prefetch": decided.loader_prefetch is not None,
        "neftune": decided.neftune is not None,
        "label_smoothing": decided.label_smoothing is not None,
        "max_steps": spec.training.max_steps is not None,
        "early_stopping": decided.patience.value is not None and validation,
        "allow_worse": spec.training.evaluation.allow_worse,
        "packed": decided.packing.value != "none",
        "stacked": decided.packing.value != "none" and decided.attention.value != _VARIABLE_LENGTHS,
        "liger": spec.training.liger,
        "group_by_length": decided.group_by_length.value,
        "sorted_rows": decided.packing.value == "none" and sorts_rows(spec),
        "fused_head": not gpu and NEEDS[spec.objective.type].head == "fused",
    }


def _launch_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of what starts the run; `every_node` runs run.sh, slurm.sh one of them."""
    launch, nodes = source.spec.launch, source.facts.hardware.nodes > 1
    slurm = launch.type == "slurm"
    return {
        "nodes": nodes,
        "every_node": nodes and not slurm,
        "slurm": slurm,
        "kubernetes": launch.type == "kubernetes",
        "skypilot": launch.type == "skypilot",
        "modules": slurm and bool(launch.modules),
        "container": slurm and launch.container is not None,
    }


def _tracking_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of where training is followed; a `tracker` has a file of its own."""
    kind = source.spec.tracking.type
    return {
        "tracked": kind != "none",
        "tensorboard": kind == "tensorboard",
        "tracker": kind in ("wandb", "mlflow", "trackio"),
        "wandb": kind == "wandb",
        "mlflow": kind == "mlflow",
        "trackio": kind == "trackio",
    }


def _is_adapter_in_16_bits(source: BundleSource) -> bool:
    """Whether TRL trains an adapter in 16 bits that DeepSpeed keeps no fp32 copy of."""
    method, decided = source.spec.method.type, source.plan.decisions
    zero = decided.sharding.value.startswith("zero")
    wide = decided.precision.value == "fp32"
    return method in ("lora", "qlora") and (not zero or (wide and method == "qlora"))


def _score_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of a head that scores."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    weights = decided.class_weights.value if decided.class_weights else None
    scores = OBJECTIVES[spec.objective.type].head == "scores"
    validation = decided.validation_rows.value > 0
    return {
        "scores": scores,
        "classes": spec.objective.type == "classification",
        "reward_model": spec.objective.type == "reward",
        "widened": spec.objective.type == "reward" and _is_adapter_in_16_bits(source),
        "balanced": weights == "balanced",
        "weighed_labels": isinstance(weights, Mapping),
        "best_class_metric": _is_best_by_metric(decided) and scores and validation,
        "padless": scores and facts.tokenizer.pad is None,
    }


def _metric_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of what answers are judged by."""
    spec, decided = source.spec, source.plan.decisions
    validation, test = decided.validation_rows.value > 0, decided.test_rows.value > 0
    metric, scores = decided.metric.value, OBJECTIVES[spec.objective.type].head == "scores"
    answered = metric != "none" and source.facts.data.form != "text" and not scores
    counted = (answered or scores) and _is_best_by_metric(decided) and not samples(spec)
    return {
        "answered": answered and test,
        "harness": decided.harness is not None,
        "best_by_metric": (
            answered and _is_best_by_metric(decided) and validation and not samples(spec)
        ),
        "counted": counted and validation,
        "labels": answered and metric in ("accuracy", "macro_f1"),
        "accuracy": metric == "accuracy",
        "macro_f1": metric == "macro_f1",
        "exact_match": metric == "exact_match",
        "numeric_match": metric == "numeric_match",
        "rouge_l": metric == "rouge_l",
        "chrf": metric == "chrf",
    }


def _export_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of what comes after training."""
    spec = source.spec
    ollama = renders_template(source) and _has_ollama_family(source)
    converted = bool(spec.export.types) or spec.export.adapter
    return {
        "gguf": bool(spec.export.types),
        "importance": any(wants_matrix(kind) for kind in spec.export.types),
        "ollama_template": ollama,
        "ollama_checked": ollama and converted,
        "adapter": spec.export.adapter,
        "converted": converted,
    }


def renders_template(source: BundleSource) -> bool:
    """Whether rows are written by a chat template.

    Every form but plain text is, where the tokenizer has a template; a tokenizer of which no file
    could be read is taken to have one, as conversations cannot do without. A classification reads
    the text alone, as transformers' own pipeline does.
    """
    tokenizer, form = source.facts.tokenizer, source.facts.data.form
    if form == "text" or source.spec.objective.type == "classification":
        return False
    if source.chat_template is not None or tokenizer.template_sha256 is not None:
        return True
    return form == "chat" or not tokenizer.exact


def _reward_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of answers that are tried: all false where none are."""
    spec, sampled = source.spec, samples(source.spec)
    rewards = find_rewards(spec, source.facts.data) if sampled else ()
    return {
        "sampled": sampled,
        "held_back": sampled and sampling_reference(spec) != "none",
        "base_again": sampled and source.model_path is None and sampling_reference(spec) == "copy",
        "reward_exact": any(reward.match == "exact" for reward in rewards),
        "reward_numeric": any(reward.match == "numeric" for reward in rewards),
        "reward_regex": any(reward.regex is not None for reward in rewards),
        "reward_schema": any(reward.json_schema is not None for reward in rewards),
        "reward_functions": any(reward.functions is not None for reward in rewards),
    }


def _is_best_by_metric(decided: Decisions) -> bool:
    return decided.best_by.value == "metric" and decided.metric.value != "none"


def _has_ollama_family(source: BundleSource) -> bool:
    ollama = source.facts.tokenizer.ollama
    return ollama is not None and find_ollama_family(ollama.family or "") is not None


def _has_one_key_head(model: ModelFacts) -> bool:
    """Whether it is a Falcon whose query heads share one key head, as `multi_query` says."""
    shape = model.shape
    return model.model_type == "falcon" and shape is not None and shape.kv_heads == 1
