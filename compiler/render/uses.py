"""What a bundle uses: the booleans by which templates leave out what a run does not need."""

from dataclasses import dataclass

from ftc.compiler.knowledge.converter import hides_rotation
from ftc.compiler.knowledge.gguf_types import wants_matrix
from ftc.compiler.knowledge.ollama_templates import find_ollama_family
from ftc.compiler.render.source import BundleSource
from ftc.compiler.resolve.facts import ModelFacts

#: Rows are worth sorting by length when the long ones are this much longer than the mean.
_UNEVEN_LENGTHS = 3.0
_LEAST_CONTEXT_TOKENS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """One field per choice that a template makes."""

    # the model
    lora: bool
    qlora: bool
    model_folder: bool
    model_hub: bool
    custom_code: bool
    options: bool
    chat_template_file: bool
    one_key_head: bool
    hidden_rotation: bool
    # the data
    hub_data: bool
    csv: bool
    jsonl: bool
    json: bool
    parquet: bool
    form_chat: bool
    form_pairs: bool
    form_instruction: bool
    form_text: bool
    input_column: bool
    system: bool
    template: bool
    append_eos: bool
    loss_on_all: bool
    repair: bool
    deduplicate: bool
    truncate: bool
    max_rows: bool
    stratify: bool
    validation: bool
    test: bool
    # training
    cpu: bool
    gpu: bool
    distributed: bool
    deepspeed: bool
    zero3: bool
    bf16: bool
    fp16: bool
    max_steps: bool
    early_stopping: bool
    group_by_length: bool
    # afterwards
    accuracy: bool
    gguf: bool
    importance: bool
    ollama_template: bool
    ollama_checked: bool
    adapter: bool
    converted: bool


def find_uses(source: BundleSource) -> Uses:
    """Return what this bundle uses."""
    spec, facts = source.spec, source.facts
    data, decided = facts.data, source.plan.decisions
    form, file_format = data.form, data.format
    validation, test = decided.validation_rows.value > 0, decided.test_rows.value > 0
    gpu = facts.hardware.kind == "gpu"
    sharding = decided.sharding.value
    ollama = renders_template(source) and _has_ollama_family(source)
    converted = bool(spec.export.types) or spec.export.adapter
    return Uses(
        lora=spec.method.type != "full",
        qlora=spec.method.type == "qlora",
        model_folder=source.model_path is not None,
        model_hub=source.model_path is None,
        custom_code=spec.model.trust_remote_code,
        options=source.model_path is None or spec.model.trust_remote_code,
        chat_template_file=source.chat_template is not None,
        one_key_head=_has_one_key_head(facts.model),
        hidden_rotation=converted and hides_rotation(facts.model.architecture),
        hub_data=source.data_path is None,
        csv=file_format == "csv",
        jsonl=file_format == "jsonl",
        json=file_format == "json",
        parquet=file_format == "parquet",
        form_chat=form == "chat",
        form_pairs=form == "prompt_completion",
        form_instruction=form == "instruction",
        form_text=form == "text",
        input_column=data.input is not None,
        system=spec.data.system is not None and form != "text",
        template=renders_template(source),
        append_eos=facts.tokenizer.closes_answer is False,
        loss_on_all=spec.objective.loss_on == "all",
        repair=spec.data.cleaning.repair_encoding,
        deduplicate=spec.data.cleaning.drop_duplicates,
        truncate=spec.data.cleaning.overlong == "truncate",
        max_rows=spec.data.max_rows is not None,
        stratify=decided.stratify.value and form != "text",
        validation=validation,
        test=test,
        cpu=not gpu,
        gpu=gpu,
        distributed=decided.world.value > 1 or sharding.startswith("zero"),
        deepspeed=sharding in ("zero1", "zero2", "zero3"),
        zero3=sharding == "zero3",
        bf16=decided.precision.value == "bf16",
        fp16=decided.precision.value == "fp16",
        max_steps=spec.training.max_steps is not None,
        early_stopping=decided.patience.value is not None and validation,
        group_by_length=_is_uneven(source),
        accuracy=test and decided.metric.value == "accuracy" and form != "text",
        gguf=bool(spec.export.types),
        importance=any(wants_matrix(kind) for kind in spec.export.types),
        ollama_template=ollama,
        ollama_checked=ollama and converted,
        adapter=spec.export.adapter,
        converted=converted,
    )


def renders_template(source: BundleSource) -> bool:
    """Whether rows are written by a chat template.

    Every form but plain text is, where the tokenizer has a template; a tokenizer of which no file
    could be read is taken to have one, as conversations cannot do without.
    """
    tokenizer, form = source.facts.tokenizer, source.facts.data.form
    if form == "text":
        return False
    if source.chat_template is not None or tokenizer.template_sha256 is not None:
        return True
    return form == "chat" or not tokenizer.exact


def find_context_tokens(source: BundleSource) -> int:
    """Return the room that ask.py and Ollama give a question and its answer."""
    wanted = max(_LEAST_CONTEXT_TOKENS, 2 * source.plan.decisions.max_length.value)
    return min(source.facts.model.context_tokens, wanted)


def _has_ollama_family(source: BundleSource) -> bool:
    ollama = source.facts.tokenizer.ollama
    return ollama is not None and find_ollama_family(ollama.family or "") is not None


def _has_one_key_head(model: ModelFacts) -> bool:
    """Whether it is a Falcon whose query heads share one key head, as `multi_query` says."""
    shape = model.shape
    return model.model_type == "falcon" and shape is not None and shape.kv_heads == 1


def _is_uneven(source: BundleSource) -> bool:
    lengths = source.facts.data.lengths
    several = source.plan.decisions.micro_batch.value > 1
    return several and lengths.p95 >= _UNEVEN_LENGTHS * lengths.mean
