"""What a bundle uses: one boolean per choice that a template makes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """One field per choice that a template makes."""

    # the model
    lora: bool
    qlora: bool
    int8: bool
    quant_storage: bool
    freeze: bool
    halved: bool
    dora: bool
    rslora: bool
    lora_init: bool
    split_init: bool
    experts: bool
    also_train: bool
    new_tokens: bool
    token_rows: bool
    adapts_tokens: bool
    model_folder: bool
    chained: bool
    gated: bool
    model_hub: bool
    custom_code: bool
    pickles: bool
    safetensors: bool
    options: bool
    chat_template_file: bool
    template_options: bool
    one_key_head: bool
    hidden_rotation: bool
    wrapped: bool
    frozen_tower: bool
    # the data
    hub_data: bool
    file_data: bool
    downloads: bool
    streamed: bool
    mixture: bool
    weighed: bool
    source_limits: bool
    planned_files: bool
    exact_lengths: bool
    forms: bool
    csv: bool
    encoded: bool
    jsonl: bool
    parquet: bool
    form_chat: bool
    form_pairs: bool
    form_instruction: bool
    form_text: bool
    pairs: bool
    compared: bool
    system: bool
    template: bool
    conversations: bool
    plain_answers: bool
    append_eos: bool
    closes: bool
    raw: bool
    loss_on_all: bool
    last_answer: bool
    mask_reasoning: bool
    strip_reasoning: bool
    tools: bool
    repair: bool
    deduplicate: bool
    truncate: bool
    cut: bool
    split: bool
    max_rows: bool
    stratify: bool
    keep_answers: bool
    validation: bool
    test: bool
    # preference pairs
    reference_copy: bool
    read_in_part: bool
    referred: bool
    rewards: bool
    unpadded: bool
    best_by_margin: bool
    # generated answers
    sampled: bool
    rewarded: bool
    anchored: bool
    base_again: bool
    reward_exact: bool
    reward_numeric: bool
    reward_regex: bool
    reward_schema: bool
    reward_functions: bool
    # a teacher
    distilled: bool
    teacher_hub: bool
    teacher_4bit: bool
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
    checkpointing_options: bool
    loraplus: bool
    embedding_rate: bool
    compiled: bool
    loader_workers: bool
    loader_prefetch: bool
    max_steps: bool
    epochs: bool
    early_stopping: bool
    allow_worse: bool
    packed: bool
    stacked: bool
    concatenated: bool
    liger: bool
    group_by_length: bool
    by_length: bool
    mean_loss: bool
    by_token: bool
    fused_head: bool
    # a scoring head
    scores: bool
    classes: bool
    reward_model: bool
    widened: bool
    cast_adapter: bool
    wrapped_by_trainer: bool
    balanced: bool
    weighed_labels: bool
    best_class_metric: bool
    padless: bool
    # an embedding model
    vectors: bool
    pooling_said: bool
    triplets: bool
    scored_pairs: bool
    # the launcher
    nodes: bool
    every_node: bool
    slurm: bool
    kubernetes: bool
    skypilot: bool
    modules: bool
    container: bool
    # on request
    notebook: bool
    image: bool
    # tracking
    tracked: bool
    tensorboard: bool
    wandb: bool
    mlflow: bool
    trackio: bool
    # after training
    answered: bool
    harness: bool
    best_by_metric: bool
    counted: bool
    samples: bool
    labels: bool
    accuracy: bool
    macro_f1: bool
    rouge_l: bool
    chrf: bool
    gguf: bool
    importance: bool
    adds_end: bool
    ollama_checked: bool
    adapter: bool
    finished: bool
    converted: bool
