"""The reasons of all decisions, in English: one sentence per key."""

from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.objective.reasons import SENTENCES
from ftc.compiler.plan.software import GIB

_ROUGHLY: Final = 0.1  # a time is not known better than to a percent

CATALOGUE: Final[Mapping[str, str]] = {
    "said": "set by `{field}` in the spec",
    "default": "the default of `{field}`",
    "precision.cpu": "CPUs train fastest and safest in fp32",
    "precision.bf16": "{hardware} computes in bf16, which needs no loss scaling",
    "precision.fp16": "{hardware} has no bf16, so training uses fp16 with loss scaling",
    "load.same": "training in {precision} needs no other copy of the weights",
    "load.frozen": "the frozen base is only used in {precision} matrix products",
    "load.frozen_layers": "frozen layers stay in {precision}; train_in_fp32 makes the trained ones "
    "fp32, and autocast computes in {precision}",
    "load.frozen_layers.rounded": "frozen layers are rounded from {dtype} to {precision}; "
    "train_in_fp32 makes the trained ones fp32, and autocast computes in {precision}",
    "load.quantized": "{precision} for weights that are not in 4 bits, and for computing with "
    "those that are",
    "load.deepspeed": "DeepSpeed keeps its own fp32 master copy of the {precision} weights",
    "load.fsdp": "the fp32 shards are the master copy; FSDP gathers them in {precision}",
    "load.master": "the fp32 weights are the master copy; autocast computes in {precision}",
    "attention.eager": "transformers supports none of torch's attention kernels for {architecture}",
    "attention.sdpa": "PyTorch's own attention kernel, which needs no other package",
    "max_length.longest": "the longest row has {max} tokens, so none is cut",
    "max_length.longest.estimate": "the longest row has about {max} tokens, estimated from "
    "characters",
    "max_length.p99": "99% of rows have at most {p99} tokens and the longest {max}: {cut_share} "
    "of rows are longer than this",
    "max_length.p99.estimate": "99% of rows have at most about {p99} tokens and the longest "
    "{max}, estimated from characters: {cut_share} of rows are longer than this",
    "max_length.context": "the model's context of {context} tokens; {cut_share} of rows are longer",
    "max_length.context.estimate": "the model's context of {context} tokens; about {cut_share} of "
    "rows are longer, estimated from characters",
    "max_length.pieces": "longer texts are split into pieces of this many tokens; the longest "
    "text has {max}",
    "max_pixels.processor": "the limit of the model's processor; an image has at most {tokens} "
    "tokens, {mean} on average",
    "max_pixels.memory": "an image then has at most {tokens} tokens; with {larger} pixels, which "
    "are {more} tokens, the run needs {needed_bytes} of {capacity_bytes}",
    "max_pixels.context": "an image then has at most {tokens} tokens; with {larger} pixels the "
    "images of a row fill the model's context of {context} tokens",
    "max_pixels.least": "the smallest limit that is tried; even with it the run does not fit",
    "packing.images": "rows with images are not packed",
    "packing.fewer": "rows have {mean} tokens on average and at most {max}: padding each step to "
    "its longest row gives {more_share} more tokens than packing",
    "packing.text": "packing gives every step about the same number of tokens of text",
    "packing.even": "rows have {mean} tokens on average and at most {max}: packing would save "
    "less than a tenth of the tokens",
    "packing.long": "the {rows} rows of a step would be fewer than four packed rows of {tokens} "
    "tokens",
    "packing.tight": "packed rows of {tokens} tokens do not fit in memory, but single rows do",
    "packing.leaks": "the pinned transformers does not separate packed rows for {architecture}",
    "packing.unknown": "it is not known whether {architecture} separates packed rows",
    "packing.objective": "the trainer of `{objective}` takes one row at a time",
    "packing.grouped": "`training.group_by_length` groups rows by length instead",
    "packing.counted": "`{field}` counts single rows",
    "packed_length": "rows of at most {max} tokens fill {fill_share} of it",
    "packed_rows": "each with {each} rows of the training split on average",
    "grouping.on": "rows in random order, sorted only within each step, would have {more_share} "
    "more tokens if passes had {rows} {rows:row|rows}",
    "grouping.off": "rows in random order, sorted only within each step, would have just "
    "{more_share} more tokens if passes had {rows} {rows:row|rows}",
    "grouping.comparing": "trainers that compare answers choose the order of the rows themselves",
    "grouping.packed": "packed rows have about the same length",
    "rows.train": "the rest of {rows} used rows",
    "rows.mixture": "by the weights of the sources, from {rows} used rows",
    "mixture.rows": "every row of every source is used once",
    "mixture.whole": "by the weights {weights}: an epoch has every row at least once",
    "mixture.capped": "by the weights {weights}; limited, because an epoch repeats a row of "
    "{name} at most {repeats} times",
    "rows.share": "{share} of {rows} used rows",
    "rows.share_least": "the fewest, because {share} of {rows} used {rows:row|rows} is less "
    "than one row",
    "rows.share_none": "{share} of {rows} used {rows:row|rows} is less than one row",
    "stratify.labels": "each of {labels} labels keeps its share in every split",
    "stratify.feedback": "good and bad answers keep their shares in every split",
    "stratify.texts": "the rows are texts to compare, without labels",
    "stratify.none": "the answers are not a closed set of labels",
    "class_weights.even": "all {labels} labels have about as many rows",
    "class_weights.uneven": "the most common label has {ratio} times the rows of the rarest; with "
    "weights all labels count the same",
    "metric.numbers": "{share} of the answers end with a number, by which they are right or wrong",
    "metric.labels": "the answers are {labels} labels, so an answer is right or wrong",
    "answer_tokens.judged": "the longest answer has {tokens} tokens or more",
    "judged_rows.all": "every row of the test split",
    "judged_rows.part": "spread evenly over {rows} rows, because free text is generated token by "
    "token",
    "answered_rows.all": "all {rows} validation rows: there are no more",
    "metric.prompts": "the rows are prompts without answers to compare with",
    "metric.none": "free text has no single right answer, so only loss and perplexity are measured",
    "answer_tokens.labels": "the longest label has {characters} characters",
    "answer_tokens.open": "room for a short answer of free text",
    "world.gpu": "one process per GPU of {count}x {hardware}",
    "world.gpu.server": "one process per GPU of {count}x {hardware}, less the one that generates",
    "world.gpu.nodes": "one process per GPU of {nodes} nodes, each with {count}x {hardware}",
    "world.cpu.nodes": "{count} {count:process|processes} on each of {nodes} nodes",
    "calibration.measured": "measured by a pilot on this machine: memory x {memory}, time x "
    "{time} of what is planned without it; a margin is added to the memory",
    "calibration.memory": "measured by a pilot on this machine: memory x {memory} of what is "
    "planned without it; a margin is added",
    "network.assumed": "assumed, as clouds give large nodes no less (AWS p3dn, g5.48xlarge); "
    "set `hardware.network_gbit` to the speed of your network",
    "world.cpu": "a CPU runs one process unless the spec asks for more; here {count}",
    "global_batch.least": "few rows per step, for more steps: {rows} rows give few of them per "
    "epoch",
    "global_batch.most": "more rows per step would hardly train better; {rows} rows give many "
    "steps per epoch",
    "global_batch.rows": "about a hundredth of {rows} rows, for about 100 steps per epoch",
    "eval_batch.pairs": "the pairs of a training pass, so that both losses compare as many",
    "eval_batch.contrasted": "the rows of a training step, so that both losses tell as many apart",
    "global_batch.documents": "at most the {documents} different texts that are found: each row is "
    "told apart from all others of its step",
    "global_batch.paired": "about a hundredth of {rows} rows, at least 32: the loss compares each "
    "pair's score with those of the others",
    "global_batch.contrasted": "about a hundredth of {rows} rows, at least 32: each row is told "
    "apart from all others of its step",
    "global_batch.text": "about {tokens} tokens a step: 100,000 and more suit continued "
    "pretraining, if {rows} pieces of text still give 32 steps per epoch",
    "global_batch.packed": "packed rows of about {each} rows each: about a hundredth of {rows} "
    "rows, for about 100 steps per epoch",
    "global_batch.whole": "about a hundredth of {rows} rows, as a multiple of {unit}",
    "global_batch.rounded": "the multiple of {unit} rows (processes x micro-batch) nearest to the "
    "{asked} asked for",
    "micro_batch.fastest.slower": "the fastest that fits, with {device_bytes} of "
    "{capacity_bytes}; with {rows} {rows:row|rows} at a time a step takes {slower_share} longer",
    "layout.free": "about 8% of the memory stays free for other programs and for the allocator's "
    "cache: this layout needs {device_bytes} of {capacity_bytes}, the fastest {fastest_bytes}; a "
    "step takes {slower_share} longer",
    "micro_batch.full": "the fastest that fits, with {device_bytes} of {capacity_bytes}; leaving "
    "8% of the memory free would take {slower_share} longer",
    "micro_batch.least": "the fastest that fits, with {device_bytes} of {capacity_bytes}: no "
    "layout leaves 8% of the memory free",
    "micro_batch.only": "the only one that fits in this layout: {device_bytes} of {capacity_bytes}",
    "micro_batch.pairs": "all pairs of a process in a step at once, as the loss compares only "
    "those of one pass: {device_bytes} of {capacity_bytes}",
    "micro_batch.pairs.part": "the most pairs at once that leave memory free, as the loss "
    "compares only those of one pass: {device_bytes} of {capacity_bytes}",
    "micro_batch.whole": "all rows of a process in a step at once: {device_bytes} of "
    "{capacity_bytes}",
    "micro_batch.whole.slower": "all rows of a process in a step at once: {device_bytes} of "
    "{capacity_bytes}; with {rows} {rows:row|rows} at a time a step takes {slower_share} longer",
    "micro_batch.tight": "the smallest possible; it needs {device_bytes} of {capacity_bytes}",
    "micro_batch.unknown": "a cautious divisor of {rows} {rows:row|rows}, "
    "because the memory is not known",
    "accumulation.pairs": "global batch {batch} / (micro-batch {micro} x world {world}); pairs of "
    "different passes are not compared",
    "accumulation": "global batch {batch} / (micro-batch {micro} x world {world})",
    "liger.unneeded": "nothing has to be recomputed or divided, so its kernels would save nothing",
    "liger.unusable": "its Triton kernels need an NVIDIA GPU",
    "liger.compiled": "`torch.compile` fuses layers itself",
    "liger.unwritten": "its kernels are not written for this model",
    "liger.no_faster": "its kernels would not make room for a faster layout",
    "liger.fits": "its kernels keep less for the backward pass; without them {device_bytes} would "
    "be needed",
    "liger.faster": "its kernels keep less for the backward pass, which makes room for a faster "
    "layout: without them a step takes {slower_share} longer",
    "checkpointing.off": "activations fit in memory, and keeping them saves recomputing",
    "checkpointing.off.needs": "activations fit in memory, and keeping them saves recomputing",
    "checkpointing.off.slower": "activations fit in memory; with any recomputed, a step takes "
    "{slower_share} longer",
    "checkpointing.unfit": "nothing fits, and recomputing activations would need no less memory",
    "checkpointing.on": "recomputing activations needs the least memory",
    "checkpointing.on.needs": "without it even a micro-batch of {rows} needs {device_bytes}",
    "checkpointing.on.slower": "it makes room for more rows at a time: without it a step takes "
    "{slower_share} longer",
    "checkpointing.every": "recomputing one of {every} layers frees enough memory",
    "checkpointing.every.needs": "recomputing one of {every} layers frees enough memory",
    "checkpointing.every.slower": "recomputing one of {every} layers frees enough memory; the next "
    "best choice of layers makes a step take {slower_share} longer",
    "checkpointing.selective": "everything but attention is recomputed, whose result is small and "
    "whose work grows with the length",
    "checkpointing.selective.needs": "everything but attention is recomputed, whose result is "
    "small and whose work grows with the length",
    "checkpointing.selective.slower": "everything but attention is recomputed, whose result is "
    "small; otherwise a step takes {slower_share} longer",
    "checkpointing.offload": "nothing fits unless the inputs of the layers are in the host's "
    "memory; its time is not measured yet",
    "checkpointing.offload.needs": "nothing fits unless the inputs of the layers are in the host's "
    "memory: without it {device_bytes} are needed; its time is not measured yet",
    "checkpointing.offload.slower": "nothing fits unless the inputs of the layers are in the "
    "host's memory; its time is not measured yet",
    "sharding.single": "one process",
    "sharding.unfit": "nothing fits, and no other layout needs less memory",
    "sharding.ddp": "each of {world} processes has a whole copy",
    "sharding.ddp.needs": "a whole copy fits in each of {world} processes",
    "sharding.ddp.slower": "a whole copy fits in each of {world} processes; under {runner} a step "
    "takes {slower_share} longer",
    "sharding.zero1": "{world} processes divide the optimizer states",
    "sharding.zero1.needs": "{world} processes divide the optimizer states: {runner} needs "
    "{device_bytes}",
    "sharding.zero1.slower": "{world} processes divide the optimizer states; under {runner} a "
    "step takes {slower_share} longer",
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
    "sharding.offload": "only ZeRO can keep states in the host's memory",
    "sharding.nvme": "only ZeRO-3 can keep states on a disk",
    "offload.optimizer.nvme": "a step reads and writes the optimizer states once; weights stay in "
    "the devices' memory",
    "offload.parameters.nvme": "weights are on the disk too, because the devices' memory is too "
    "small for them",
    "nvme.optimizer": "on each node's disk: an fp32 master copy, the gradient and two moments of "
    "each trained weight; a step moves {moved_bytes}, at an assumed {assumed_gb} GB/s",
    "nvme.parameters": "on each node's disk: the weights, and an fp32 master copy, the gradient "
    "and two moments of each trained one; a step moves {moved_bytes} of states, at an assumed "
    "{assumed_gb} GB/s",
    "offload.none": "everything stays in the memory of the devices",
    "offload.none.slower": "everything stays in the memory of the devices; with states on the "
    "host a step takes {slower_share} longer",
    "offload.optimizer": "optimizer states fit in the host's memory, but not in the devices'",
    "offload.optimizer.slower": "keeping optimizer states on the host makes room; without it a "
    "step takes {slower_share} longer",
    "offload.parameters": "weights and optimizer states fit in the host's memory, but not in the "
    "devices'",
    "offload.parameters.slower": "keeping weights and optimizer states on the host makes room; "
    "without it a step takes {slower_share} longer",
    "eval_batch.more": "evaluation has no backward pass, so {rows} rows at a time need no more "
    "memory than training, and are faster",
    "eval_batch.same": "as many rows at a time as in training",
    "epochs.max_steps": "{steps} {steps:step|steps}; an epoch has {per_epoch}",
    "epochs.scratch": "{parameters} parameters learn the task from scratch, which takes several "
    "epochs",
    "epochs.many": "one epoch is enough for {rows} rows",
    "epochs.some": "two epochs are enough for {rows} rows",
    "epochs.text": "text is read once; up to four epochs would teach nearly as much as new text",
    "epochs.few": "{rows} rows are few, so they are read three times",
    "steps.epochs": "{epochs} {epochs:epoch|epochs} of {per_epoch} {per_epoch:step|steps}",
    "steps.epochs.estimate": "{epochs} {epochs:epoch|epochs} of about {per_epoch} "
    "{per_epoch:step|steps}: how many rows the texts fill depends on which of them are drawn for "
    "training",
    "eval_steps.tenth": "about ten evaluations in {steps} steps",
    "eval_steps.few": "{evaluations} {evaluations:evaluation|evaluations} in {steps} steps: a few "
    "steps change the model little",
    "eval_steps.costly": "{evaluations} {evaluations:evaluation|evaluations}: more, each with its "
    "checkpoint, would take over {share} of the time of training",
    "eval_steps.epoch": "once an epoch of {per_epoch} {per_epoch:step|steps}",
    "save_steps.each": "a checkpoint at each evaluation, so that the best one is kept",
    "save_steps.some": "a checkpoint at every {evaluations} evaluations to resume from, and one "
    "more at each evaluation that is the best so far",
    "save_steps.alone": "{checkpoints} checkpoints a run, to resume from",
    "warmup_steps": "{share} of {steps} {steps:step|steps}",
    "warmup_steps.least": "the fewest, because {share} of {steps} {steps:step|steps} is less than "
    "one step",
    "warmup_steps.single": "a warm-up begins at a rate of zero, and the run has only one step",
    "compile.on": "set in `training.compile`; the minutes of compiling are not in the planned time",
    "compile.off": "compiling takes minutes before the first step, and again for new lengths",
    "loader_workers.none": "tokenized rows are mapped from disk, so a batch takes milliseconds",
    "loader_workers.images": "images are opened and resized while the device computes",
    "decay_steps": "the last {share} of {steps} {steps:step|steps}",
    "decay_steps.least": "the fewest, because {share} of {steps} {steps:step|steps} is less than "
    "one step",
    "learning_rate.scratch": "a model of {parameters} parameters tolerates a high rate",
    "learning_rate.lora": "the rate of QLoRA's experiments up to 13B parameters, for any batch "
    "size",
    "learning_rate.lora_large": "the rate of QLoRA's experiments above 13B parameters, for any "
    "batch size",
    "learning_rate.text_adapter": "half of the rate for answers, because every token of a text is "
    "learned",
    "learning_rate.full": "2e-5 at 7B, falling with size^0.4 and not scaled with the batch; this "
    "model has {parameters}",
    "learning_rate.lion": "{share} of AdamW's rate of {adamw}: Lion's steps all have the same "
    "size, and its paper uses a third to a tenth",
    "learning_rate.sgd": "{times} times AdamW's rate of {adamw}: a guess, because SGD does not "
    "normalize gradients",
    "learning_rate.reward_full": "1e-5 at 7B as in Llama 2's reward models, falling with "
    "size^0.4; this model has {parameters}",
    "learning_rate.reward_adapter": "1e-4 at 7B, ten times the rate for all weights, falling with "
    "size^0.4; this model has {parameters}",
    "learning_rate.comparing_full": "5e-7 at 7B, falling with size^0.4: a fortieth of the rate "
    "for answers, because pairs change a model quickly; this model has {parameters}",
    "learning_rate.comparing_adapter": "5e-6 at 7B as in Zephyr's recipe, falling with size^0.4: "
    "a fortieth of the rate for answers, because pairs change a model quickly; this model has "
    "{parameters}",
    "learning_rate.odds_full": "8e-6 at 7B as in TRL's example, falling with size^0.4: answers "
    "are learned as well; this model has {parameters}",
    "learning_rate.odds_adapter": "8e-5 at 7B as in TRL's example, falling with size^0.4: answers "
    "are learned as well; this model has {parameters}",
    "beta.odds": "the weight of the preference beside the answers, as in the ORPO paper",
    "weight.one": "{rows} answers of this kind and {others} of the other: the rarer kind gets "
    "more weight",
    "weight.balanced": "{rows} answers of this kind weigh as much as {others} of the other",
    "beta.simpo": "the lower end of SimPO's recipes; the rewards are means over tokens",
    "margin.share": "half of beta, where SimPO's recipes begin: {beta}",
    "answer_weight.cpo": "as in the CPO paper: the chosen answers are learned as well",
    "answer_weight.simpo": "as in the SimPO paper: only the preference is learned",
    "beta.usual": "the value in the experiments of the DPO paper",
    "beta.normalised": "the loss is per token and not per answer, so this is higher than the "
    "usual 0.1",
    "reference.adapter_off": "the base with the adapter disabled, because FSDP has all weights in "
    "place only when training begins",
    "reference.images": "at every step, because TRL does not compute the reference of rows with "
    "images beforehand",
    "reference.precomputed": "one pass before training instead of one at every step, and no "
    "second model in memory",
    "pair_smoothing.robust": "assumes that a tenth of the pairs are labelled wrong, as in the "
    "paper of the robust loss",
    "pair_smoothing.exo": "the value in the EXO paper",
    "epochs.comparing": "one epoch, because pairs are learned quickly and then overfitted",
    "epochs.comparing_few": "{rows} rows are few, so two epochs; more would overfit",
    "lora_dropout.comparing": "off, because the trainer disables dropout when it compares answers",
    "importance.tokens": "enough to measure the mean square of a column to a few percent",
    "importance.tokens.experts": "enough for {experts} experts, because each token is sent to "
    "{used} of them",
    "served.calibration": "a scale is the largest activation, which changes little with more",
    "lora_rank.small": "a model of only {parameters} parameters can use a higher rank",
    "lora_rank.text": "text teaches an adapter more than answers do, and low ranks learn less of "
    "it",
    "lora_rank.usual": "the usual rank for a model of {parameters} parameters",
    "lora_alpha": "twice the rank of {rank}",
    "lora_alpha.rslora": "alpha divided by the square root of the rank {rank} is about 2, as "
    "without rsLoRA",
    "lora_dropout.experts": "PEFT has no dropout for the inputs of experts",
    "lora_dropout.dora": "with dropout, DoRA keeps copies of all weights that it adapts",
    "lora_targets.pattern": "the {modules} kinds of linear modules that the pattern matches",
    "new_tokens": "the number of tokens in `{field}`; each starts near the mean of the others",
    "trained_layers.quarter": "the last {count} of {layers} layers: the quarter next to the output",
    "lora_targets.apart": "{modules} kinds of linear modules except the head; PEFT would take the "
    "targets {left} for the experts",
    "router_loss.none": "the loss cannot be computed for {architecture}",
    "lora_targets.all": "all {modules} kinds of linear modules except the head",
    "lora_targets.routers": "all {modules} kinds of linear modules except the head and the "
    "routers, which choose the experts of each token",
    "lora_targets.narrow": "all {modules} kinds of linear modules except the head, routers, and "
    "those narrower than an attention head: gates with a number per head, and low-rank modules",
    "bound.divergence": "in nats per token: export.py measures the expected cost of each type's "
    "rounding for this model, and adds a margin",
    "bound.agreement": "a share of the tokens: export.py measures how many tokens of this model "
    "each type's rounding is expected to change, and adds a margin",
    "bound.perplexity": "relative to the trained model: export.py measures the expected cost of "
    "each type's rounding for this model, and adds a margin",
    "bound.metric": "a share of the answers: export.py measures the expected cost of each "
    "type's rounding for this model, and adds three standard errors of the difference on at "
    "most {rows} rows",
    "lora_targets.encoder": "all linear modules of {architecture}, which PEFT finds",
    "lora_targets.unknown": "{architecture} is not in the table, so PEFT finds the linear modules",
    "storage.bytes": "bitsandbytes packs two weights into a byte",
    "storage.divided": "packed into {precision}, because FSDP shards only the type that it "
    "computes in",
    "published.all_weights": "all weights were trained",
    "published.all_weights.gguf": "all weights were trained, and the GGUF files run without Python",
    "published.local_base": "others do not have the base of the adapter",
    "published.local_base.gguf": "others do not have the base of the adapter, and the GGUF "
    "files run without Python",
    "published.all_weights.vllm": "all weights were trained, and the folders for vLLM are served "
    "as they are",
    "published.local_base.vllm": "others do not have the base of the adapter, and the folders for "
    "vLLM are served as they are",
    "published.adapter.vllm": "the adapter is small, its base is on the Hub, and the folders for "
    "vLLM are served as they are",
    "published.all_weights.gguf_vllm": "all weights were trained, the GGUF files run without "
    "Python, and the folders for vLLM are served as they are",
    "published.local_base.gguf_vllm": "others do not have the base of the adapter, the GGUF files "
    "run without Python, and the folders for vLLM are served as they are",
    "published.adapter.gguf_vllm": "the adapter is small, its base is on the Hub, the GGUF files "
    "run without Python, and the folders for vLLM are served as they are",
    "published.adapter": "the adapter is small, and its base is on the Hub",
    "published.adapter.gguf": "the adapter is small, its base is on the Hub, and the GGUF "
    "files run without Python",
    "quantization.nf4": "16 levels, spaced for normally distributed weights (QLoRA)",
    **SENTENCES,
}


def show_value(value: Any) -> str:
    """Return the value of a decision as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {show_value(number)}" for name, number in value.items())
    if isinstance(value, int):
        return f"{value:,}"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def sentence(because: Because) -> str:
    """Return the reason as one English line without a final period."""
    return fill(CATALOGUE[because.key], because, shown_values(because))


def fill(template: str, because: Because, shown: Mapping[str, str]) -> str:
    """Return the sentence of a template; `{rows:row|rows}` is the word that fits the number."""
    values = {name: (because.values[name], text) for name, text in shown.items()}
    return _Sentence().vformat(template, (), values)


class _Sentence(Formatter):
    """Fills in values that come with their text."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return the value's text, or the word for one or for any other number."""
        number, text = value
        if not format_spec:
            return str(text)
        one, other = format_spec.split("|")
        return one if number == 1 else other


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
        return f"{value:.0%}"
    if name.endswith("share"):
        return f"{value:.1%}".replace(".0%", "%")
    if name == "parameters":
        return _parameters(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _parameters(count: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)
