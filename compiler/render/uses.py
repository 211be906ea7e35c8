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
    dora: bool
    rslora: bool
    lora_init: bool
    split_init: bool
    experts: bool
    also_train: bool
    new_tokens: bool
    token_rows: bool
    model_folder: bool
    chained: bool
    model_hub: bool
    custom_code: bool
    pickles: bool
    options: bool
    chat_template_file: bool
    one_key_head: bool
    hidden_rotation: bool
    wrapped: bool
    frozen_tower: bool
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
    planned_files: bool
    exact_lengths: bool
    forms: bool
    csv: bool
    jsonl: bool
    json: bool
    parquet: bool
    form_chat: bool
    form_pairs: bool
    form_instruction: bool
    form_text: bool
    pairs: bool
    compared: bool
    system: bool
    template: bool
    append_eos: bool
    loss_on_all: bool
    last_answer: bool
    tools: bool
    repair: bool
    deduplicate: bool
    truncate: bool
    split: bool
    max_rows: bool
    stratify: bool
    validation: bool
    test: bool
    # preference pairs
    pair_smoothing: bool
    reference_copy: bool
    read_in_part: bool
    referred: bool
    rewards: bool
    unpadded: bool
    best_by_margin: bool
    # generated answers
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
    loraplus: bool
    embedding_rate: bool
    compiled: bool
    loader_workers: bool
    loader_prefetch: bool
    max_steps: bool
    early_stopping: bool
    allow_worse: bool
    packed: bool
    stacked: bool
    liger: bool
    ordered: bool
    group_by_length: bool
    sorted_rows: bool
    mean_loss: bool
    by_token: bool
    fused_head: bool
    # a scoring head
    scores: bool
    classes: bool
    reward_model: bool
    widened: bool
    balanced: bool
    weighed_labels: bool
    best_class_metric: bool
    padless: bool
    # the launcher
    nodes: bool
    every_node: bool
    slurm: bool
    kubernetes: bool
    skypilot: bool
    modules: bool
    container: bool
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
    labels: bool
    accuracy: bool
    macro_f1: bool
    rouge_l: bool
    chrf: bool
    gguf: bool
    importance: bool
    ollama_template: bool
    ollama_checked: bool
    adapter: bool
    converted: bool
