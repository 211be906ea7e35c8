"""The reasons of all decisions, in English: one sentence per key."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.stack import GIB

_ROUGHLY: Final = 0.1  # a time is not known better than to a percent

CATALOGUE: Final[Mapping[str, str]] = {
    "said": "set by `{field}` in the spec",
    "default": "the default of `{field}`",
    "precision.cpu": "CPUs train fastest and safest in fp32",
    "precision.bf16": "{hardware} computes in bf16, which needs no loss scaling",
    "precision.fp16": "{hardware} has no bf16, so fp16 with loss scaling",
    "load.same": "training in {precision} needs no other copy of the weights",
    "load.frozen": "the frozen base only takes part in {precision} products",
    "load.quantized": "what is not in 4 bits, and what the 4 bits are computed in: {precision}",
    "load.deepspeed": "DeepSpeed keeps its own fp32 master beside {precision} weights",
    "load.fsdp": "each process's shards are an fp32 master; FSDP gathers them in {precision}",
    "load.master": "the weights are their own fp32 master; autocast computes in {precision}",
    "attention.eager": "transformers runs {architecture} on no kernel that torch alone brings",
    "attention.sdpa": "PyTorch's own kernel, which needs nothing installed beyond torch",
    "max_length.longest": "the longest row has {max} tokens, so none is cut",
    "max_length.longest.estimate": "the longest row has about {max} tokens, estimated from "
    "characters",
    "max_length.p99": "99 % of rows have at most {p99} tokens and the longest {max}: {cut_share} "
    "of rows are longer than this",
    "max_length.p99.estimate": "99 % of rows have at most about {p99} tokens and the longest "
    "{max}, estimated from characters: {cut_share} of rows are longer than this",
    "max_length.context": "the model's context of {context} tokens; {cut_share} of rows are longer",
    "max_length.context.estimate": "the model's context of {context} tokens; by an estimate from "
    "characters {cut_share} of rows are longer",
    "max_length.pieces": "longer texts are split into pieces of so many tokens; the longest has "
    "{max}",
    "packing.faster": "rows have {mean} tokens on average and up to {max}: padded to the longest "
    "of their batch, an epoch would take {slower_share} longer",
    "packing.text": "a step then reads about as many tokens of text as any other",
    "packing.even": "packing rows of {mean} tokens on average and up to {max} would not save a "
    "tenth of the time",
    "packing.long": "packed rows of {tokens} tokens would be fewer than four in the {rows} rows of "
    "a step",
    "packing.tight": "single rows do not fit in memory, and packed ones are no shorter",
    "packing.leaks": "the pinned transformers lets packed rows of {architecture} see each other",
    "packing.unknown": "whether {architecture} keeps packed rows apart is not known",
    "packing.objective": "the trainer of `{objective}` takes one row at a time",
    "packing.grouped": "rows are grouped by length, as `training.group_by_length` says",
    "packing.counted": "`{field}` counts single rows",
    "packed_length": "{fill_share} of it filled by rows of up to {max} tokens",
    "packed_rows": "each with {each} rows of the training split on average",
    "grouping.on": "with the rows of each step drawn at random, and sorted within it, an epoch "
    "would take {slower_share} longer",
    "grouping.off": "steps of rows drawn at random, sorted within each, take only {slower_share} "
    "longer",
    "grouping.comparing": "trainers that compare answers draw their rows by themselves",
    "grouping.packed": "packed rows are alike in length",
    "rows.train": "what is left of {rows} usable rows",
    "rows.mixture": "what the weights of the sources make of {rows} usable rows",
    "mixture.rows": "every source gives its rows once",
    "mixture.whole": "by the weights {weights}: enough for every row to be seen in an epoch",
    "mixture.capped": "by the weights {weights}: no more, as a row of {name} is in it at most "
    "{repeats}x",
    "rows.share": "{share} of {rows} usable rows",
    "stratify.labels": "each of {labels} labels keeps its share in every split",
    "stratify.feedback": "good and bad answers keep their shares in every split",
    "stratify.none": "the answers are not a closed set of labels",
    "class_weights.even": "all {labels} labels have about as many rows",
    "class_weights.uneven": "the most common label has {ratio} times the rows of the rarest; each "
    "counts alike so",
    "metric.rewards": "of two answers one is the better: how often it is rewarded more, and by how "
    "much",
    "metric.classes": "of {labels} labels, each counts alike in it, however rare",
    "best_by.classes": "what a classification is judged by, after each evaluation for nothing",
    "rewards.numeric": "{share} of the data's answers have a number: the last one is compared",
    "rewards.exact": "the data's answers are compared as they are, white space and case aside",
    "generations.usual": "TRL's default: enough for their mean to say what an answer is worth",
    "beta.none": "verified rewards need no reference, which would cost a pass",
    "answer_tokens.sampled": "half as much again as the longest answer of the data, which has "
    "{tokens} tokens; at least 64, at most 1024",
    "answer_tokens.room": "what the model's context leaves beside the longest prompt of {prompt} "
    "tokens",
    "global_batch.groups": "{group} answers to each of {prompts} prompts: near a hundredth of "
    "{rows}, between 4 and 16",
    "global_batch.grouped": "the multiple of {unit} answers (whole groups, processes and "
    "micro-batches) nearest to {asked}",
    "lora_dropout.sampling": "answers are tried and learned by the same weights, so nothing is "
    "dropped",
    "grouping.sampling": "prompts are drawn at random, and how long an answer becomes is not known "
    "before",
    "learning_rate.sampling_full": "TRL's default for GRPO, and DAPO's: a reward says little of a "
    "single token",
    "learning_rate.sampling_adapter": "ten times GRPO's usual rate for all weights, as adapters "
    "take",
    "epochs.sampling_few": "{rows} prompts are few; each time other answers to them are tried",
    "epochs.sampling": "{rows} prompts, of which each is tried once with several answers",
    "best_by.reward": "the mean reward of answers to the validation rows: the loss of tried "
    "answers says nothing",
    "metric.numeric_reward": "what is rewarded, of the likeliest answers to rows that training "
    "never saw",
    "metric.exact_reward": "what is rewarded, of the likeliest answers to rows never seen in "
    "training",
    "metric.other_reward": "how often the likeliest answer is the data's own, beside the rewards",
    "metric.labels": "the answers are {labels} labels, so an answer is right or wrong",
    "answer_tokens.judged": "the longest answer has {tokens} tokens, or more than that",
    "judged_rows.all": "every row of the test split",
    "judged_rows.part": "drawn evenly from {rows}: free text is written token by token",
    "answered_rows.all": "all {rows} rows of validation, which are fewer than asked for",
    "metric.none": "free text has no single right answer: loss and perplexity only",
    "answer_tokens.labels": "the longest label has {characters} characters",
    "answer_tokens.open": "room for a short answer of free text",
    "world.gpu": "one process per GPU of {count}x {hardware}",
    "world.gpu.nodes": "one process per GPU of {nodes} nodes, each with {count}x {hardware}",
    "world.cpu.nodes": "{count} process(es) on each of {nodes} nodes",
    "network.assumed": "what clouds give a node of eight GPUs at least (AWS p3dn, g5.48xlarge): "
    "set `hardware.network_gbit` to what yours has",
    "world.cpu": "a CPU runs one process unless the spec asks for more; here {count}",
    "global_batch.rows": "near a hundredth of {rows} rows, for about 100 steps an epoch",
    "global_batch.packed": "packed rows, of about {each} rows each, near a hundredth of {rows} "
    "rows, for about 100 steps an epoch",
    "global_batch.whole": "near a hundredth of {rows} rows, as a multiple of {unit}",
    "global_batch.rounded": "the multiple of {unit} rows (processes x micro-batch) nearest to "
    "the {asked} asked for",
    "micro_batch.fastest.slower": "the fastest that fits, with {device_bytes} of {capacity_bytes}; "
    "with {rows} rows at a time a step takes {slower_share} longer",
    "micro_batch.only": "the only one that fits: {device_bytes} of {capacity_bytes}",
    "micro_batch.whole": "all that a process sees in a step, at once: {device_bytes} of "
    "{capacity_bytes}",
    "micro_batch.whole.slower": "all that a process sees in a step, at once: {device_bytes} of "
    "{capacity_bytes}; with {rows} rows at a time a step takes {slower_share} longer",
    "micro_batch.tight": "one that needs {device_bytes} of {capacity_bytes}: nothing smaller is "
    "left to try",
    "micro_batch.unknown": "a cautious divisor of {rows} rows, as the memory is not known",
    "accumulation": "global batch {batch} / (micro-batch {micro} x world {world})",
    "checkpointing.off": "activations fit in memory, and keeping them saves recomputing",
    "checkpointing.off.needs": "activations fit in memory, and keeping them saves recomputing",
    "checkpointing.off.slower": "activations fit in memory; with recomputing, a step takes "
    "{slower_share} longer",
    "checkpointing.on": "recomputing activations needs least memory",
    "checkpointing.on.needs": "without it even a micro-batch of {rows} needs {device_bytes}",
    "checkpointing.on.slower": "it makes room for more rows at a time: without it a step takes "
    "{slower_share} longer",
    "sharding.single": "one process",
    "sharding.ddp": "a whole copy in each of {world} processes",
    "sharding.ddp.needs": "a whole copy fits in each of {world} processes",
    "sharding.ddp.slower": "a whole copy fits in each of {world} processes; under {runner} a step "
    "takes {slower_share} longer",
    "sharding.zero1": "{world} processes divide the optimizer states",
    "sharding.zero1.needs": "{world} processes divide the optimizer states: {runner} needs "
    "{device_bytes}",
    "sharding.zero1.slower": "{world} processes divide the optimizer states; under {runner} a step "
    "takes {slower_share} longer",
    "sharding.zero2": "{world} processes divide gradients and optimizer states",
    "sharding.zero2.needs": "{world} processes divide gradients and optimizer states: {runner} "
    "needs {device_bytes}",
    "sharding.zero2.slower": "{world} processes divide gradients and optimizer states; under "
    "{runner} a step takes {slower_share} longer",
    "sharding.zero3": "{world} processes divide weights, gradients and optimizer states",
    "sharding.zero3.needs": "{world} processes divide the weights as well: {runner} needs "
    "{device_bytes}",
    "sharding.zero3.slower": "{world} processes divide the weights as well, which makes room; "
    "under {runner} a step takes {slower_share} longer",
    "sharding.offload": "ZeRO is what can keep states in the host's memory",
    "sharding.nvme": "ZeRO-3 alone keeps states in files of a disk",
    "offload.optimizer.nvme": "a step waits for optimizer states once; weights stay in the "
    "devices' memory",
    "offload.parameters.nvme": "weights lie on the disk too: the devices' memory does not hold "
    "them",
    "nvme.optimizer": "on each node's disk: an fp32 master, its gradient and two moments of each "
    "trained weight; a step moves {moved_bytes}, at {assumed_gb} GB/s, which is an assumption",
    "nvme.parameters": "on each node's disk: the weights, and an fp32 master, its gradient and two "
    "moments of each trained one; a step moves {moved_bytes} of states, at {assumed_gb} GB/s, "
    "which is an assumption",
    "offload.none": "everything stays in the memory of the devices",
    "offload.none.slower": "everything stays in the memory of the devices; with states on the host "
    "a step takes {slower_share} longer",
    "offload.optimizer": "optimizer states fit in the host's memory and not in the devices'",
    "offload.optimizer.slower": "optimizer states on the host make room; without, a step takes "
    "{slower_share} longer",
    "offload.parameters": "weights and optimizer states fit in the host's memory and not in the "
    "devices'",
    "offload.parameters.slower": "weights and optimizer states on the host make room; otherwise a "
    "step takes {slower_share} longer",
    "eval_batch.more": "evaluating keeps nothing for a backward pass: {rows} rows at a time "
    "need no more memory than training and are faster",
    "eval_batch.same": "as many rows at a time as in training",
    "epochs.max_steps": "{steps} steps of {per_epoch} an epoch",
    "epochs.scratch": "{parameters} parameters learn the task from nothing, which takes passes",
    "epochs.many": "{rows} rows teach in one pass",
    "epochs.some": "{rows} rows teach in two passes",
    "epochs.text": "text is read once; up to four times would teach nearly as much as new text",
    "epochs.few": "{rows} rows are few: three passes",
    "steps.epochs": "{epochs} epochs of {per_epoch} steps",
    "eval_steps.tenth": "ten evaluations in {steps} steps",
    "eval_steps.epoch": "once an epoch of {per_epoch} steps",
    "save_steps.each": "a checkpoint at each evaluation, so that the best one is kept",
    "save_steps.some": "a checkpoint at every {evaluations} evaluations, to write fewer of them",
    "warmup_steps": "{share} of {steps} steps",
    "compile.off": "compiling takes minutes before the first step, and again for new lengths",
    "loader_workers.none": "rows are tokens that are mapped from disk: a batch takes milliseconds",
    "decay_steps": "the last {share} of {steps} steps",
    "learning_rate.scratch": "{parameters} parameters bear a high rate",
    "learning_rate.lora": "the rate of QLoRA's experiments up to 13B parameters, "
    "whatever the batch",
    "learning_rate.lora_large": "the rate of QLoRA's experiments above 13B parameters, "
    "whatever the batch",
    "learning_rate.text_adapter": "half of the rate for answers, as every token of a text is "
    "learned",
    "learning_rate.full": "2e-5 at 7B, falling with size^0.4 and not scaled with the batch; "
    "this model has {parameters}",
    "learning_rate.lion": "{share} of the rate that AdamW would have, {adamw}: Lion's steps are "
    "all of one size, and its paper takes a third to a tenth",
    "learning_rate.sgd": "{times} times the rate that AdamW would have, {adamw}: a guess, as "
    "plain gradients are as small as the model makes them",
    "learning_rate.reward_full": "the rate of Llama 2's reward models",
    "learning_rate.reward_adapter": "the rate of TRL's example of a reward model with an adapter",
    "learning_rate.comparing_full": "5e-7 at 7B, falling with size^0.4: a fortieth of what teaches "
    "answers, as pairs move a model far; this one has {parameters}",
    "learning_rate.comparing_adapter": "the rate of Zephyr's adapter: a fortieth of what teaches "
    "answers, as pairs move a model far",
    "learning_rate.odds_full": "8e-6 at 7B as in TRL's example, falling with size^0.4: answers are "
    "learned as well; this one has {parameters}",
    "learning_rate.odds_adapter": "that of TRL's example, as answers are learned as well",
    "beta.odds": "what the preference weighs beside the answers, as in ORPO's paper",
    "weight.one": "{rows} answers of this kind, {others} of the other: the rarer one is weighed up",
    "weight.balanced": "{rows} answers of this kind weigh as much as {others} of the other",
    "beta.usual": "the strength of the DPO paper's experiments",
    "beta.normalised": "per token and not per answer, so higher than the usual 0.1",
    "reference.adapter_off": "the base with its adapter switched off: FSDP has all weights in "
    "place only when training begins",
    "reference.precomputed": "one pass before training in place of one at every step, and no "
    "second model in memory",
    "pair_smoothing.robust": "a tenth of the pairs labelled wrong, as in the robust loss's paper",
    "pair_smoothing.exo": "the value of EXO's paper",
    "epochs.comparing": "pairs teach quickly and are learned by heart soon: one pass",
    "epochs.comparing_few": "{rows} pairs are few: two passes, as more learn them by heart",
    "lora_dropout.comparing": "off, as the trainer switches it off where answers are compared",
    "importance.tokens": "enough to know a column's mean square to a few percent",
    "importance.tokens.experts": "enough for {experts} experts, of which a token is sent to {used}",
    "lora_rank.small": "a model of {parameters} parameters affords a higher rank",
    "lora_rank.usual": "the usual rank; {parameters} parameters are many to share it",
    "lora_alpha": "twice the rank of {rank}",
    "lora_alpha.rslora": "divided by the root of the rank of {rank} it is about 2, as without "
    "rsLoRA",
    "lora_dropout.experts": "PEFT cannot drop out what experts read",
    "lora_dropout.dora": "with dropout DoRA keeps copies of all weights that it adapts",
    "lora_targets.pattern": "the {modules} kinds of linear modules that the pattern matches",
    "new_tokens": "as many as `{field}` names; each begins near the mean of the others",
    "trained_layers.quarter": "the last {count} of {layers} layers: a quarter, where answers take "
    "shape",
    "lora_targets.all": "all {modules} kinds of linear modules, the head apart",
    "bound.divergence": "nats per token: {margin} times what llama.cpp publishes for an 8B model, "
    "as this one has {parameters} parameters, and {nats} for rounding",
    "bound.agreement": "of tokens: {margin} times the disagreement that llama.cpp publishes for an "
    "8B model, and {slack_share} for rounding",
    "bound.perplexity": "over the trained model's: {margin} times the rise that llama.cpp "
    "publishes for an 8B model, and {slack_share} for chance",
    "bound.metric": "of answers: the disagreement that llama.cpp publishes for an 8B model, and "
    "{chance} of {rows} rows for chance",
    "lora_targets.unknown": "{architecture} is not in the table, so PEFT finds the linear modules",
    "storage.bytes": "bitsandbytes packs two weights into a byte",
    "storage.divided": "packed into {precision}, which FSDP computes in: it divides no other type",
    "quantization.nf4": "16 levels spaced as normally distributed weights are (QLoRA)",
}


def sentence(because: Because) -> str:
    """Return the reason as one English line without a final period."""
    return CATALOGUE[because.key].format(**shown_values(because))


def shown_values(because: Because) -> dict[str, str]:
    """Return the values of a reason as its sentence shows them."""
    return {name: _show(name, value) for name, value in because.values.items()}


def _show(name: str, value: Any) -> str:
    """Return A value as people read it, by the unit that its name ends in."""
    if value is None:
        return "unknown"
    if isinstance(value, bool | str):
        return str(value)
    if name.endswith("_bytes"):
        return f"{value / GIB:,.1f} GiB"
    if name == "slower_share" and value >= _ROUGHLY:
        return f"{value:.0%}".replace("%", " %")
    if name.endswith("share"):
        return f"{value:.1%}".replace(".0%", "%").replace("%", " %")
    if name == "parameters":
        return _parameters(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _parameters(count: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)
